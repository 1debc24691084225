"""What a model is, at a glance: its element in words, who is active, what is popular, what each component holds."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dcpf.counts import Id
from dcpf.elements import Element
from dcpf.model.asking import Asking
from dcpf.model.fitted import check_whole

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Share:
    """A user or an item, with its expected sessions and their share: of all, or of those of a component."""

    id: Id
    name: str  # the id again where there is no name
    sessions: float
    share: float


@dataclass(frozen=True)
class Component:
    """One component: its number, its expected sessions, their share of all, and the items that most go to."""

    number: int
    sessions: float
    share: float
    items: tuple[Share, ...]


@dataclass(frozen=True)
class Description:
    """A fitted model at a glance. Sessions are expected ones, in as long a time as the data span."""

    element: str
    parameters: dict[str, float]  # of the element
    meaning: str  # the element in words
    users: int
    items: int
    components: int
    data: dict[str, Any]  # of the fit: its users, items, entries, the total and the largest count, a checksum
    has_history: bool
    has_names: bool
    neighbors: int  # by how many items an item is excited at most
    excited: float  # the part of all sessions that comes from excitation
    sessions: float  # of all users with all items
    sessions_per_count: float | None  # behind a count of the training data, if they were kept
    bounds: tuple[float, ...]  # after each iteration
    most_active: tuple[Share, ...]
    most_popular: tuple[Share, ...]
    largest_components: tuple[Component, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain numbers, strings, lists and dicts."""
        plain: dict[str, Any] = _with_lists(dataclasses.asdict(self))
        return plain


class Describing(Asking):
    """Models tell what they have learned."""

    def describe(self, n_components: int = 10, n_items: int = 5) -> Description:
        """The model at a glance: its largest components, and so many items of each, active users, popular items."""
        check_is_fitted(self)
        check_whole(n_components=n_components, n_items=n_items)
        W, H = self.user_factors, self.item_factors
        sums = self._column_sums()
        by_component = sums[0] * sums[1]
        activity, popularity = (X @ sums[1 - side].astype(X.dtype) for side, X in enumerate((W, H)))
        excitation = self.excitation_
        if excitation is not None:
            popularity = excitation.share * popularity + excitation.by_item()
            if self.history_ is not None:
                activity = excitation.share * activity + excitation.by_user(excitation.of_users(self.history_))
        total = float(popularity.sum(dtype=np.float64))
        return Description(
            element=self.element_.name,
            parameters=self.element_.parameters,
            meaning=meaning(self.element_),
            users=len(self.users_),
            items=len(self.items_),
            components=len(by_component),
            data=dict(self._data_),
            has_history=self.history_ is not None,
            has_names=self.names_ is not None,
            neighbors=0 if excitation is None else int(np.diff(excitation.strength.indptr).max()),
            excited=0.0 if excitation is None else float(excitation.by_item().sum()) / total,
            sessions=total,
            sessions_per_count=None if self.history_ is None else self._sessions_per_count(),
            bounds=tuple(self.bounds_.tolist()),
            most_active=self._shares(activity, n_items, users=True),
            most_popular=self._shares(popularity, n_items),
            largest_components=tuple(
                self._component(int(k), n_items, sums) for k in _largest(by_component, n_components)
            ),
        )

    def component(self, number: int, n_items: int = 5) -> Component:
        """One component, with the items that most of its sessions go to."""
        check_is_fitted(self)
        check_whole(n_items=n_items)
        size = self.item_factors.shape[1]
        if not isinstance(number, int | np.integer) or not 0 <= number < size:
            raise ValueError(f"there is no component {number}: the model has 0 to {size - 1}")
        return self._component(number, n_items, self._column_sums())

    def _sessions_per_count(self) -> float:
        return float(self._sessions(self._training_counts(), self.user_posterior_).mean())

    def _component(self, number: int, n_items: int, sums: tuple[Doubles, Doubles]) -> Component:
        of_users, of_items = sums
        sessions = self.item_factors[:, number].astype(np.float64) * of_users[number]
        total = float(of_users[number] * of_items[number])
        return Component(number, total, total / float(of_users @ of_items), self._shares(sessions, n_items))

    def _shares(self, sessions: NDArray[np.floating], n: int, *, users: bool = False) -> tuple[Share, ...]:
        """The n users or items with the most of these sessions."""
        total = float(sessions.sum(dtype=np.float64))
        places = _largest(sessions, n)
        ids = (self.users_ if users else self.items_).at(places)
        names = map(str, ids) if users else (self._catalogue.named(int(place)) for place in places)
        found = zip(ids, names, sessions[places].tolist(), strict=True)
        return tuple(Share(one, name, value, value / total) for one, name, value in found)


def meaning(element: Element) -> str:
    """What the element says of a count, in a sentence."""
    if element.limit == "raw":
        return "Each unit of a count is a session of its own: Poisson factorization of the raw counts."
    if element.limit == "binary":
        return "A count is one session, however large: Poisson factorization of who has what."
    spread = math.sqrt(element.variance)
    return f"A session adds {element.mean:.3g} to a count on average (standard deviation {spread:.3g})."


def _with_lists(value: Any) -> Any:
    """The same with lists for tuples."""
    if isinstance(value, dict):
        return {name: _with_lists(one) for name, one in value.items()}
    return [_with_lists(one) for one in value] if isinstance(value, tuple | list) else value


def _largest(values: NDArray[np.floating], n: int) -> NDArray[np.int64]:
    """Where the n largest values stand, the largest first."""
    return np.argsort(-values, kind="stable")[:n].astype(np.int64)
