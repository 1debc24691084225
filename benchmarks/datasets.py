"""Matrices to measure on: drawn at a given shape, or read from a Parquet file of user, item, count."""

from pathlib import Path

import numpy as np
from scipy import sparse

from dcpf.elements import ShiftedNegativeBinomial
from dcpf.simulation import draw_counts

GENRES = 60


def taste_profile_shaped(
    users: int = 16_301, items: int = 12_118, entries: int = 1_200_000, seed: int = 0
) -> sparse.csr_array:
    """Counts of the shape of the paper's Taste Profile subset: skewed activity and popularity, long-tailed counts.

    Items belong to genres, and a user takes nine of ten from three of them. Counts are 1 + NB(0.2, 0.87) a session,
    the parameters that the paper found there (mean 2.7 of the stored ones).
    """
    rng = np.random.default_rng(seed)
    activity = np.cumsum(rng.lognormal(0.0, 0.9, users))
    tastes = rng.integers(GENRES, size=(users, 3), dtype=np.int32)
    # Items by genre; popularity summed up, so that a genre is an interval of it
    first = np.searchsorted(np.sort(rng.integers(GENRES, size=items)), np.arange(GENRES + 1))
    popularity = np.concatenate([[0.0], np.cumsum(rng.lognormal(0.0, 1.3, items))])
    found = np.empty(0, dtype=np.int64)
    while len(found) < entries:  # distinct pairs
        draws = min(entries // 2, 2**23)
        u = np.searchsorted(activity, rng.random(draws) * activity[-1])
        genre = tastes[u, rng.integers(3, size=draws)]
        anywhere = rng.random(draws) < 0.1
        low = np.where(anywhere, 0.0, popularity[first[genre]])
        high = np.where(anywhere, popularity[-1], popularity[first[genre + 1]])
        i = np.searchsorted(popularity, low + rng.random(draws) * (high - low), side="right") - 1
        found = np.sort(np.concatenate([found, u * items + np.minimum(i, items - 1)]))
        found = found[np.append(True, found[1:] != found[:-1])]
    found = np.delete(found, rng.choice(len(found), len(found) - entries, replace=False))
    counts = ShiftedNegativeBinomial(0.87, 0.2).sample(1 + rng.poisson(0.2, entries), rng)
    rows = np.searchsorted(found, np.arange(users + 1) * np.int64(items))
    return sparse.csr_array((counts, (found % items).astype(np.int32), rows), shape=(users, items))


def drawn_from_factors(
    users: int = 16_301, items: int = 12_118, sessions: int = 1_255_000, components: int = 50, seed: int = 0
) -> sparse.csr_array:
    """Counts of the same shape from the model of the paper: gamma factors of shape 0.3, and sessions as above.

    Activity and popularity are skewed as above, too. Nearly 1,200,000 entries.
    """
    rng = np.random.default_rng(seed)
    W, H = (rng.gamma(0.3, 1.0, (size, components)) for size in (users, items))
    W, H = W * rng.lognormal(0.0, 0.9, (users, 1)), H * rng.lognormal(0.0, 1.3, (items, 1))
    W *= sessions / float(W.sum(axis=0) @ H.sum(axis=0))
    return draw_counts(W, H, ShiftedNegativeBinomial(0.87, 0.2), rng)[0]


def read(path: Path) -> sparse.csr_array:
    """A Parquet file with the columns user, item and count, the first two numbered from 0."""
    import polars as pl

    frame = pl.read_parquet(path)
    user, item, count = (frame[name].to_numpy() for name in ("user", "item", "count"))
    return sparse.csr_array((count.astype(np.int64), (user, item)))
