"""Rows one after another, each with the best n of its columns."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.aligned import aligned_zeros
from dcpf.kernels.best import PADDING
from dcpf.kernels.choosing import choose, rank_exactly
from dcpf.kernels.compile import kernel, step
from dcpf.kernels.excitation import Exciting, Targets, excite
from dcpf.kernels.promising import rank_promising
from dcpf.kernels.tiles import WIDTH, Reaches, Row, Scored, Tiled, bound_tiles, clear, find_tops, more_than
from dcpf.kernels.touched import tiles_of

Floats = NDArray[np.floating]
Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

_SPARE = 8  # kept beyond n, so that rounding hardly ever asks for a second look
_MANY = 6  # times as many and a tile are not scored one by one


class Excluded(NamedTuple):
    """Columns that are not to be ranked, row by row."""

    indptr: Integers
    indices: NDArray[np.int32]


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
    n_tiles, stay = len(tiled.peaks), columns.shape[1] + _SPARE  # the last are empty
    w, added = np.zeros((1, tiled.peaks.shape[1]), np.float32), aligned_zeros(n_tiles * WIDTH)
    reaches = Reaches(np.empty(n_tiles + PADDING, np.int64), np.empty(n_tiles + PADDING, np.float32))
    tops, bounds = np.zeros(n_tiles, np.float32), np.empty(len(tiled.tiles), np.int64)
    kept, large = np.empty(2 * stay + WIDTH, np.int64), np.empty(len(added) + PADDING, np.float32)
    many = min(_MANY * (stay + WIDTH), len(added))
    touched, listed = np.zeros(targets.touched.shape[1], np.int64), np.arange(len(tiled.tiles))
    rounded = np.empty(many + PADDING, np.float32)
    scored = Scored(np.empty(many, np.int64), np.empty(many, np.int64), np.empty(many), rounded)
    for place in range(len(tiled.tiles) * WIDTH, len(added)):
        added[place] = -np.inf
    for row in range(start, stop):
        terms = np.float32(W.shape[1] + given.indptr[row + 1] - given.indptr[row] + 4)
        error = (np.float32(2.4e-7) * terms, np.float32(5e-38) * terms)
        excite(given, row, targets, added, touched)
        excited = listed[: tiles_of(touched, listed)] if len(touched) > 0 else listed
        hide(excluded, row, tiled.places, added, -np.inf)
        most = find_tops(added, excited, tops)
        mine = Row(W, row, unit_of(W, row, tiled.scale, most), w, error, added, tops)
        for k in range(W.shape[1]):
            w[0, k] = np.float32(np.float64(W[row, k]) * tiled.scale / mine.unit)
        lists = (columns[row], scores[row])
        found = rank_promising(mine, tiled, most, reaches, scored, large, lists) if most > 0.0 else -1
        if found < 0:
            bound_tiles(mine, tiled.peaks, reaches, bounds)
            size, least = choose(mine, tiled.tiles, bounds, kept)
            dropped = mine.unit * more_than(np.float64(least), error)
            found = rank_exactly(mine, tiled, kept[:size], dropped, scored, lists)
        sizes[row] = found
        hide(excluded, row, tiled.places, added, 0.0)
        clear(added, excited, tops)


@step
def hide(excluded: Excluded, row: int, places: NDArray[np.int32], added: Singles, value: float) -> None:
    """Put this where a row excludes a column, and where the last tile has none."""
    for e in range(excluded.indptr[row], excluded.indptr[row + 1]):
        added[places[excluded.indices[e]]] = value
    for place in range(len(places), -(-len(places) // WIDTH) * WIDTH):
        added[place] = value


@step
def unit_of(W: Floats, row: int, scale: float, most: float) -> float:
    """What the scores of a row are divided by, so that they and their parts are in the range of float32."""
    unit = most
    for k in range(W.shape[1]):
        unit = max(unit, np.float64(W[row, k]) * scale)
    return unit if unit > 0.0 else 1.0
