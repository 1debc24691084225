"""Recommend, predict and explain: questions of one user, answered in the form that the API describes."""

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dcpf.counts import LARGEST_COUNT, Counts, Id, Ids
from dcpf.kernels.threads import Threads
from dcpf.model.explanation import Explanation, ReadHistory, read_history
from dcpf.model.explanation import explain as explain_places
from dcpf.model.prediction import predict as predict_places
from dcpf.model.recommendation import Recommendations, lists
from dcpf.model.users import Asked, ask, ask_for_rows
from dcpf.ranking.lists import largest, meanings
from dcpf.serve import answers
from dcpf.serve.requests import ExplainQuestion, PredictQuestion, RecommendQuestion
from dcpf.serve.served import ServedModel

ONE_THREAD = Threads(1)  # requests are answered side by side, each by one thread
_NO_NAME = 0  # the id of a history without a user
_NO_HISTORY = (
    "the model was saved without its training counts, so it does not know what its users have: "
    "post a history with the question"
)


class NoHistory(Exception):  # noqa: N818 - the name says it
    """A question needs training counts, and the model was saved without them."""


class ResolvedUser(NamedTuple):
    """The user of a question, as the model takes it."""

    id: Id | None  # None for a history without a user
    asked: Asked
    unknown_items: list[Id]  # of the history


def resolve_user(
    served: ServedModel,
    user: Id | None,
    history: Iterable[tuple[Id, int]] | None = None,
    *,
    popular: bool = False,
    needs_history: bool = True,
) -> ResolvedUser:
    """Find a user in the model, or fold in a history. With `popular`, an unknown user has an empty history.

    `needs_history` refuses a known user whose training counts were not saved with the model.
    """
    model = served.model
    if user is not None:
        optional = popular or history is not None
        place = served.users.find(user) if optional else served.users.place(user)
        user = user if place is None else model.users[place]
        if place is not None and history is None:
            if needs_history and model.history is None:
                raise NoHistory(_NO_HISTORY)
            return ResolvedUser(user, ask_for_rows(model, np.array([place])), [])
    row, unknown = _row_of_counts(served, history or ())
    whose = Ids.of([_NO_NAME if user is None else user], "user")
    return ResolvedUser(user, ask(model, None, Counts(row, whose, model.items)), unknown)


def recommend(served: ServedModel, question: RecommendQuestion) -> answers.OneList:
    """The list of a user, of a history, or of both."""
    question.check()  # that of a query has not been validated as a whole
    counts, needs_history = question.counts, bool(question.why)
    user = resolve_user(served, question.user, counts, popular=question.popular, needs_history=needs_history)
    _check_history(served, question, user.asked)
    filters, unknown = _filters(served, question, user.asked.ids)
    met = served.model.meet(user.asked.batch, ONE_THREAD)
    found = lists(served.model, user.asked, met, question.n, ONE_THREAD, **filters)
    (items,) = _item_lists(served, found)
    answer: answers.OneList = {"user": user.id, "items": items, "unknown_items": [*user.unknown_items, *unknown]}
    if question.why or counts is not None:
        read = read_history(served.model, user.asked, met, ONE_THREAD)
        if question.why:
            told = explain_places(served.model, user.asked, met, read, found.ranked.columns, ONE_THREAD)
            for item, why in zip(items, told, strict=True):
                item["why"] = _why(served, why, question.why)
        if counts is not None:
            answer["history"] = read_counts(served, read)
    return answer


def recommend_to_many(served: ServedModel, question: RecommendQuestion) -> answers.ManyLists:
    """The lists of several users."""
    find = served.users.find if question.popular else served.users.place
    places = [(user, find(user)) for user in question.users or ()]
    users = [user if place is None else served.model.users[place] for user, place in places]
    asked = ask(served.model, users, None, popular=question.popular)
    _check_history(served, question, asked)
    filters, unknown = _filters(served, question, users)
    met = served.model.meet(asked.batch, ONE_THREAD)
    found = lists(served.model, asked, met, question.n, ONE_THREAD, single=False, **filters)
    rows = zip(users, _item_lists(served, found), strict=True)
    return {"lists": [{"user": user, "items": items} for user, items in rows], "unknown_items": unknown}


def predict(served: ServedModel, question: PredictQuestion) -> answers.Predictions:
    """Expected sessions and counts of some items."""
    user = resolve_user(served, question.user, question.counts, needs_history=len(served.model.parts) > 1)
    places, unknown = _find_items(served, question.items)
    found = predict_places(served.model, user.asked, np.zeros_like(places), places, 1)
    columns = (places, found.sessions, found.counts, found.probabilities, *found.interval())
    items: list[answers.Prediction] = [
        {
            **served.item(place),
            "sessions": sessions,
            "count": number(count),
            "probability": probability,
            "low": low,
            "high": high,
        }
        for place, sessions, count, probability, low, high in _rows(*columns)
    ]
    return {"user": user.id, "items": items, "unknown_items": [*user.unknown_items, *unknown]}


