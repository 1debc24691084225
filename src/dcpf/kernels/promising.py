"""The best n of a row whose scores come mostly from excitation: hardly more than n columns need to be scored.

As no w . h is negative, the n-th best score is not smaller than the n-th largest of what excitation adds. With the
bounds on w . h of their tiles, few columns can reach that. These are scored exactly. No tile is, and none is sorted.
"""

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.best import column_of, insert, key_of, sort_best
from dcpf.kernels.jit import step
from dcpf.kernels.tiles import WIDTH, Row, Tiled, exact
from dcpf.kernels.vectors import fetch

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

_PARTS = 8.0  # the n-th largest is sought above the largest divided by this, or by its square
_HALVINGS = 9  # of where it is sought
_AHEAD = 6  # columns whose factors are fetched meanwhile
_BELOW = 1.0 - 1e-9  # so that no rounding in float64 matters


@step
def rank_promising(mine: Row, tiled: Tiled, most: float, kept: Integers, out: tuple[Integers, Doubles]) -> int:
    """Rank the columns that can be among the best: out = (columns, scores). How many there are.

    `most` is the largest that is added. It is -1, and nothing is ranked, if these are more than `kept` has room for.
    """
    columns, scores = out
    least = _BELOW * nth_added(mine, len(columns), most)
    size = promising(mine, least, kept) if least > 0.0 else -1
    if size < 0:
        return -1
    all_scores, keys = np.empty(size), np.empty(size, np.int64)
    for c in range(size):
        soon = tiled.order[kept[min(c + _AHEAD, size - 1)]]
        fetch(tiled.H[soon], 0, tiled.H.shape[1])
        all_scores[c] = exact(mine, tiled, kept[c])
    for c in range(size):
        keys[c] = key_of(np.float32(all_scores[c] / mine.unit), c)
    sort_best(keys, size, len(columns))
    found = 0
    for place in range(size):  # nearly in order
        c = column_of(keys[place])
        found = insert(columns, scores, found, tiled.order[kept[c]], all_scores[c])
    return found


@step
def promising(mine: Row, least: float, out: Integers) -> int:
    """The places whose scores can be this large, ascending; how many, or -1 if `out` is too short for them."""
    size = 0
    for t in range(len(mine.tops)):
        needed = least - mine.unit * mine.reach[t]
        if mine.tops[t] >= needed:
            if size + WIDTH > len(out):
                return -1
            for place in range(t * WIDTH, (t + 1) * WIDTH):  # written in any case and kept if it is large enough
                out[size] = place
                size += int(mine.added[place] >= needed)
    return size


@step
def nth_added(mine: Row, n: int, most: float) -> float:
    """What n or a few more of those added are larger than; 0 if they differ too much."""
    large = np.empty(len(mine.added) + 1)
    size, low, high = 0, most, most
    for _ in range(2):
        low /= _PARTS
        size = 0
        for t in range(len(mine.tops)):
            if mine.tops[t] > low:
                for place in range(t * WIDTH, (t + 1) * WIDTH):
                    large[size] = mine.added[place]
                    size += int(mine.added[place] > low)
        if size >= n:
            break
    if size < n:
        return 0.0
    for _ in range(_HALVINGS):
        middle, above = 0.5 * (low + high), 0
        for c in range(size):
            above += int(large[c] > middle)
        if above >= n:
            low = middle
        else:
            high = middle
    return low
