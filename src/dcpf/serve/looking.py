"""What there is to look at: users, items, components."""

import numpy as np

from dcpf.counts import Id, UnknownId
from dcpf.serve import answers
from dcpf.serve.asking import asker
from dcpf.serve.loaded import Loaded, largest
from dcpf.serve.recommending import read, read_counts

_COMPONENTS = 6  # that a user or an item is told by
_LISTENERS, _SIMILAR, _SOURCES = 20, 12, 12


def find_users(loaded: Loaded, search: str, limit: int) -> answers.FoundUsers:
    """Users by the beginning of their id, or a part of it."""
    places, more = loaded.users.search(search, limit)
    found: list[answers.FoundUser] = []
    for place in places:
        entries = None if loaded.entries is None else int(loaded.entries[place])
        found.append({"id": loaded.model.users_[place], "entries": entries, "total": _total(loaded, place)})
    return {"users": found, "more": more}


def find_items(loaded: Loaded, search: str, limit: int) -> answers.FoundItems:
    """Items by the beginning of their name or id, or a part of it."""
    places, more = loaded.items.search(search, limit)
    found: list[answers.FoundItem] = [
        {"id": loaded.model.items_[place], "name": loaded.items.name(place), **_counted(loaded, place)}
        for place in places
    ]
    return {"items": found, "more": more}


def user(loaded: Loaded, typed: Id, n: int) -> answers.User:
    """What a user has, how it is read, and where it comes from."""
    one = asker(loaded, typed, None)
    found = read(loaded, one)
    place = loaded.users.place(typed)
    return {
        "id": loaded.model.users_[place],
        "entries": int(found.seen.nnz),
        "total": int(found.seen.data.sum()),
        "sessions": float(found.sessions.sum()),
        "history": read_counts(loaded, found, n),
        "components": loaded.leaning(loaded.model.user_factors[place] * loaded.sums[1], _COMPONENTS),
    }


def item(loaded: Loaded, typed: Id) -> answers.ItemInFull:
    """Who has an item, what is similar, where it comes from, and what excites it."""
    place = loaded.items.place(typed)
    return {
        "id": loaded.model.items_[place],
        "name": loaded.items.name(place),
        **_counted(loaded, place),
        "expected_sessions": float(loaded.popularity[place]),
        "listeners": _listeners(loaded, place),
        "similar": similar_items(loaded, typed, _SIMILAR)["items"],
        "components": loaded.leaning(loaded.model.item_factors[place] * loaded.sums[0], _COMPONENTS),
        "excited": loaded.excited(place),
        "excited_by": _excited_by(loaded, place),
    }


def similar_items(loaded: Loaded, typed: Id, n: int) -> answers.SimilarItems:
    """Items that go best with one."""
    place = loaded.items.place(typed)
    ranked = loaded.model.similar_items(loaded.model.items_[place], n=n).ranked
    found: list[answers.SimilarItem] = [
        {**loaded.item(other), "similarity": similarity}
        for other, similarity in zip(ranked.columns.tolist(), ranked.scores.tolist(), strict=True)
    ]
    return {**loaded.item(place), "items": found}


def similar_users(loaded: Loaded, typed: Id, n: int) -> answers.SimilarUsers:
    """Users whose tastes are most alike."""
    who = loaded.user(typed)
    ranked = loaded.model.similar_users(who, n=n).ranked
    found: list[answers.SimilarUser] = [
        {"user": loaded.model.users_[other], "similarity": similarity}
        for other, similarity in zip(ranked.columns.tolist(), ranked.scores.tolist(), strict=True)
    ]
    return {"user": who, "users": found}


def components(loaded: Loaded) -> answers.Components:
    """All components, the largest first."""
    told = loaded.components
    found: list[answers.ListedComponent] = [
        {
            "number": number,
            "share": float(told.share[number]),
            "users": int(told.users[number]),
            "items": loaded.top_items(number),
        }
        for number in largest(told.share, len(told.share)).tolist()
    ]
    return {"components": found}


def component(loaded: Loaded, number: int, n: int) -> answers.ComponentInFull:
    """One component, and more of its items."""
    if number >= len(loaded.sums[0]):
        raise UnknownId(f"there is no component {number}: the model has 0 to {len(loaded.sums[0]) - 1}")
    told = loaded.model.component(number, n)
    return {
        "number": number,
        "share": told.share,
        "sessions": told.sessions,
        "users": int(loaded.components.users[number]),
        "items": [
            {"item": one.id, "name": one.name, "sessions": one.sessions, "share": one.share} for one in told.items
        ],
    }


def _total(loaded: Loaded, place: int) -> int | None:
    history = loaded.model.history_
    return None if history is None else int(history.data[history.indptr[place] : history.indptr[place + 1]].sum())


def _counted(loaded: Loaded, place: int) -> answers.ItemCounts:
    if loaded.item_users is None or loaded.item_totals is None:
        return {"users": None, "total": None}
    return {"users": int(loaded.item_users[place]), "total": int(loaded.item_totals[place])}


def _listeners(loaded: Loaded, place: int) -> list[answers.Listener]:
    """Who has most of an item. All counts are looked through: quicker than it sounds, and nothing more to keep."""
    model, history = loaded.model, loaded.model.history_
    if history is None:
        return []
    entries = np.flatnonzero(history.indices == place)
    entries = entries[largest(history.data[entries], _LISTENERS)]
    rows = np.searchsorted(history.indptr, entries, side="right") - 1
    found: list[answers.Listener] = []
    for row in rows.tolist():
        who = model.users_[row]
        told = read(loaded, asker(loaded, who, None))
        here = int(np.searchsorted(told.seen.indices, place))
        found.append({"user": who, "count": int(told.seen.data[here]), "sessions": float(told.sessions[here])})
    return found


def _excited_by(loaded: Loaded, place: int) -> list[answers.ExcitedBy]:
    excitation = loaded.model.excitation_
    if excitation is None:
        return []
    sources, strength = excitation.of_item(place)
    order = [j for j in largest(strength, _SOURCES).tolist() if strength[j] > 0]
    return [{**loaded.item(int(sources[j])), "strength": float(strength[j])} for j in order]
