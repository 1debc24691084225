"""What may be asked, and within which limits: the bodies and parameters of requests."""

from typing import Annotated, Self

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator

from dcpf.counts import LARGEST_COUNT

MOST = 1000  # items in a list, or to predict
MOST_WHY = 20
MOST_USERS = 100  # in a request
MOST_ITEMS = 10_000  # in a history, or in a list of what is allowed or denied
LONGEST = 1000  # characters of an id or a search

Text = Annotated[StrictStr, Field(max_length=LONGEST)]
AnyId = StrictInt | Text
Count = Annotated[StrictInt, Field(ge=0, le=LARGEST_COUNT)]
ItemList = Annotated[list[AnyId], Field(max_length=MOST_ITEMS)]

# In a query everything is text: an id of digits is found among integers
QueryId = Annotated[str, Query(max_length=LONGEST)]
QueryN = Annotated[int, Query(ge=1, le=MOST, description="How many.")]
QueryNumber = Annotated[int, Query(ge=0, le=2**31 - 1, description="Which component.")]
QueryLimit = Annotated[int, Query(ge=1, le=100, description="How many at most.")]
QuerySearch = Annotated[
    str, Query(max_length=LONGEST, description="The beginning of an id or name, or a part of it.")
]
QueryWhy = Annotated[int, Query(ge=0, le=MOST_WHY, description="How many reasons for each item.")]


class Counted(BaseModel):
    """An item of a history, and how often."""

    model_config = ConfigDict(extra="forbid")

    item: AnyId
    count: Count


class Question(BaseModel):
    """Who asks: a known user, or one with a history, or both; then the history is all that the user has by now."""

    model_config = ConfigDict(extra="forbid")

    user: AnyId | None = None
    history: (
        Annotated[dict[Text, Count], Field(max_length=MOST_ITEMS)]
        | Annotated[list[Counted], Field(max_length=MOST_ITEMS)]
        | None
    ) = None

    @property
    def counts(self) -> list[tuple[int | str, int]] | None:
        """The history as pairs."""
        if isinstance(self.history, dict):
            return list(self.history.items())
        return None if self.history is None else [(one.item, one.count) for one in self.history]

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        self.check()
        return self

    def check(self) -> None:
        """Refuse what does not go together."""
        if self.user is None and self.history is None:
            raise ValueError("who asks? Give a user or a history")


class RecommendQuestion(Question):
    """Whose list, and what it is to be like."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"user": "alice", "n": 10},
                {"users": ["alice", "bob"]},
                {"history": {"song-4": 12, "song-9": 1}, "why": 3},
            ]
        },
    )

    users: Annotated[list[AnyId], Field(min_length=1, max_length=MOST_USERS)] | None = None
    n: Annotated[StrictInt, Field(ge=1, le=MOST)] = 10
    exclude_seen: StrictBool = True
    allow: ItemList | None = None
    deny: ItemList | None = None
    why: Annotated[StrictInt, Field(ge=0, le=MOST_WHY)] = 0
    popular: StrictBool = False

    def check(self) -> None:
        """Several users, or one who asks."""
        check_reasons(self.n, self.why)
        if self.users is None:
            super().check()
        elif self.user is not None or self.history is not None or self.why:
            raise ValueError("users go without user, history and why: ask for one at a time")


class PredictQuestion(Question):
    """Which items to predict, and for whom."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"user": "alice", "items": ["song-4", "song-7"]}]}
    )

    items: Annotated[list[AnyId], Field(min_length=1, max_length=MOST)]


class ExplainQuestion(Question):
    """Which item to explain, and to whom."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"history": {"song-4": 12}, "item": "song-7"}]}
    )

    item: AnyId


def check_reasons(n: int, why: int) -> None:
    """Each reason for each item is worked out: there is a limit to them."""
    if n * why > MOST:
        raise ValueError(f"n times why must be at most {MOST}, found {n} and {why}")
