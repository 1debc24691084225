"""Users, items, components and the model card: what there is to look at, in the form that the API describes."""

import math

import numpy as np
from numpy.typing import NDArray

from dcpf.counts import Id, UnknownId
from dcpf.elements import Element
from dcpf.model.explanation import ReadHistory, read_history
from dcpf.model.users import Asked, ask_for_rows
from dcpf.ranking.lists import largest
from dcpf.serve import answers
from dcpf.serve.questions import ONE_THREAD, number, read_counts, resolve_user
from dcpf.serve.served import ServedModel

_COMPONENTS = 6  # of a user or an item
_LISTENERS, _SIMILAR, _SOURCES = 20, 12, 12  # of an item
_POINTS = 60  # of the law of a session, and of the curve
_TAIL = 1e-3  # probability beyond the last point
_FARTHEST = 2**20  # where the law is cut in any case
_SAMPLE = 2_000  # users whose median rate is typical


def find_users(served: ServedModel, search: str, limit: int) -> answers.FoundUsers:
    """Users by the beginning or a part of their id."""
    places, more = served.users.search(search, limit)
    found: list[answers.FoundUser] = []
    for place in places:
        counts = None if served.model.history is None else served.model.history[[place]].data
        entries, total = (None, None) if counts is None else (len(counts), int(counts.sum()))
        found.append({"id": served.model.users[place], "entries": entries, "total": total})
    return {"users": found, "more": more}


def find_items(served: ServedModel, search: str, limit: int) -> answers.FoundItems:
    """Items by the beginning or a part of their name or id."""
    places, more = served.items.search(search, limit)
    return {"items": [_item_and_counts(served, place) for place in places], "more": more}


def user(served: ServedModel, typed: Id, n: int) -> answers.User:
    """A user's counts and the sessions behind them, and the user's components."""
    asked, factors = resolve_user(served, typed).asked, served.model.part("factors")
    place, read = int(asked.batch.rows[0]), _read(served, asked)
    return {
        "id": served.model.users[place],
        "entries": int(read.counts.nnz),
        "total": int(read.counts.data.sum()),
        "sessions": float(read.sessions.sum()),
        "history": read_counts(served, read, n),
        "components": served.main_components(factors.user_means[place] * factors.item_sums, _COMPONENTS),
    }


def item(served: ServedModel, typed: Id) -> answers.ItemInFull:
    """Who has an item, what is similar, its components, and what excites it."""
    place, model = served.items.place(typed), served.model
    factors = model.part("factors")
    excited, excited_by = _excitation(served, place)
    return {
        **_item_and_counts(served, place),
        "expected_sessions": float(model.popularity[place]),
        "listeners": _listeners(served, place),
        "similar": similar_items(served, typed, _SIMILAR)["items"],
        "components": served.main_components(factors.items.H[place] * factors.totals[0], _COMPONENTS),
        "excited": excited,
        "excited_by": excited_by,
    }


def similar_items(served: ServedModel, typed: Id, n: int) -> answers.SimilarItems:
    """Items that go best with an item."""
    place = served.items.place(typed)
    found = served.model.similar_items(served.model.items[place], n, n_jobs=1).ranked
    pairs = zip(found.columns.tolist(), found.scores.tolist(), strict=True)
    items: list[answers.SimilarItem] = [{**served.item(other), "similarity": value} for other, value in pairs]
    return {**served.item(place), "items": items}


def similar_users(served: ServedModel, typed: Id, n: int) -> answers.SimilarUsers:
    """Users with the most similar tastes."""
    users = served.model.users
    user = users[served.users.place(typed)]
    found = served.model.similar_users(user, n, n_jobs=1).ranked
    pairs = zip(users.at(found.columns), found.scores.tolist(), strict=True)
    return {"user": user, "users": [{"user": other, "similarity": value} for other, value in pairs]}


def components(served: ServedModel) -> answers.Components:
    """All components, the largest first."""
    return {"components": sorted(served.components, key=lambda one: -one["share"])}


def component(served: ServedModel, number: int, n: int) -> answers.ComponentInFull:
    """One component with more of its items."""
    if number >= len(served.components):
        raise UnknownId(f"there is no component {number}: the model has 0 to {len(served.components) - 1}")
    found = served.model.component(number, n)
    return {
        "number": number,
        "share": found.share,
        "sessions": found.sessions,
        "users": served.components[number]["users"],
        "items": [
            {"item": one.id, "name": one.name, "sessions": one.sessions, "share": one.share} for one in found.items
        ],
    }


def card(served: ServedModel) -> answers.Card:
    """The model at a glance; made once."""
    if served.card is None:
        served.card = _make_card(served)
    return served.card


