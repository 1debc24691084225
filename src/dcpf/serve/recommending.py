"""Recommend, predict, explain."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcpf.counts import Id
from dcpf.model.explaining import Read
from dcpf.ranking.explanation import Explanation
from dcpf.ranking.lists import Recommendations, meanings
from dcpf.serve import answers
from dcpf.serve.asking import Asker, NoHistory, asker, need_training_counts, places_of
from dcpf.serve.loaded import Loaded, largest

History = Iterable[tuple[Id, int]] | None


@dataclass(frozen=True)
class Wishes:
    """What lists are to be like."""

    n: int = 10
    exclude_seen: bool = True
    allow: Sequence[Id] | None = None
    deny: Sequence[Id] | None = None
    why: int = 0
    popular: bool = False


def recommend(loaded: Loaded, user: Id | None, history: History, wishes: Wishes) -> answers.OneList:
    """The list of one user, known or told of by a history."""
    one = asker(loaded, user, history, popular=wishes.popular)
    restricted, unknown = _restrictions(loaded, wishes, [one.known_as])
    _check_history(loaded, one.history is not None, wishes)
    asked = one.asked(loaded)
    found = loaded.model._lists(asked, single=True, **restricted)
    (listed,) = _items(loaded, found)
    answer: answers.OneList = {"user": one.user, "items": listed, "unknown_items": [*one.unknown, *unknown]}
    if wishes.why or history is not None:
        need_training_counts(loaded, one)
        has = loaded.model._read(asked)
        if wishes.why:
            told = loaded.model._explain(asked, has, found.ranked.columns)
            for item, why in zip(listed, told, strict=True):
                item["why"] = _why(loaded, why, wishes.why)
        if history is not None:
            answer["history"] = read_counts(loaded, has)
    return answer


def recommend_to_many(loaded: Loaded, users: Sequence[Id], wishes: Wishes) -> answers.ManyLists:
    """The lists of several users."""
    found = [loaded.users.find(user) if wishes.popular else loaded.users.place(user) for user in users]
    ids = [user if place is None else loaded.model.users_[place] for user, place in zip(users, found, strict=True)]
    _check_history(loaded, False, wishes)
    restricted, unknown = _restrictions(loaded, wishes, ids)
    ranked = loaded.model.recommend(ids, unknown="popular" if wishes.popular else "raise", **restricted)
    lists: list[answers.List] = [
        {"user": user, "items": items} for user, items in zip(ids, _items(loaded, ranked), strict=True)
    ]
    return {"lists": lists, "unknown_items": unknown}


def predict(loaded: Loaded, user: Id | None, history: History, items: Sequence[Id]) -> answers.Predictions:
    """What is expected of one user and these items."""
    one = asker(loaded, user, history)
    places, unknown = places_of(loaded, items)
    if loaded.model.excitation_ is not None:
        need_training_counts(loaded, one)
    found: list[answers.Prediction] = []
    if places:
        ids = [loaded.model.items_[place] for place in places]
        expected = loaded.model.predict_pairs(one.user if one.history is None else None, ids, history=one.history)
        columns = (expected.sessions, expected.counts, expected.probabilities, *expected.interval())
        for place, sessions, count, probability, low, high in zip(places, *_plain(columns), strict=True):
            found.append(
                {
                    **loaded.item(place),
                    "sessions": sessions,
                    "count": number(count),
                    "probability": probability,
                    "low": low,
                    "high": high,
                }
            )
    return {"user": one.user, "items": found, "unknown_items": [*one.unknown, *unknown]}


def explain(loaded: Loaded, user: Id | None, history: History, item: Id) -> answers.Explanation:
    """Why this item for this user."""
    one, place = asker(loaded, user, history), loaded.items.place(item)
    need_training_counts(loaded, one)
    asked = one.asked(loaded)
    (why,) = loaded.model._explain(asked, loaded.model._read(asked), np.array([place]))
    return {
        "user": one.user,
        **loaded.item(place),
        "score": why.score,
        "prior": why.prior,
        "excited": why.excited,
        "history": _parts(loaded, why, len(why.items)),
        "components": _component_parts(loaded, why, len(why.components)),
        "unknown_items": one.unknown,
    }


def read(loaded: Loaded, one: Asker) -> Read:
    """What the one who asks has, and how it is read."""
    need_training_counts(loaded, one)
    return loaded.model._read(one.asked(loaded))


def read_counts(loaded: Loaded, found: Read, n: int | None = None) -> list[answers.ReadCount]:
    """The counts of a history, those with the most sessions first."""
    order = np.lexsort((-found.seen.data, -found.sessions))[:n]
    columns = (found.seen.indices[order], found.seen.data[order], found.sessions[order])
    return [
        {**loaded.item(place), "count": count, "sessions": sessions}
        for place, count, sessions in zip(*_plain(columns), strict=True)
    ]


def number(value: float) -> float | None:
    """A number, or null where it is not known."""
    return value if math.isfinite(value) else None


def _check_history(loaded: Loaded, given: bool, wishes: Wishes) -> None:
    model = loaded.model
    if not given and model.history_ is None and (wishes.exclude_seen or model.excitation_ is not None):
        way_out = "" if model.excitation_ is not None else ", or let known items come up again (exclude_seen=false)"
        raise NoHistory(
            "the model was saved without its training counts, so it does not know what its users have: "
            f"post a history with the question{way_out}"
        )


def _restrictions(loaded: Loaded, wishes: Wishes, users: Sequence[Id]) -> tuple[dict[str, Any], list[Id]]:
    """The wishes as the model takes them, and the items in them that it does not know."""
    model, unknown = loaded.model, list[Id]()
    options: dict[str, Any] = {"n": wishes.n, "exclude_seen": wishes.exclude_seen}
    if wishes.allow is not None:
        places, missing = places_of(loaded, wishes.allow)
        options["allow"], unknown = [model.items_[place] for place in places], unknown + missing
    if wishes.deny:
        places, missing = places_of(loaded, wishes.deny)
        denied, unknown = [model.items_[place] for place in places], unknown + missing
        options["deny_by_user"] = dict.fromkeys(users, denied)  # for a few users this is quicker than `deny`
    return options, unknown


def _items(loaded: Loaded, found: Recommendations) -> list[list[answers.Recommended]]:
    """The lists as they are answered."""
    told = meanings(found.ranked.scores, found.element)
    items = map(loaded.item, found.ranked.columns.tolist())
    columns = _plain((told["sessions"], told["count"], told["probability"]))
    rows: list[answers.Recommended] = [
        {
            "item": item["item"],
            "name": item["name"],
            "sessions": sessions,
            "count": number(count),
            "probability": probability,
        }
        for item, sessions, count, probability in zip(items, *columns, strict=True)
    ]
    return [rows[start:stop] for start, stop in itertools.pairwise(found.ranked.indptr.tolist())]


def _why(loaded: Loaded, why: Explanation, n: int) -> answers.Why:
    return {
        "history": _parts(loaded, why, n),
        "rest": float(why.parts[n:].sum()),
        "prior": why.prior,
        "components": _component_parts(loaded, why, n),
        "excited": why.excited,
    }


def _parts(loaded: Loaded, why: Explanation, n: int) -> list[answers.HistoryPart]:
    columns = _plain((why.items[:n], why.counts[:n], why.sessions[:n], why.parts[:n]))
    return [
        {**loaded.item(place), "count": count, "sessions": sessions, "part": part}
        for place, count, sessions, part in zip(*columns, strict=True)
    ]


def _component_parts(loaded: Loaded, why: Explanation, n: int) -> list[answers.ComponentPart]:
    return [
        {"number": k, "part": float(why.components[k]), "items": loaded.top_items(k, 3)}
        for k in largest(why.components, n).tolist()
    ]


def _plain(columns: Iterable[Any]) -> list[list[Any]]:
    """Arrays as lists of Python's own numbers."""
    return [column.tolist() for column in columns]
