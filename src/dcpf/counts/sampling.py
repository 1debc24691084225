"""Fewer users and items, drawn at random: the more interactions, the more likely."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dcpf.counts.filters import whole_number
from dcpf.counts.splits import Seed, generator

if TYPE_CHECKING:
    from dcpf.counts.counts import Counts


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