def _make_card(served: ServedModel) -> answers.Card:
    about, element = served.model.describe().to_dict(), served.model.element
    rate = _typical_rate(served, about["sessions"] / max(1, about["data"]["entries"]))
    made: answers.Card = {
        "file": served.file,
        "revision": served.revision,
        "loaded_at": served.loaded_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "mean": number(element.mean),
        "deviation": number(math.sqrt(element.variance)) if math.isfinite(element.mean) else None,
        "pmf": law(element),
        "curve": curve(element, rate, int(about["data"]["largest"])),
        **about,  # type: ignore[typeddict-item]
    }
    return made


def law(element: Element) -> answers.Law | None:
    """The p.m.f. of a session: at every count if there are few, else at points evenly spaced in the logarithm."""
    if element.limit == "binary":
        return None
    last, probability = _POINTS, element.pmf(np.arange(1, _POINTS + 1))
    while probability.sum() < 1.0 - _TAIL and last < _FARTHEST:
        last *= 2
        probability = element.pmf(np.arange(1, last + 1))
    at_most = np.cumsum(probability)
    x = _points(min(last, int(np.searchsorted(at_most, 1.0 - _TAIL)) + 1))
    return {
        "x": x.tolist(),
        "probability": probability[x - 1].tolist(),
        "at_most": np.minimum(at_most[x - 1], 1.0).tolist(),
    }


def curve(element: Element, rate: float, largest_count: int) -> answers.Curve:
    """The expected sessions behind counts from 1 to the largest, at this rate."""
    counts = _points(largest_count)
    sessions = element.expected_sessions(counts, np.full(len(counts), rate))
    return {"count": counts.tolist(), "sessions": sessions.tolist(), "rate": rate}


def _points(last: int) -> NDArray[np.int64]:
    """Whole numbers from 1 to the last: all of them if there are few, else evenly spaced in the logarithm."""
    if last <= _POINTS:
        return np.arange(1, last + 1)
    return np.unique(np.round(np.geomspace(1, last, _POINTS)).astype(np.int64))


def _typical_rate(served: ServedModel, otherwise: float) -> float:
    """The median rate at the training counts of some users."""
    model = served.model
    if model.history is None:
        return otherwise
    rows = np.unique(np.linspace(0, len(model.users) - 1, _SAMPLE).astype(np.int64))
    batch = ask_for_rows(model, rows).batch
    if batch.history is None or not batch.history.nnz:
        return otherwise
    return float(np.median(model.rates(model.meet(batch, ONE_THREAD)).at(batch.history, ONE_THREAD)))


def _read(served: ServedModel, asked: Asked) -> ReadHistory:
    """The counts of users, and the sessions behind them."""
    return read_history(served.model, asked, served.model.meet(asked.batch, ONE_THREAD), ONE_THREAD)


def _item_and_counts(served: ServedModel, place: int) -> answers.FoundItem:
    users, totals = served.item_users, served.item_totals
    return {
        "id": served.model.items[place],
        "name": served.model.catalogue.named(place),
        "users": None if users is None else int(users[place]),
        "total": None if totals is None else int(totals[place]),
    }


def _listeners(served: ServedModel, place: int) -> list[answers.Listener]:
    """Users with the largest counts of an item. A scan of all counts is fast enough, and needs no index."""
    history = served.model.history
    if history is None:
        return []
    entries = np.flatnonzero(history.indices == place)
    entries = entries[largest(history.data[entries], _LISTENERS)]
    rows = np.searchsorted(history.indptr, entries, side="right") - 1
    read = _read(served, ask_for_rows(served.model, rows))
    here = read.counts.indices == place
    columns = (read.counts.data[here].tolist(), read.sessions[here].tolist())
    return [
        {"user": user, "count": count, "sessions": sessions}
        for user, count, sessions in zip(served.model.users.at(rows), *columns, strict=True)
    ]


def _excitation(served: ServedModel, place: int) -> tuple[float, list[answers.ExcitedBy]]:
    """The share of an item's expected sessions that comes from other items, and the strongest of these."""
    model, excitation = served.model, served.model.part("excitation")
    if excitation is None:
        return 0.0, []
    sources, strengths = excitation.sources_of(place)
    weight = model.weights[model.parts.index(excitation)]
    sessions, total = weight * float(strengths @ excitation.mass[sources]), float(model.popularity[place])
    strongest = [j for j in largest(strengths, _SOURCES).tolist() if strengths[j] > 0]
    found: list[answers.ExcitedBy] = [
        {**served.item(int(sources[j])), "strength": float(strengths[j])} for j in strongest
    ]
    return min(sessions / total, 1.0) if total > 0.0 else 0.0, found
