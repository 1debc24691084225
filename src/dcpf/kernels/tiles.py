"""Columns of factors in tiles, of which most need not be looked at.

A score is w . h + e, where e is what a row's items add by excitation, and nothing is negative. A tile holds columns
that are alike. No score in it is larger than w . m plus the largest e in it, where m has the largest of each
component.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.best import key_of, rank
from dcpf.kernels.jit import kernel, step
from dcpf.kernels.large import GROUP
from dcpf.kernels.lines import LINE
from dcpf.kernels.lookup import exact_score
from dcpf.kernels.vectors import fetch

Floats = NDArray[np.floating]
Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

WIDTH = GROUP * LINE // 8  # columns of a tile: 32, a group of lines of float64
STEP = 4  # components that are added at once; there is room in tiles for a multiple of it
_AHEAD = 6  # places whose factors are fetched meanwhile


class Tiled(NamedTuple):
    """Columns of factors H in an order in which those that are alike are neighbours, WIDTH to a tile.

    The last tile is filled up with zeros. The largest of each tile are in tiles of their own, made in the same way.
    """

    H: Floats  # as they were
    order: Integers  # place p has column order[p] of H
    places: NDArray[np.int32]  # column j is at places[j]
    tiles: Singles  # tiles x K x WIDTH, divided by `scale`
    largest: Singles
    scale: float


class Row(NamedTuple):
    """The row that is being ranked, and the unit that its scores are divided by where they are rounded."""

    W: Floats
    number: int
    unit: float
    w: Singles  # divided by the unit
    added: Doubles  # by place, to w . h: minus infinity where a column is not to be ranked, and where there is none
    tops: Doubles  # the largest of that in each tile, or 0
    reach: Doubles  # by tile: what no w . h exceeds, divided by the unit


class Scored(NamedTuple):
    """Room for places that are scored exactly, one by one."""

    places: Integers
    columns: Integers
    scores: Doubles
    rounded: Singles


@kernel
def fill_tiles(start: int, stop: int, H: Floats, order: Integers, scale: float, tiles: Singles) -> None:
    """Put the columns order[p] of H into tiles that are zeros."""
    for t in range(start, stop):
        for j in range(min(WIDTH, len(order) - t * WIDTH)):
            column = order[t * WIDTH + j]
            for k in range(H.shape[1]):
                tiles[t, k, j] = np.float32(np.float64(H[column, k]) / scale)


@kernel
def largest_of_tiles(start: int, stop: int, tiles: Singles, largest: Singles) -> None:
    """largest[t // WIDTH, k, t % WIDTH] = the largest of component k in tile t; `start`, `stop` are of `largest`."""
    for t in range(start * WIDTH, min(stop * WIDTH, len(tiles))):
        for k in range(tiles.shape[1]):
            most = np.float32(0.0)
            for j in range(WIDTH):
                most = max(most, tiles[t, k, j])
            largest[t // WIDTH, k, t % WIDTH] = most


@step
def reach_of_tiles(mine: Row, largest: Singles, error: tuple[np.float32, np.float32]) -> None:
    """Write mine.reach."""
    rounded = np.empty(WIDTH, np.float32)
    for group in range(len(largest)):
        score_tile(mine.w, largest[group], rounded)
        first = group * WIDTH
        for t in range(first, min(first + WIDTH, len(mine.reach))):
            mine.reach[t] = more_than(rounded[t - first], error)


@step
def bound_tiles(mine: Row, error: tuple[np.float32, np.float32], bounds: Integers) -> None:
    """bounds[t] = the key of what no rounded score in tile t exceeds, nor an exact one divided by the unit."""
    for t in range(len(bounds)):
        bounds[t] = key_of(more_than(np.float32(mine.reach[t]) + np.float32(mine.tops[t] / mine.unit), error), t)


@step
def more_than(rounded: Any, error: tuple[np.float32, np.float32]) -> Any:
    """What an exact score does not exceed whose rounded one is this; error = (of itself, beside that)."""
    return rounded * (np.float32(1.0) + error[0]) + error[1] if rounded >= 0.0 else rounded


@step
def exact(mine: Row, tiled: Tiled, place: int) -> float:
    """The score of a place in float64."""
    score: float = exact_score(mine.W, mine.number, tiled.H, tiled.order[place]) + mine.added[place]
    return score


@step
def rank_places(mine: Row, tiled: Tiled, scored: Scored, size: int, out: tuple[Integers, Doubles]) -> int:
    """Rank the first of scored.places by their exact scores: out = (columns, scores). How many there are."""
    places, columns, scores, rounded = scored
    for c in range(size):
        columns[c] = tiled.order[places[c]]
    for c in range(size):
        fetch(tiled.H[columns[min(c + _AHEAD, size - 1)]], 0, tiled.H.shape[1])
        scores[c] = exact(mine, tiled, places[c])
    return rank(scores, columns, size, rounded, out)


@step
def score_tile(w: Singles, tile: Singles, out: Singles) -> None:
    """out[j] = sum_k w_k tile[k, j]; the number of components is a multiple of STEP."""
    for j in range(WIDTH):
        out[j] = 0.0
    for four in range(len(w) // STEP):
        k = STEP * four
        w0, w1, w2, w3 = w[k], w[k + 1], w[k + 2], w[k + 3]
        h0, h1, h2, h3 = tile[k], tile[k + 1], tile[k + 2], tile[k + 3]  # rows, or it is not vectorised
        for j in range(WIDTH):
            out[j] += w0 * h0[j] + w1 * h1[j] + w2 * h2[j] + w3 * h3[j]


@step
def clear(added: Doubles, tops: Doubles) -> None:
    """Make both zeros again."""
    for t in range(len(tops)):
        if tops[t] > 0.0:
            tops[t] = 0.0
            for j in range(t * WIDTH, (t + 1) * WIDTH):
                added[j] = 0.0
