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
from numpy.typing import ArrayLike, NDArray
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
    brought: sparse.csr_array | None = None  # in its place then: a row for each user who brings a history

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def given_histories(self) -> sparse.csr_array:
        """A row for each user who brings a history."""
        if self.history is not None:
            return sparse.csr_array(self.history[self.given])
        assert self.brought is not None
        return self.brought

    @property
    def is_everyone(self) -> bool:
        """Whether these may be all users of the model, in their order."""
        return not self.given.any() and np.array_equal(self.rows, np.arange(len(self.rows)))


class Reasons(NamedTuple):
    """A user's rate with an item, divided among the items of the history. The two add up to the rate."""

    prior: float  # what is there without any history
    history: Doubles  # what each item of the history adds


@dataclass(frozen=True)
class Met:
    """A part that has met the users of a question."""

    part: "Part"
    side: UserSide  # W, X

    @property
    def session_side(self) -> UserSide:
        """W and X for the sessions behind counts, q(n): exp(E[log w]) where w is uncertain."""
        return self.side

    def variance(self, users: Positions, items: Positions) -> Doubles:
        """The posterior variance of the rates of these pairs."""
        del items
        return np.zeros(len(users))

    def reasons(self, user: int, item: int, history: Positions, sessions: Doubles) -> Reasons:
        """Divide a user's rate with an item: `history` has the user's items, `sessions` those behind their counts.

        By default W H' needs no history, and X has a column for each item: x_uj s_ji is what item j adds.
        """
        del sessions
        (W, X), (H, S) = self.side, self.part.items
        prior = float(W[user].astype(np.float64) @ H[item].astype(np.float64))
        if not X.shape[1]:
            return Reasons(prior, np.zeros(len(history)))
        x, strength = X[[user]][:, history].toarray()[0], S[history][:, [item]].toarray()[:, 0]
        return Reasons(prior, x.astype(np.float64) * strength)


@dataclass(frozen=True)
class NewRows:
    """Users or items that join a model, with a row of counts each. Known ones among them are replaced."""

    counts: sparse.csr_array
    places: Positions  # the row of each in the new model
    old_places: Positions  # the row of each user or item of the old model in the new one
    size: int  # rows of the new model
    element: Element
    threads: Threads

    def merge(self, old: NDArray[Any], new: ArrayLike) -> NDArray[Any]:
        """An array of the new model: `old` has a row for each row of the old model, `new` one for each new row."""
        merged = np.zeros((self.size, *old.shape[1:]), old.dtype)
        merged[self.old_places] = old
        merged[self.places] = new
        return merged


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
    order: ClassVar[int] = 100  # the parts of this folder are learned in ascending order

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Part.registry[cls.name] = cls

    def __getstate__(self) -> dict[str, Any]:
        """A pickle or a copy computes anew what is derived."""
        fields: dict[str, Any] = self.__dataclass_fields__  # type: ignore[attr-defined]
        return {name: getattr(self, name) for name in fields}

    @classmethod
    def is_wanted(cls, settings: FitSettings) -> bool:
        """Whether these settings ask for it; by default they always do."""
        del settings
        return True

    @classmethod
    @abstractmethod
    def learn(cls, job: Learning) -> Iterator[Any]:
        """States of learning it, each better than the last. The last state becomes the part: see `from_state`.

        A state with a `bound` and an `element` is an iteration: it is shown, and written to the checkpoint. A fit
        that resumes there gets it back as `job.start`.
        """

    @classmethod
    def from_state(cls, state: Any, job: Learning) -> Self | None:
        """The part that a state stands for, by default the state itself; None if the data hold nothing for it."""
        del job
        part: Self | None = state
        return part

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

    def with_users(self, new: NewRows) -> Self:
        """The part with these users; by default it keeps nothing by user."""
        del new
        return self

    def take_users(self, rows: Positions) -> Self:
        """The part for some of its users."""
        del rows
        return self

    @abstractmethod
    def with_items(self, new: NewRows) -> Self:
        """The part with these items, whose counts have a row for each item and a column for each user."""

    def without_users(self) -> Self:
        """What is needed to answer for users who bring a history: not what is known of the users of the fit."""
        return self
