"""Columns of factors in tiles, of which most need not be looked at.

A score is w . h + e, where e is what a row's items add by excitation, and nothing is negative. A tile holds columns
that are alike. No score in it is larger than w . m plus the largest e in it, where m, its peak, has the largest of
each component. A group of WIDTH tiles has a peak in common as well.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.best import PADDING, key_of, rank
from dcpf.kernels.compile import kernel, step
from dcpf.kernels.large import GROUP, clear_group, top_of
from dcpf.kernels.lines import LINE
from dcpf.kernels.vectors import TOGETHER, dots, exact_dot, fetch

Floats = NDArray[np.floating]
Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

WIDTH = GROUP * LINE // 4  # columns of a tile: 32, a group of lines of float32
STEP = 4  # components that are added at once; there is room in tiles for a multiple of it
LANES = LINE // 4  # float32 of a line
_AHEAD = 6  # places whose factors are fetched meanwhile


class Tiled(NamedTuple):
    """Columns of factors H in an order in which those that are alike are neighbours, WIDTH to a tile.

    The last tile is filled up with zeros. Peaks are rows that fill whole lines: zeros beyond the components.
    """

    H: Floats  # as they were
    order: Integers  # place p has column order[p] of H
    places: NDArray[np.int32]  # column j is at places[j]
    tiles: Singles  # tiles x K x WIDTH, divided by `scale`
    peaks: Singles  # of tiles, and as many zeros as make whole groups of them
    group_peaks: Singles  # of WIDTH tiles each
    scale: float


class Row(NamedTuple):
    """The row that is being ranked, and the unit that its scores are divided by where they are rounded."""

    W: Floats
    number: int
    unit: float
    w: Singles  # divided by the unit, one row as long as a peak
    error: tuple[np.float32, np.float32]  # of what is rounded: relative to itself, and beside that
    added: Singles  # by place, to w . h: minus infinity where a column is not to be ranked, and where there is none
    tops: Singles  # the largest of that in each tile, or 0


class Scored(NamedTuple):
    """Room for places that are scored exactly, one by one."""

    places: Integers
    columns: Integers
    scores: Doubles
    rounded: Singles


class Reaches(NamedTuple):
    """Room for tiles, or groups of them, and for what no w . h in each exceeds, divided by the unit."""

    tiles: Integers
    bounds: Singles


@kernel
def fill_tiles(start: int, stop: int, H: Floats, order: Integers, scale: float, tiles: Singles) -> None:
    """Put the columns order[p] of H into tiles that are zeros."""
    for t in range(start, stop):
        for j in range(min(WIDTH, len(order) - t * WIDTH)):
            column = order[t * WIDTH + j]
            for k in range(H.shape[1]):
                tiles[t, k, j] = np.float32(np.float64(H[column, k]) / scale)


@kernel
def peaks_of_tiles(start: int, stop: int, tiles: Singles, peaks: Singles) -> None:
    """peaks[t, k] = the largest of component k in tile t."""
    for t in range(start, stop):
        for k in range(tiles.shape[1]):
            most = np.float32(0.0)
            for j in range(WIDTH):
                most = max(most, tiles[t, k, j])
            peaks[t, k] = most


@step
def bound_tiles(mine: Row, peaks: Singles, reaches: Reaches, bounds: Integers) -> None:
    """bounds[t] = the key of what no rounded score in tile t exceeds, nor an exact one divided by the unit."""
    reach_of_all(mine, peaks, len(bounds), reaches)
    for t in range(len(bounds)):
        top = np.float32(mine.tops[t] / mine.unit)
        bounds[t] = key_of(more_than(reaches.bounds[t] + top, mine.error), t)


@step
def reach_of_all(mine: Row, peaks: Singles, size: int, out: Reaches) -> None:
    """Write down the first `size` peaks, and the reach of each."""
    for number in range(size):
        out.tiles[number] = number
    reach_of(mine, peaks, size, out)


@step
def reach_of(mine: Row, peaks: Singles, size: int, out: Reaches) -> None:
    """The bounds of the first `size` that are written down, whether w . h is exact or rounded.

    There must be room for PADDING more, to make up what is gone through side by side.
    """
    for spare in range(PADDING):
        out.tiles[size + spare] = 0
    for first in range(0, size, TOGETHER):
        dots(mine.w, 0, peaks, out.tiles, first, out.bounds)
    for c in range(size):
        out.bounds[c] = more_than(out.bounds[c], mine.error)


@step
def more_than(rounded: Any, error: tuple[np.float32, np.float32]) -> Any:
    """What an exact score does not exceed whose rounded one is this."""
    return rounded * (np.float32(1.0) + error[0]) + error[1] if rounded >= 0.0 else rounded


@step
def exact(mine: Row, tiled: Tiled, place: int) -> float:
    """The score of a place: w . h in float64, and what is added to it, which is a float32."""
    score: float = exact_dot(mine.W, mine.number, tiled.H, tiled.order[place]) + mine.added[place]
    return score


@step
def rank_places(mine: Row, tiled: Tiled, scored: Scored, size: int, out: tuple[Integers, Doubles]) -> int:
    """Rank the first of scored.places by their exact scores: out = (columns, scores). How many there are."""
    places, columns, scores, rounded = scored
    for c in range(size):
        columns[c] = tiled.order[places[c]]
    for c in range(size):
        fetch(tiled.H, tiled.H.shape[1] * columns[min(c + _AHEAD, size - 1)])
        scores[c] = exact_dot(mine.W, mine.number, tiled.H, columns[c]) + mine.added[places[c]]  # quicker than a step
    return rank(scores, columns, size, rounded, out)


@step
def score_tile(w: Singles, tile: Singles, out: Singles) -> None:
    """out[j] = sum_k w_k tile[k, j] over the rows of a tile, a multiple of STEP."""
    for j in range(WIDTH):
        out[j] = 0.0
    for four in range(len(tile) // STEP):
        k = STEP * four
        w0, w1, w2, w3 = w[k], w[k + 1], w[k + 2], w[k + 3]
        h0, h1, h2, h3 = tile[k], tile[k + 1], tile[k + 2], tile[k + 3]  # rows, or it is not vectorised
        for j in range(WIDTH):
            out[j] += w0 * h0[j] + w1 * h1[j] + w2 * h2[j] + w3 * h3[j]


@step
def find_tops(added: Singles, tiles: Integers, tops: Singles) -> float:
    """Put down the largest that is added in each of these tiles, or 0. Gives the largest of all."""
    most = 0.0
    for c in range(len(tiles)):
        top = top_of(added, tiles[c])
        tops[tiles[c]] = top
        most = max(most, top)
    return most


@step
def clear(added: Singles, tiles: Integers, tops: Singles) -> None:
    """Make both zeros again, in these tiles."""
    for c in range(len(tiles)):
        tops[tiles[c]] = 0.0
        clear_group(added, tiles[c])
