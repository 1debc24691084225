"""The contract of a part: one source of sessions.

    n_ui ~ Poisson(sum of weight * rate_ui over the parts),    the rates of a part = W H' + X S

Dense times dense plus sparse times sparse, nothing negative. W and X belong to the users of a question, H and S to
the items. A part is a frozen dataclass of arrays and numbers. It knows the element only as tables of log Z and E[n],
and the parts learned before it only as rates at the pairs that it asks about. Everything else in the project goes
through this contract and names no part.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.elements import Element
from dcpf.inference.settings import FitSettings
from dcpf.kernels.threads import Threads
from dcpf.ranking.rates import ItemSide, UserSide

if TYPE_CHECKING:
    from dcpf.inference.blocks import Blocks

Doubles = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class UserBatch:
    """The users of one question, as parts meet them."""

    rows: Positions  # where each stands in the model, -1 if it is unknown
    given: NDArray[np.bool_]  # who brings a history, in place of what the model knows
    history: sparse.csr_array | None  # what each user has; None if the model was saved without its counts

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_everyone(self) -> bool:
        """Whether these may be all users of the model, in their order."""
        return not self.given.any() and np.array_equal(self.rows, np.arange(len(self.rows)))


class Reasons(NamedTuple):
    """A user's rate with an item, divided among the items of the history. The two add up to the rate."""

    prior: float  # what is there without any history
    history: Doubles  # what each item of the history adds


class Met(ABC):
    """A part that has met the users of a question."""

    side: UserSide  # W, X

    @property
    def session_side(self) -> UserSide:
        """W and X for the sessions behind counts, q(n): exp(E[log w]) where w is uncertain."""
        return self.side

    def variance(self, users: Positions, items: Positions) -> Doubles:
        """The posterior variance of the rates of these pairs."""
        del items
        return np.zeros(len(users))

    @abstractmethod
    def reasons(self, user: int, item: int, history: Positions, sessions: Doubles) -> Reasons:
        """Divide a user's rate with an item: `history` has the user's items, `sessions` those behind their counts."""


@dataclass(frozen=True)
class Learning:
    """What a part is learned from."""

    blocks: "Blocks"  # the counts, in blocks of users, here or on other machines
    element: Element
    others: Callable[[sparse.csr_array], NDArray[np.floating]]  # rates of the parts before, at the stored entries
    expected: float  # the sessions that this part is to expect in all
    settings: FitSettings
    threads: Threads
    start: Any = None  # a state to continue from, or where to begin


class Part(ABC):
    """A source of sessions."""

    registry: ClassVar[dict[str, type["Part"]]] = {}
    name: ClassVar[str]
    order: ClassVar[int]  # learned after all parts of smaller order

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Part.registry[cls.name] = cls

    def __getstate__(self) -> dict[str, Any]:
        """A pickle or a copy computes anew what is derived."""
        fields: dict[str, Any] = self.__dataclass_fields__  # type: ignore[attr-defined]
        return {name: getattr(self, name) for name in fields}

    @classmethod
    @abstractmethod
    def is_wanted(cls, settings: FitSettings) -> bool:
        """Whether these settings ask for it."""

    @classmethod
    @abstractmethod
    def learn(cls, job: Learning) -> Iterator[Any]:
        """States of learning it, ever better ones. A state that has a `bound` is told, kept, and can be resumed."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: Any, job: Learning) -> Self | None:
        """The part that a state stands for, or None if the data hold nothing for it."""

    @property
    @abstractmethod
    def items(self) -> ItemSide:
        """H and S."""

    @property
    def session_items(self) -> ItemSide:
        """H and S for the sessions behind counts, as `Met.session_side`."""
        return self.items

    @property
    @abstractmethod
    def totals(self) -> tuple[Doubles, Doubles]:
        """W and X summed over the users of the fit: with H and S, what the part expects of each item."""

    @abstractmethod
    def meet(self, batch: UserBatch, element: Element, threads: Threads) -> Met:
        """The user side for these users: as learned, folded in, or made of the history."""

    @abstractmethod
    def check(self, users: int, items: int) -> None:
        """Raise ValueError if this cannot be a part of a model of that size: a damaged file says anything."""

    def similar(self, item: int) -> tuple[Positions, Doubles] | None:
        """The items that go with an item, and how much; None if the part has no say in it."""
        del item
        return None

    def with_users(
        self, size: int, old: Positions, counts: sparse.csr_array, new: Positions, element: Element, threads: Threads
    ) -> Self:
        """The part whose users stand at `old` of `size` rows, and those of `counts`, learned anew, at `new`."""
        del size, old, counts, new, element, threads
        return self

    def take_users(self, rows: Positions) -> Self:
        """The part for these of its users."""
        del rows
        return self

    @abstractmethod
    def with_items(
        self, size: int, old: Positions, counts: sparse.csr_array, new: Positions, element: Element, threads: Threads
    ) -> Self:
        """The part whose items stand at `old` of `size` columns, and those of `counts`, a row each, at `new`."""

    def without_users(self) -> Self:
        """What is needed to answer for users who bring a history: not what is known of the users of the fit."""
        return self
