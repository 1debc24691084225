"""Bins for counts on a logarithmic axis."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SINGLE = 10  # below, each count is a bin of its own; from here on, there are ten bins to a factor of ten


def edges(largest: int) -> Floats:
    """Where bins start, up to the first that is beyond the largest count: 1, 2, ..., 10, then wider and wider."""
    starts = list(range(1, _SINGLE + 1))
    while starts[-1] <= largest:
        starts.append(max(starts[-1] + 1, round(starts[-1] * 10.0**0.1)))
    return np.array(starts, dtype=np.float64)


def totals(counts: NDArray[np.integer], weights: NDArray[np.number], starts: Floats) -> Floats:
    """The sum of the weights in each bin."""
    bins = np.searchsorted(starts, counts, side="right") - 1
    summed = np.bincount(bins, weights=weights.astype(np.float64), minlength=len(starts) - 1)
    return np.asarray(summed, dtype=np.float64)
