"""The best n of a row whose scores come mostly from excitation: hardly more than n columns need to be scored.

As no w . h is negative, the n-th best score is not smaller than the n-th largest of what excitation adds. With the
bounds on w . h of their tiles, few columns can reach that. These are scored exactly. No tile is, and none is sorted.
"""

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.best import nth_largest
from dcpf.kernels.jit import step
from dcpf.kernels.large import first_bit, reaching
from dcpf.kernels.tiles import WIDTH, Row, Scored, Tiled, rank_places

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

_PARTS = 8.0  # the n-th largest is sought above the largest divided by this, or by its square
_BELOW = 1.0 - 1e-6  # so that no rounding in float32 matters


@step
def rank_promising(
    mine: Row, tiled: Tiled, most: float, scored: Scored, large: Singles, out: tuple[Integers, Doubles]
) -> int:
    """Rank the columns that can be among the best: out = (columns, scores). How many there are.

    `most` is the largest that is added, `large` scratch with PADDING more places than there are. It is -1, and
    nothing is ranked, if these are more than `scored` has room for.
    """
    least = nth_added(mine, len(out[0]), most, large)
    size = promising(mine, least, scored.places) if least > 0.0 else -1
    return rank_places(mine, tiled, scored, size, out) if size >= 0 else -1


@step
def promising(mine: Row, least: float, out: Integers) -> int:
    """The places whose scores can be this large, ascending; how many, or -1 if `out` is too short for them."""
    size = 0
    for t in range(len(mine.tops)):
        needed = least - mine.unit * mine.reach[t]
        if mine.tops[t] >= needed:
            if size + WIDTH > len(out):
                return -1
            bits = reaching(mine.added, t, needed)
            while bits != 0:
                out[size] = t * WIDTH + first_bit(bits)
                size += 1
                bits &= bits - 1
    return size


@step
def nth_added(mine: Row, n: int, most: float, large: Singles) -> float:
    """What n or a few more of those added are not smaller than; 0 if they differ too much. `large` is scratch."""
    size, part = 0, 1.0
    for _ in range(2):
        part /= _PARTS
        size = 0
        for t in range(len(mine.tops)):
            if mine.tops[t] > part * most:
                bits = reaching(mine.added, t, part * most)  # with those that are equal, for which _BELOW makes up
                while bits != 0:
                    large[size] = np.float32(mine.added[t * WIDTH + first_bit(bits)] / most)
                    size += 1
                    bits &= bits - 1
        if size >= n:
            break
    return most * _BELOW * np.float64(nth_largest(large, size, n, part)) if size >= n else 0.0
