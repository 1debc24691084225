"""The parameters and bodies of requests, with their limits."""

from typing import Annotated, Self

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator

from dcpf.counts import LARGEST_COUNT

MOST = 1000  # items in a list or to predict, and reasons in an answer
MOST_WHY = 20
MOST_USERS = 100
MOST_ITEMS = 10_000  # in a history, in allow and in deny
LONGEST = 1000  # characters of an id or a search

Text = Annotated[StrictStr, Field(max_length=LONGEST)]
AnyId = StrictInt | Text
Count = Annotated[StrictInt, Field(ge=0, le=LARGEST_COUNT)]
ItemList = Annotated[list[AnyId], Field(max_length=MOST_ITEMS)]

# A query is all text: an id of digits is also looked up among integers
QueryId = Annotated[str, Query(max_length=LONGEST)]
QueryN = Annotated[int, Query(ge=1, le=MOST, description="How many.")]
QueryNumber = Annotated[int, Query(ge=0, le=2**31 - 1, description="The number of the component.")]
QueryLimit = Annotated[int, Query(ge=1, le=100, description="How many at most.")]
QuerySearch = Annotated[str, Query(max_length=LONGEST, description="The beginning or a part of an id or name.")]
QueryWhy = Annotated[int, Query(ge=0, le=MOST_WHY, description="How many reasons for each item.")]


class CountedItem(BaseModel):
    """An item of a history, and its count."""

    model_config = ConfigDict(extra="forbid")

    item: AnyId
    count: Count


class Question(BaseModel):
    """Who asks: a known user, a history, or both. A history replaces the user's training counts."""

    model_config = ConfigDict(extra="forbid")

    user: AnyId | None = None
    history: (
        Annotated[dict[Text, Count], Field(max_length=MOST_ITEMS)]
        | Annotated[list[CountedItem], Field(max_length=MOST_ITEMS)]
        | None
    ) = None

    @property
    def counts(self) -> list[tuple[int | str, int]] | None:
        """The history as pairs."""
        if isinstance(self.history, dict):
            return list(self.history.items())
        return None if self.history is None else [(one.item, one.count) for one in self.history]

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.check()
        return self

    def check(self) -> None:
        """Refuse values that do not go together."""
        if self.user is None and self.history is None:
            raise ValueError("give a user or a history")


class RecommendQuestion(Question):
    """For whom to recommend, and what."""

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
        """One user or history, or several users; and not too many reasons."""
        if self.n * self.why > MOST:
            raise ValueError(f"n times why must be at most {MOST}, found {self.n} and {self.why}")
        if self.users is None:
            super().check()
        elif self.user is not None or self.history is not None or self.why:
            raise ValueError("users cannot be combined with user, history or why")


class PredictQuestion(Question):
    """For whom to predict, and which items."""

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
