"""Means over users, and their intervals by resampling the users."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES = 1000
_AT_ONCE = 1 << 23  # numbers in memory


def mean_of(values: Floats) -> float:
    """The mean without NaN, or NaN if there is nothing else."""
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else float("nan")


def mean_intervals(values: Floats, level: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Percentile bootstrap of the column means of a users x columns array; NaN is left out of a mean.

    Users are drawn with replacement, the same ones for all columns. A resample in which a column has no user left is
    not counted. One user tells nothing of how users differ: then both ends are NaN.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, such as 0.95, found {level!r}")
    users = len(values)
    there = np.isfinite(values)
    table = np.hstack([np.where(there, values, 0.0), there])
    sums = np.empty((RESAMPLES, table.shape[1]))
    step = max(1, _AT_ONCE // max(users, 1))
    for start in range(0, RESAMPLES, step):
        size = min(step, RESAMPLES - start)
        drawn = rng.integers(users, size=(size, users)) + users * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * users).reshape(size, users)
        sums[start : start + size] = times @ table
    columns = values.shape[1]
    low, high = np.full(columns, np.nan), np.full(columns, np.nan)
    for j in np.flatnonzero(there.sum(axis=0) > 1):
        drawn_any = sums[:, columns + j] > 0
        means = sums[drawn_any, j] / sums[drawn_any, columns + j]
        low[j], high[j] = np.quantile(means, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return low, high
