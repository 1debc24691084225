"""The best n of a row whose scores come mostly from excitation: hardly more than n columns need to be scored.

As no w . h is negative, the n-th best score is not smaller than the n-th largest of what excitation adds. With the
bounds on w . h of their tiles, few columns can reach that. These are scored exactly. No tile is, and none is sorted.
"""

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.best import nth_largest
from dcpf.kernels.compile import step
from dcpf.kernels.large import first_bit, reaching
from dcpf.kernels.tiles import WIDTH, Reaches, Row, Scored, Tiled, rank_places, reach_of, reach_of_all

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

_PART = 1.0 / 8.0  # of the largest, above which the n-th is sought first
_BELOW = 1.0 - 1e-6  # so that no rounding in float32 matters


@step
def rank_promising(
    mine: Row,
    tiled: Tiled,
    most: float,
    reaches: Reaches,
    scored: Scored,
    large: Singles,
    out: tuple[Integers, Doubles],
) -> int:
    """Rank the columns that can be among the best: out = (columns, scores). How many there are.

    `most` is the largest that is added, `large` scratch with PADDING more places than there are. It is -1, and
    nothing is ranked, if these are more than `scored` has room for.
    """
    least = nth_added(mine, len(out[0]), most, reaches, large)
    size = promising(mine, tiled, least, reaches, scored.places) if least > 0.0 else -1
    return rank_places(mine, tiled, scored, size, out) if size >= 0 else -1


@step
def promising(mine: Row, tiled: Tiled, least: float, reaches: Reaches, out: Integers) -> int:
    """The places whose scores can be this large, ascending; how many, or -1 if `out` is too short for them.

    No level is below 0: one of minus infinity would be reached by places that are hidden.
    """
    tiles, bounds = reaches
    reach_of_all(mine, tiled.group_peaks, len(tiled.group_peaks), reaches)
    n_tiles, size = 0, 0
    for group in range(len(tiled.group_peaks)):
        level = np.float32(max(0.0, least - mine.unit * np.float64(bounds[group])))
        n_tiles = put_down(reaching(mine.tops, group, level), group, tiles, n_tiles)
    reach_of(mine, tiled.peaks, n_tiles, reaches)
    for c in range(n_tiles):
        if size + WIDTH > len(out):
            return -1
        level = np.float32(max(0.0, least - mine.unit * np.float64(bounds[c])))
        size = put_down(reaching(mine.added, tiles[c], level), tiles[c], out, size)
    return size


@step
def put_down(bits: int, group: int, out: Integers, size: int) -> int:
    """Write down which of a group these bits stand for, after what is there already; how many there are then."""
    while bits != 0:
        out[size] = group * WIDTH + first_bit(bits)
        size += 1
        bits &= bits - 1
    return size


@step
def nth_added(mine: Row, n: int, most: float, reaches: Reaches, large: Singles) -> float:
    """What n or a few more of those added are not smaller than; 0 if they differ too much.

    It is not smaller than the n-th largest top of a tile, and mostly much larger. `reaches` and `large` are scratch.
    """
    tiles, tops = reaches
    unit = 1.0 / most  # to divide each takes longer
    for t in range(len(mine.tops)):
        tops[t] = np.float32(mine.tops[t] * unit)
    low = np.float64(nth_largest(tops, len(mine.tops), n, 0.0))
    for part in (max(low, _PART), low if low > 0.0 else _PART * _PART):
        n_tiles, size, level = 0, 0, np.float32(part * most)
        for group in range(len(mine.tops) // WIDTH):
            n_tiles = put_down(reaching(mine.tops, group, level), group, tiles, n_tiles)
        for c in range(n_tiles):
            bits = reaching(mine.added, tiles[c], level)  # with those that are equal: _BELOW makes up for it
            while bits != 0:
                large[size] = np.float32(mine.added[tiles[c] * WIDTH + first_bit(bits)] * unit)
                size += 1
                bits &= bits - 1
        if size >= n:
            return most * _BELOW * np.float64(nth_largest(large, size, n, part))
    return 0.0
