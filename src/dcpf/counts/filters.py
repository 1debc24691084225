"""Fewer or smaller counts: users and items with few interactions dropped, large counts cut, a random sample."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts.checks import InvalidCounts, Seed, generator, whole_number
from dcpf.text import plural

if TYPE_CHECKING:
    from dcpf.counts.counts import Counts


def at_least(counts: "Counts", min_per_user: int, min_per_item: int, repeat: bool) -> "Counts":
    """See `Counts.filter`."""
    min_per_user = whole_number("min_per_user", min_per_user, at_least=0)
    min_per_item = whole_number("min_per_item", min_per_item, at_least=0)
    matrix = counts.matrix
    pairs = sparse.csr_array((np.ones(matrix.nnz, np.int32), matrix.indices, matrix.indptr), shape=matrix.shape)
    by_item = pairs.T
    users, items = np.ones(matrix.shape[0], dtype=np.bool_), np.ones(matrix.shape[1], dtype=np.bool_)
    changed = True
    while changed:
        left = users.sum() + items.sum()
        items = _pairs_with(by_item, users) >= min_per_item
        users = _pairs_with(pairs, items) >= min_per_user
        changed = repeat and bool(users.sum() + items.sum() < left)
    items &= _pairs_with(by_item, users) >= min(min_per_item, 1)  # once round, an item may have lost all its users
    if not _pairs_with(pairs, items)[users].any():
        raise InvalidCounts(
            f"no interactions are left with min_per_user={min_per_user} and min_per_item={min_per_item}, of "
            f"{counts.nnz:,} of {matrix.shape[0]:,} users and {matrix.shape[1]:,} items; lower one of them"
        )
    dropped = int((~users).sum()), int((~items).sum())
    if dropped == (0, 0):
        return counts
    note = (
        f"{plural(dropped[0], 'user')} and {plural(dropped[1], 'item')} dropped: fewer than {min_per_user:,} "
        f"interactions of a user or {min_per_item:,} of an item"
    )
    kept = counts.select(np.flatnonzero(users), np.flatnonzero(items))
    return replace(kept, notes=(*counts.notes, note))


def _pairs_with(pairs: Any, chosen: NDArray[np.bool_]) -> NDArray[np.int32]:
    """How many of the chosen columns each row has an entry in."""
    return np.asarray(pairs @ chosen.astype(np.int32))


def capped(counts: "Counts", largest: int) -> "Counts":
    """See `Counts.cap`."""
    largest = whole_number("largest", largest, at_least=1)
    above = int((counts.matrix.data > largest).sum())
    if not above:
        return counts
    events = counts.events
    if events is not None:
        before = np.cumsum(events.counts) - events.counts
        before -= np.repeat(before[events.starts[:-1]], np.diff(events.starts))
        cut = np.minimum(events.counts, largest - before)
        events = replace(events, counts=np.maximum(cut, 0)).only(cut > 0)
    note = f"{plural(above, 'count')} above {largest:,} cut to it"
    capped_ = counts.with_data(np.minimum(counts.matrix.data, largest), events)
    return replace(capped_, notes=(*counts.notes, note))


def sample(counts: "Counts", users: int | None = None, items: int | None = None, seed: Seed = 0) -> "Counts":
    """So many users and items, drawn without replacement; None, or more than there are, keeps all of them.

    One after another is drawn: a user in proportion to the number of its items, an item in proportion to the number
    of its users, both in the counts as they are given. So Liang et al. (2016) made their subset of Taste Profile, and
    the authors of the paper theirs. Whoever is drawn may be left with few interactions: `Counts.filter` drops them.
    """
    rng = generator(seed)
    per_user = np.diff(counts.matrix.indptr)
    per_item = np.bincount(counts.matrix.indices, minlength=counts.shape[1])
    of_users, of_items = _drawn("users", per_user, users, rng), _drawn("items", per_item, items, rng)
    if of_users is None and of_items is None:
        return counts
    told = [
        f"{len(drawn):,} of {size:,} {what}"
        for drawn, size, what in ((of_users, len(per_user), "users"), (of_items, len(per_item), "items"))
        if drawn is not None
    ]
    note = f"{' and '.join(told)} drawn in proportion to their interactions"
    return replace(counts.select(of_users, of_items), notes=(*counts.notes, note))


def _drawn(
    what: str, weights: NDArray[np.integer], wanted: int | None, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """The positions of those that are drawn, in ascending order; None if all stay."""
    if wanted is None or whole_number(what, wanted, at_least=1) >= np.count_nonzero(weights):
        return None
    drawn = rng.choice(len(weights), size=wanted, replace=False, p=weights / weights.sum())
    return np.sort(drawn).astype(np.int64)
