"""The best n by score, from tiles of columns of which most need not be looked at.

A score is w . h + e, where e is what a row's items add by excitation, and nothing is negative. A tile holds columns
that are alike. No score in it is larger than w . m plus the largest e in it, where m has the largest of each
component. Tiles are looked at in the order of these bounds, until a bound is not larger than the n-th best so far.

Rounded scores only choose whom to score exactly. The ranking is that of the exact scores, in float64.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.best import column_of, insert, key_of, partition, score_of, sort
from dcpf.kernels.excitation import Exciting, Targets, excite
from dcpf.kernels.jit import kernel
from dcpf.kernels.lookup import exact_score

Floats = NDArray[np.floating]
Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

WIDTH = 32  # columns of a tile
STEP = 4  # components that are added at once; there is room in tiles for a multiple of it
_SPARE = 8  # kept beyond n, so that rounding hardly ever asks for a second look
_FIRST = 8  # tiles to begin with


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
    """The row that is being ranked. All but w are by place; places beyond the last column are hidden."""

    w: Singles  # divided by the unit of the row
    hidden: NDArray[np.bool_]
    excited: Doubles  # what is added to w . h
    tops: Doubles  # the largest of that in each tile


class Excluded(NamedTuple):
    """Columns that are not to be ranked, row by row."""

    indptr: Integers
    indices: NDArray[np.int32]


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


@kernel
def rank_rows(
    start: int,
    stop: int,
    W: Floats,
    tiled: Tiled,
    excluded: Excluded,
    exciting: tuple[Exciting, Targets],
    out: tuple[Integers, Doubles, Integers],
) -> None:
    """The best of rows start .. stop: out = (columns, scores, sizes), best first, as many as `columns` is wide.

    exciting = (x of the rows, strengths by source); without excitation its rows have nothing.
    """
    given, targets = exciting
    columns, scores, sizes = out
    n_tiles = len(tiled.tiles)
    mine = Row(
        np.zeros(tiled.tiles.shape[1], np.float32),
        np.zeros(n_tiles * WIDTH, np.bool_),
        np.zeros(n_tiles * WIDTH),
        np.zeros(n_tiles),
    )
    for place in range(len(tiled.order), n_tiles * WIDTH):
        mine.hidden[place] = True
    bounds, kept = np.empty(n_tiles, np.int64), np.empty(2 * (columns.shape[1] + _SPARE) + WIDTH, np.int64)
    for row in range(start, stop):
        begin, end = given.indptr[row], given.indptr[row + 1]
        most = 0.0
        if begin < end:
            excite(given, row, targets, tiled.places, mine.excited)
            most = tops_of(mine.excited, mine.tops)
        unit = unit_of(W, row, tiled.scale, most)
        for k in range(W.shape[1]):
            mine.w[k] = np.float32(np.float64(W[row, k]) * tiled.scale / unit)
        hide(excluded, row, tiled.places, mine.hidden, True)
        terms = np.float32(W.shape[1] + end - begin + 4)
        error = (np.float32(2.4e-7) * terms, np.float32(5e-38) * terms)
        bound_tiles(mine, tiled.largest, unit, error, bounds)
        size, least = choose(mine, tiled.tiles, unit, bounds, kept)
        dropped = unit * more_than(np.float64(least), error)
        sizes[row] = rank_exactly((W, row), tiled, mine, kept[:size], dropped, (columns[row], scores[row]))
        hide(excluded, row, tiled.places, mine.hidden, False)
        if begin < end:
            clear(mine.excited, mine.tops)


@kernel
def bound_tiles(
    mine: Row, largest: Singles, unit: float, error: tuple[np.float32, np.float32], bounds: Integers
) -> None:
    """bounds[t] = the key of what no rounded score in tile t exceeds, nor any exact one that is divided by `unit`."""
    rounded = np.empty(WIDTH, np.float32)
    for group in range(len(largest)):
        score_tile(mine.w, largest[group], rounded)
        first = group * WIDTH
        for t in range(first, min(first + WIDTH, len(bounds))):
            bounds[t] = key_of(more_than(rounded[t - first] + np.float32(mine.tops[t] / unit), error), t)


@kernel
def choose(mine: Row, tiles: Singles, unit: float, bounds: Integers, kept: Integers) -> tuple[int, np.float32]:
    """Keep the keys of the largest rounded scores, the largest first: how many, and what no other is larger than.

    The second is negative if nothing was dropped. Tiles are sorted a few at a time: most are never needed.
    """
    stay, n_tiles = (len(kept) - WIDTH) // 2, len(bounds)
    rounded = np.empty(WIDTH, np.float32)
    size, least = 0, np.float32(-1.0)
    sorted_, step = 0, _FIRST + stay // WIDTH
    while sorted_ < n_tiles and (sorted_ == 0 or score_of(bounds[sorted_ - 1]) > least):
        step = min(step, n_tiles - sorted_)
        partition(bounds, sorted_, n_tiles, step)
        sort(bounds[sorted_ : sorted_ + step], step)
        for next_ in range(sorted_, sorted_ + step):
            if score_of(bounds[next_]) <= least:
                break
            t = column_of(bounds[next_])
            first = t * WIDTH
            score_tile(mine.w, tiles[t], rounded)
            if mine.tops[t] > 0.0:
                for j in range(WIDTH):
                    rounded[j] += np.float32(mine.excited[first + j] / unit)
            for j in range(WIDTH):
                rounded[j] = np.float32(-1.0) if mine.hidden[first + j] else rounded[j]
            for j in range(WIDTH):  # written in any case and kept if larger: nothing for the processor to guess
                kept[size] = key_of(rounded[j], first + j)
                size += int(rounded[j] > least)
            if size > 2 * stay:
                partition(kept, 0, size, stay)
                size, least = stay, score_of(kept[stay - 1])
        sorted_ += step
        step *= 2
    if size > stay:
        partition(kept, 0, size, stay)
        size, least = stay, score_of(kept[stay - 1])
    sort(kept, size)
    return size, least


@kernel
def rank_exactly(
    of: tuple[Floats, int], tiled: Tiled, mine: Row, kept: Integers, dropped: float, out: tuple[Integers, Doubles]
) -> int:
    """Rank what was kept by exact scores: out = (columns, scores). How many there are.

    of = (W, row). No exact score of the others is larger than `dropped`. If one of them could belong to the best, all
    are ranked.
    """
    W, row = of
    columns, scores = out
    found = 0
    for key in kept:
        place = column_of(key)
        column = tiled.order[place]
        score = exact_score(W, row, tiled.H, column) + mine.excited[place]
        found = insert(columns, scores, found, column, score)
    if dropped >= 0.0 and dropped >= scores[found - 1]:
        found = 0
        for column in range(len(tiled.H)):
            place = tiled.places[column]
            if not mine.hidden[place]:
                score = exact_score(W, row, tiled.H, column) + mine.excited[place]
                found = insert(columns, scores, found, column, score)
    return found


@kernel
def more_than(rounded: Any, error: tuple[np.float32, np.float32]) -> Any:
    """What an exact score does not exceed whose rounded one is this; error = (of itself, beside that)."""
    return rounded * (np.float32(1.0) + error[0]) + error[1] if rounded >= 0.0 else rounded


@kernel
def hide(excluded: Excluded, row: int, places: NDArray[np.int32], hidden: NDArray[np.bool_], so: bool) -> None:
    """Hide what a row excludes, or no more."""
    for e in range(excluded.indptr[row], excluded.indptr[row + 1]):
        hidden[places[excluded.indices[e]]] = so


@kernel
def score_tile(w: Singles, tile: Singles, out: Singles) -> None:
    """out[j] = sum_k w_k tile[k, j]; the number of components is a multiple of STEP."""
    for j in range(WIDTH):
        out[j] = 0.0
    for step in range(len(w) // STEP):
        k = STEP * step
        w0, w1, w2, w3 = w[k], w[k + 1], w[k + 2], w[k + 3]
        h0, h1, h2, h3 = tile[k], tile[k + 1], tile[k + 2], tile[k + 3]  # rows, or it is not vectorised
        for j in range(WIDTH):
            out[j] += w0 * h0[j] + w1 * h1[j] + w2 * h2[j] + w3 * h3[j]


@kernel
def tops_of(excited: Doubles, tops: Doubles) -> float:
    """The largest of each tile, and of all."""
    half, quarter = WIDTH // 2, WIDTH // 4
    lanes = np.empty(quarter)
    most = 0.0
    for t in range(len(tops)):
        line = excited[t * WIDTH : (t + 1) * WIDTH]
        for j in range(quarter):  # side by side
            lanes[j] = max(max(line[j], line[j + quarter]), max(line[j + half], line[j + half + quarter]))
        top = lanes[0]
        for j in range(1, quarter):
            top = max(top, lanes[j])
        tops[t] = top
        most = max(most, top)
    return most


@kernel
def clear(excited: Doubles, tops: Doubles) -> None:
    """Make both zeros again."""
    for t in range(len(tops)):
        if tops[t] > 0.0:
            tops[t] = 0.0
            for j in range(t * WIDTH, (t + 1) * WIDTH):
                excited[j] = 0.0


@kernel
def unit_of(W: Floats, row: int, scale: float, most: float) -> float:
    """What the scores of a row are divided by, so that they and their parts are in the range of float32."""
    unit = most
    for k in range(W.shape[1]):
        unit = max(unit, np.float64(W[row, k]) * scale)
    return unit if unit > 0.0 else 1.0
