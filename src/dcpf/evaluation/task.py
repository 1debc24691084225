"""The task of an evaluation: the users, their relevant items, and the items that they already have."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Counts, Ids, InvalidCounts
from dcpf.model.checks import has_ids

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RankingTask:
    """Users with test counts. `test` and `seen` have a row for each of them."""

    users: Ids
    items: Ids  # the items that the model can list
    test: sparse.csr_array  # the columns after those of `items` are items that the model does not know
    seen: sparse.csr_array | None  # the counts that they already have, if known
    history: Counts | None  # the same, if the model is asked with a history
    popularity: Floats | None  # the share of the users of the fit who have each item, if known
    knows_catalogue: bool  # whether `items` are all items, not only those of the test counts
    notes: tuple[str, ...]


def ranking_task(model: Any, test: Any, history: Any = None) -> RankingTask:
    """Test counts, and histories if given, in the rows and columns of a model."""
    counts, before, notes = with_ids(model, test, history)
    known = before.users if before is not None else getattr(model, "users_", None)
    rows = np.flatnonzero(np.diff(counts.matrix.indptr) > 0)
    if isinstance(known, Ids) and known != counts.users:
        there = known.find_all(counts.users)[rows] >= 0
        if not there.any():
            raise ValueError(
                f"none of the {len(rows):,} users of the test counts, such as {counts.users[int(rows[0])]!r}, is in "
                f"the {'history' if before is not None else 'model'}; for users who were held out give history="
            )
        if not there.all():
            whom = "the model" if before is None else "the history"
            notes.append(f"{int((~there).sum()):,} of {len(rows):,} users are unknown to {whom} and were left out")
        rows = rows[there]
    users = counts.users if len(rows) == len(counts.users) else counts.users.take(rows)
    knows_catalogue = isinstance(getattr(model, "items_", None), Ids)
    items = model.items_ if knows_catalogue else counts.items
    matrix, unknown = with_columns(counts.matrix[rows], counts.items, items)
    if unknown:
        notes.append(f"test counts of items that the model does not know, which cannot be found: {unknown:,}")
    seen = seen_by(model, before, users, items)
    if seen is not None:
        again = stored_in(matrix, seen)
        if again.any():
            notes.append(f"test counts of items that the user had before, which are not judged: {int(again.sum()):,}")
            matrix = without(matrix, again)
            stay = np.flatnonzero(np.diff(matrix.indptr) > 0)
            users, matrix, seen = users.take(stay), matrix[stay], seen[stay]
    if len(users) == 0:
        raise InvalidCounts(
            "there is nothing to judge: all test counts are of items that the users already had; give counts that "
            "the model was not fitted to"
        )
    return RankingTask(users, items, matrix, seen, before, _popularity(model), knows_catalogue, tuple(notes))


def with_ids(model: Any, test: Any, history: Any) -> tuple[Counts, Counts | None, list[str]]:
    """Both as counts with ids, and notes on items of the history that the model does not know."""
    if history is not None and has_ids(history) != has_ids(test):
        raise TypeError("test and history must both have ids, as Counts and tables do, or both be matrices")
    counts, before = Counts.of(test), None if history is None else Counts.of(history, allow_empty=True)
    items = getattr(model, "items_", None)
    if not has_ids(test):
        return *_named_by_model(model, counts, before), []
    if before is None or not isinstance(items, Ids) or before.items == items:
        return counts, before, []
    kept = before.select(items=np.flatnonzero(items.find_all(before.items) >= 0))
    unknown = before.nnz - kept.nnz
    notes = [f"counts of the history of items that the model does not know, left out: {unknown:,}"] if unknown else []
    return counts, kept, notes


def _named_by_model(model: Any, counts: Counts, before: Counts | None) -> tuple[Counts, Counts | None]:
    """Ids for matrices: columns are those of the model; rows those of the history if given, else of the model."""
    items, users = getattr(model, "items_", None), getattr(model, "users_", None)
    _check_as_many("columns", counts.items, "model", items)
    if before is None:
        _check_as_many("rows", counts.users, "model", users)
        return Counts.from_matrix(counts.matrix, users, items), None
    _check_as_many("rows", counts.users, "history", before.users)
    _check_as_many("columns", counts.items, "history", before.items)
    before = Counts.from_matrix(before.matrix, None, items, allow_empty=True)
    return Counts.from_matrix(counts.matrix, None, items), before


def _check_as_many(what: str, given: Ids, of: str, known: object) -> None:
    if isinstance(known, Ids) and len(given) != len(known):
        raise InvalidCounts(
            f"the test matrix has {len(given):,} {what}, the {of} has {len(known):,}: give one for each, empty where "
            "there is nothing, or counts with ids"
        )


def with_columns(matrix: sparse.csr_array, given: Ids, items: Ids) -> tuple[sparse.csr_array, int]:
    """A matrix with the columns of `items`, then of unknown items; and the number of entries of the latter."""
    if given == items:
        return matrix, 0
    places = items.find_all(given)
    unknown = places < 0
    places[unknown] = len(items) + np.arange(int(unknown.sum()))
    shape = (matrix.shape[0], len(items) + int(unknown.sum()))
    moved = sparse.csr_array((matrix.data, places[matrix.indices], matrix.indptr), shape=shape)
    moved.sort_indices()
    return moved, int((moved.indices >= len(items)).sum())


def with_known_columns(matrix: sparse.csr_array, given: Ids, items: Ids) -> tuple[sparse.csr_array, int]:
    """A matrix with the columns of `items` only, and the number of entries left out."""
    matrix, unknown = with_columns(matrix, given, items)
    return (without(matrix, matrix.indices >= len(items))[:, : len(items)] if unknown else matrix), unknown


def seen_by(model: Any, before: Counts | None, users: Ids, items: Ids) -> sparse.csr_array | None:
    """The counts that these users already have, in the columns of `items`."""
    if before is not None:
        return with_columns(before.matrix[before.users.positions(users, "user")], before.items, items)[0]
    history: sparse.csr_array | None = getattr(model, "history_", None)
    known = getattr(model, "users_", None)
    if history is None or not isinstance(known, Ids):
        return None
    return history if known == users else history[known.positions(users, "user")]


def stored_in(matrix: sparse.csr_array, other: sparse.csr_array) -> NDArray[np.bool_]:
    """Whether each entry of a canonical matrix is also stored in another one with as many rows."""
    width = max(matrix.shape[1], other.shape[1])
    keys, others = (
        np.repeat(np.arange(one.shape[0], dtype=np.int64) * width, np.diff(one.indptr)) + one.indices
        for one in (matrix, other)
    )
    places = np.minimum(np.searchsorted(others, keys), max(len(others) - 1, 0))
    return others[places] == keys if len(others) else np.zeros(len(keys), dtype=np.bool_)


def without(matrix: sparse.csr_array, entries: NDArray[np.bool_]) -> sparse.csr_array:
    """A matrix without the marked entries."""
    kept = np.flatnonzero(~entries)
    indptr = np.searchsorted(kept, matrix.indptr)
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], indptr), shape=matrix.shape)


def _popularity(model: Any) -> Floats | None:
    history = getattr(model, "history_", None)
    if history is None:
        return None
    users = max(int((np.diff(history.indptr) > 0).sum()), 1)
    return np.maximum(np.bincount(history.indices, minlength=history.shape[1]), 1) / users
