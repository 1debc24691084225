"""Matrices to measure on: drawn at a given shape, or read from a Parquet file of user, item, count."""

from pathlib import Path

import numpy as np
from scipy import sparse

from dcpf.elements import ShiftedNegativeBinomial


def taste_profile_shaped(
    users: int = 16_301, items: int = 12_118, entries: int = 1_200_000, seed: int = 0
) -> sparse.csr_array:
    """Counts of the shape of the paper's Taste Profile subset: skewed activity and popularity, long-tailed counts.

    Counts are 1 + NB(0.2, 0.87) a session, the parameters that the paper found there (mean 2.7 of the stored ones).
    """
    rng = np.random.default_rng(seed)
    activity, popularity = rng.lognormal(0.0, 0.9, users), rng.lognormal(0.0, 1.3, items)
    found = np.empty(0, dtype=np.int64)
    while len(found) < entries:  # distinct pairs, in proportion to activity and popularity
        u = rng.choice(users, entries // 2, p=activity / activity.sum())
        i = rng.choice(items, entries // 2, p=popularity / popularity.sum())
        found = np.unique(np.concatenate([found, u * items + i]))
    found = np.sort(rng.permutation(found)[:entries])
    counts = ShiftedNegativeBinomial(0.87, 0.2).sample(1 + rng.poisson(0.2, entries), rng)
    return sparse.csr_array((counts, (found // items, found % items)), shape=(users, items))


def read(path: Path) -> sparse.csr_array:
    """A Parquet file with the columns user, item and count, the first two numbered from 0."""
    import polars as pl

    frame = pl.read_parquet(path)
    user, item, count = (frame[name].to_numpy() for name in ("user", "item", "count"))
    return sparse.csr_array((count.astype(np.int64), (user, item)))