def explain(served: ServedModel, question: ExplainQuestion) -> answers.Explanation:
    """Why an item is recommended."""
    user, place = resolve_user(served, question.user, question.counts), served.items.place(question.item)
    met = served.model.meet(user.asked.batch, ONE_THREAD)
    read = read_history(served.model, user.asked, met, ONE_THREAD)
    (why,) = explain_places(served.model, user.asked, met, read, np.array([place]), ONE_THREAD)
    return {
        "user": user.id,
        **served.item(place),
        "score": why.score,
        "prior": why.prior,
        "excited": why.excited,
        "history": _history_parts(served, why, len(why.items)),
        "components": _component_parts(served, why, len(why.components)),
        "unknown_items": user.unknown_items,
    }


def read_counts(served: ServedModel, read: ReadHistory, n: int | None = None) -> list[answers.ReadCount]:
    """The n counts of a history with the most sessions."""
    order = np.lexsort((-read.counts.data, -read.sessions))[:n]
    columns = (read.counts.indices[order], read.counts.data[order], read.sessions[order])
    return [
        {**served.item(place), "count": count, "sessions": sessions} for place, count, sessions in _rows(*columns)
    ]


def number(value: float) -> float | None:
    """A number, or null where there is none."""
    return value if math.isfinite(value) else None


def _check_history(served: ServedModel, question: RecommendQuestion, asked: Asked) -> None:
    """Refuse lists that need training counts: as a filter, or because other parts than factors read them."""
    by_factors = len(served.model.parts) == 1
    if asked.batch.history is None and (question.exclude_seen or not by_factors):
        way_out = ", or allow items that users already have (exclude_seen=false)" if by_factors else ""
        raise NoHistory(_NO_HISTORY + way_out)


def _row_of_counts(served: ServedModel, history: Iterable[tuple[Id, int]]) -> tuple[sparse.csr_array, list[Id]]:
    """A history as a row of counts, summed by item, and the items that the model does not know."""
    counts: dict[int, int] = {}
    unknown = []
    for typed, count in history:
        place = served.items.find(typed)
        if place is None:
            unknown.append(typed)
        elif count:
            counts[place] = counts.get(place, 0) + count
            if counts[place] > LARGEST_COUNT:
                name = served.model.catalogue.named(place)
                raise ValueError(f"history: the counts of {name!r} add up to more than 2^31-1")
    places = sorted(counts)
    data = np.array([counts[place] for place in places], dtype=np.int64)
    row = (data, np.array(places, dtype=np.int32), [0, len(places)])
    return sparse.csr_array(row, shape=(1, len(served.model.items))), unknown


def _find_items(served: ServedModel, items: Iterable[Id]) -> tuple[Any, list[Id]]:
    """The places of these items, and the items that the model does not know."""
    found = [(typed, served.items.find(typed)) for typed in items]
    places = [place for _, place in found if place is not None]
    return np.array(places, dtype=np.int64), [typed for typed, place in found if place is None]


def _filters(
    served: ServedModel, question: RecommendQuestion, users: Sequence[Id | None]
) -> tuple[dict[str, Any], list[Id]]:
    """What to leave out of lists, as the model takes it, and the items in it that the model does not know."""
    filters: dict[str, Any] = {"exclude_seen": question.exclude_seen}
    unknown: list[Id] = []
    if question.allow is not None:
        places, missing = _find_items(served, question.allow)
        filters["allow"], unknown = served.model.items.at(places), unknown + missing
    if question.deny:
        places, missing = _find_items(served, question.deny)
        denied, unknown = served.model.items.at(places), unknown + missing
        filters["deny_by_user"] = dict.fromkeys(users, denied)  # faster than `deny` for a few users
    return filters, unknown


def _item_lists(served: ServedModel, found: Recommendations) -> list[list[answers.Recommended]]:
    ids, means = served.model.items, meanings(found.ranked.scores, found.element)
    rows: list[answers.Recommended] = [
        {
            "item": ids[place],
            "name": served.model.catalogue.named(place),
            "sessions": sessions,
            "count": number(count),
            "probability": probability,
        }
        for place, sessions, count, probability in _rows(found.ranked.columns, *means.values())
    ]
    return [rows[start:stop] for start, stop in itertools.pairwise(found.ranked.indptr.tolist())]


def _why(served: ServedModel, why: Explanation, n: int) -> answers.Why:
    return {
        "history": _history_parts(served, why, n),
        "rest": float(why.parts[n:].sum()),
        "prior": why.prior,
        "components": _component_parts(served, why, n),
        "excited": why.excited,
    }


def _history_parts(served: ServedModel, why: Explanation, n: int) -> list[answers.HistoryPart]:
    return [
        {**served.item(place), "count": count, "sessions": sessions, "part": part}
        for place, count, sessions, part in _rows(why.items[:n], why.counts[:n], why.sessions[:n], why.parts[:n])
    ]


def _component_parts(served: ServedModel, why: Explanation, n: int) -> list[answers.ComponentPart]:
    return [
        {"number": k, "part": float(why.components[k]), "items": served.components[k]["items"][:3]}
        for k in largest(why.components, n).tolist()
    ]


def _rows(*columns: Any) -> Iterable[tuple[Any, ...]]:
    """Arrays of one length, row by row, as plain numbers."""
    return zip(*(column.tolist() for column in columns), strict=True)
