"""Posterior predictive check: do counts drawn from the fitted model look like those that it was fitted to?

What is compared is how many entries have each count, and how many are zero (Figure 2 of the paper). A model of raw
counts pays for its tail with too many non-zeros, one of binarized counts has no tail, and an element may have both.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from dcpf.counts import Counts, count_matrix
from dcpf.elements import Raw
from dcpf.evaluation.check import Check, Ints
from dcpf.model import DCPF
from dcpf.model.fitted import check_whole, has_ids, warn_caller
from dcpf.simulation import draw_counts, draw_excited

Histogram = tuple[Ints, Ints]  # distinct counts, ascending, and how many entries have each

EVENTS = 1 << 22
"""Sessions that are drawn at a time. A draw takes users in blocks that expect so many, or one user more."""


def predictive_check(
    model: DCPF,
    counts: Any = None,
    seed: int | np.random.Generator = 0,
    draws: int = 10,
    *,
    progress: Callable[[int, int], object] | None = None,
) -> Check:
    """Draw matrices of counts from a fitted model and compare them with the data.

    As in the paper, they are drawn from E[W], E[H] and the learned element, so that draws differ by chance and not
    by what is uncertain about W and H. The cost is that of the sessions that are drawn, never of users x items, and
    the memory that of `EVENTS` of them. Excitation is drawn given the counts of these users. The binary limit has no
    law of counts: there, sessions are drawn, which is Poisson factorization of the binarized data.

    Parameters
    ----------
    model : DCPF
        A fitted model.
    counts : Counts, table or matrix
        What to compare with; by default the training counts. A table or `Counts` may hold some of the users: only
        those are drawn. The rows and columns of a matrix are all users and items of the model. They should be as many
        as the model was fitted to: a held-out part has fewer counts than are drawn.
    seed : int or Generator
        For the draws.
    draws : int
        How many matrices to draw.
    progress : callable
        Called with (done, all) as the draws go on.
    """
    check_is_fitted(model)
    check_whole(draws=draws)
    matrix, users = _truth(model, counts)
    data = _histogram(matrix.data)
    W, H = model._kept(model.user_factors[users]), model.item_factors.astype(np.float64)
    excitation, have = model.excitation_, None
    expected = W @ H.sum(axis=0).astype(W.dtype)
    if excitation is not None:
        given = excitation.of_users(matrix)
        have = sparse.csr_array((given.x, matrix.indices, matrix.indptr), shape=matrix.shape)
        expected = expected + excitation.by_user(given)
    law = model.element_ if model.element_.limit is None else Raw()
    rng = np.random.default_rng(seed)
    blocks = _blocks(expected, EVENTS)
    drawn: list[Histogram] = []
    for draw in range(draws):
        parts = []
        for j, block in enumerate(blocks):
            counted = draw_counts(W[block], H, law, rng)[0]
            if have is not None and excitation is not None:
                counted = counted + draw_excited(have[block], excitation.by_source, law, rng)[0]
            parts.append(_histogram(counted.data))
            if progress is not None:
                progress(draw * len(blocks) + j + 1, draws * len(blocks))
        drawn.append(_added(parts))
    distinct = np.unique(np.concatenate([data[0], *(one[0] for one in drawn)]))
    rows = np.zeros((1 + draws, len(distinct)), dtype=np.int64)
    for row, (values, numbers) in zip(rows, (data, *drawn), strict=True):
        row[np.searchsorted(distinct, values)] = numbers
    return Check(model.element_, (len(W), len(H)), distinct, rows[0], rows[1:])


def _truth(model: DCPF, counts: Any) -> tuple[sparse.csr_array, Any]:
    """The data in the columns of the model, and whom of its users they are about."""
    if counts is None:
        if model.history_ is None:
            raise ValueError("the model was saved without its training counts: give the counts to check it against")
        return model.history_, slice(None)
    if has_ids(counts):
        return _known(model, Counts.of(counts))
    matrix, expected = count_matrix(counts), (len(model.users_), len(model.items_))
    if matrix.shape != expected:
        raise ValueError(
            f"counts: found {matrix.shape[0]:,} x {matrix.shape[1]:,}, but the model has {expected[0]:,} users x "
            f"{expected[1]:,} items: give a row and a column for each, or a table with ids"
        )
    return matrix, slice(None)


def _known(model: DCPF, counts: Counts) -> tuple[sparse.csr_array, Ints]:
    """Counts with ids, in the columns of the model, and where their users stand; who is unknown is left out."""
    users, items = model.users_.find_all(counts.users), model.items_.find_all(counts.items)
    for what, places, ids in (("users", users, counts.users), ("items", items, counts.items)):
        unknown = np.flatnonzero(places < 0)
        if len(unknown) == len(places):
            its_own = (model.users_ if what == "users" else model.items_)[0]
            raise ValueError(
                f"counts: the model knows none of these {what}, {ids[0]!r} for one; it has such as {its_own!r}: give "
                "counts with the ids that it was fitted to"
            )
        if len(unknown):
            warn_caller(
                f"{len(unknown):,} of {len(places):,} {what} are unknown to the model and were skipped, such as "
                f"{ids[int(unknown[0])]!r}"
            )
    kept = (users[counts.entry_users] >= 0) & (items[counts.matrix.indices] >= 0)
    if not kept.any():
        raise ValueError("counts: no entry has both a user and an item that the model knows")
    rows, columns = (np.cumsum(users >= 0) - 1)[counts.entry_users[kept]], items[counts.matrix.indices[kept]]
    known = users[users >= 0]
    matrix = sparse.csr_array((counts.matrix.data[kept], (rows, columns)), shape=(len(known), len(model.items_)))
    return matrix.sorted_indices(), known


def _histogram(values: NDArray[np.integer]) -> Histogram:
    distinct, numbers = np.unique(values, return_counts=True)
    return distinct.astype(np.int64), numbers.astype(np.int64)


def _added(parts: list[Histogram]) -> Histogram:
    """One histogram of all these entries."""
    values, places = np.unique(np.concatenate([one[0] for one in parts]), return_inverse=True)
    total = np.zeros(len(values), dtype=np.int64)
    np.add.at(total, places, np.concatenate([one[1] for one in parts]))
    return values, total


def _blocks(expected: NDArray[np.floating], limit: int) -> list[slice]:
    """Rows in runs that expect `limit` sessions, or those of one row more."""
    starts = np.flatnonzero(np.diff(np.cumsum(expected, dtype=np.float64) // limit, prepend=-1.0))
    return [slice(int(a), int(b)) for a, b in zip(starts, [*starts[1:], len(expected)], strict=True)]
