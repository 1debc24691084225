"""What a model is, at a glance: its element in words, who is active, what is popular, what each component holds."""

import dataclasses
import math
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcpf.counts import Id
from dcpf.elements import Element
from dcpf.kernels.threads import Threads
from dcpf.model.checks import check_whole
from dcpf.model.fitted import FittedModel
from dcpf.model.sessions import sessions_per_count
from dcpf.model.users import everyone
from dcpf.ranking.lists import largest
from dcpf.ranking.rates import weighted_sums
from dcpf.text import shape_words

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

    def rows(self) -> list[tuple[str, str]]:
        """What a model card shows: a name and a value each."""
        told = [
            ("data", shape_words(self.data["users"], self.data["items"], self.data["entries"])),
            ("element", self.element + "".join(f", {name} = {value:.3g}" for name, value in self.parameters.items())),
            ("", self.meaning),
            ("components", f"{self.components}"),
        ]
        if self.neighbors:
            told.append(("excitation", f"{self.excited:.0%} of expected sessions, by up to {self.neighbors} sources"))
        if self.sessions_per_count is not None:
            told.append(("sessions per count", f"{self.sessions_per_count:.3g}"))
        if self.bounds:
            told.append(("bound", f"{self.bounds[-1]:,.1f} after {len(self.bounds)} iterations"))
        told.append(("most popular", ", ".join(share.name for share in self.most_popular)))
        told += [
            (f"component {one.number}", f"{one.share:.1%}: " + ", ".join(share.name for share in one.items))
            for one in self.largest_components
        ]
        return told

    def __str__(self) -> str:
        return "\n".join(f"{name:20}{value}" for name, value in self.rows())

    def to_html(self) -> str:
        """The model card as an HTML table."""
        cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self.rows())
        return f"<table>{cells}</table>"

    _repr_html_ = to_html


def describe(model: FittedModel, n_components: int, n_items: int) -> Description:
    """See `FittedModel.describe`."""
    check_whole(n_components=n_components, n_items=n_items)
    factors, popularity = model.part("factors"), model.popularity
    of_users, of_items = factors.totals[0], factors.item_sums
    total, by_component = float(popularity.sum()), of_users * of_items
    excitation = model.part("excitation")
    return Description(
        element=model.element.name,
        parameters=model.element.parameters,
        meaning=meaning(model.element),
        users=len(model.users),
        items=len(model.items),
        components=len(by_component),
        data=dict(model.facts.data),
        has_history=model.history is not None,
        has_names=model.names is not None,
        neighbors=0 if excitation is None else excitation.most_sources,
        excited=_share(model.sessions_by_part.get("excitation", 0.0), total),
        sessions=total,
        sessions_per_count=_sessions_per_count(model),
        bounds=tuple(model.facts.bounds.tolist()),
        most_active=_shares(model, _activity(model), n_items, users=True),
        most_popular=_shares(model, popularity, n_items),
        largest_components=tuple(component(model, int(k), n_items) for k in largest(by_component, n_components)),
    )


def component(model: FittedModel, number: int, n_items: int) -> Component:
    """See `FittedModel.component`."""
    check_whole(n_items=n_items)
    factors = model.part("factors")
    of_users, of_items = factors.totals[0], factors.item_sums
    size = len(of_items)
    if not isinstance(number, int | np.integer) or not 0 <= number < size:
        raise ValueError(f"there is no component {number}: the model has 0 to {size - 1}")
    sessions = factors.items.H[:, number].astype(np.float64) * of_users[number]
    total = float(of_users[number] * of_items[number])
    share = _share(total, float(of_users @ of_items))
    return Component(number, total, share, _shares(model, sessions, n_items))


def _sessions_per_count(model: FittedModel) -> float | None:
    """As it was after the fit. Batches leave it to this question."""
    if model.facts.sessions_per_count is None and model.history is not None and model.history.nnz:
        return sessions_per_count(model, 1)
    return model.facts.sessions_per_count


def _activity(model: FittedModel) -> Doubles:
    """The expected sessions of each user with all items: by the factors alone where histories are not kept."""
    if model.history is None:
        factors = model.part("factors")
        return weighted_sums(factors.user_means, factors.item_sums)
    with Threads(1) as threads:
        return model.rates(model.meet(everyone(model).batch, threads)).by_user()


def _shares(model: FittedModel, sessions: NDArray[np.floating], n: int, *, users: bool = False) -> tuple[Share, ...]:
    """The n users or items with the most of these sessions."""
    total = float(sessions.sum(dtype=np.float64))
    places = largest(sessions, n)
    ids = (model.users if users else model.items).at(places)
    names = map(str, ids) if users else (model.catalogue.named(int(place)) for place in places)
    found = zip(ids, names, sessions[places].tolist(), strict=True)
    return tuple(Share(one, name, value, _share(value, total)) for one, name, value in found)


def _share(value: float, total: float) -> float:
    """The share of a total, which is 0 where all values are too small for a float."""
    return value / total if total else 0.0


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
