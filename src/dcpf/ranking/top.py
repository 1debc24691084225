"""The n best columns for each row by score, without a rows x columns array.

A score is w . h, and what the items that a row has add to it by excitation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf import memory
from dcpf.kernels.coded import coding_of
from dcpf.kernels.excitation import Exciting, Targets
from dcpf.kernels.rank import Excluded, rank_rows
from dcpf.kernels.threads import Threads
from dcpf.kernels.tiles import LANES, STEP, WIDTH, Tiled, fill_tiles, peaks_of_tiles
from dcpf.kernels.touched import no_bits

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]

_AT_A_TIME = 2**14  # rows of factors in float64


@dataclass(frozen=True)
class Ranked:
    """Ranked lists one after another: row r has columns and scores indptr[r] to indptr[r + 1], best first."""

    indptr: NDArray[np.int64]
    columns: NDArray[np.int64]
    scores: NDArray[np.float64]

    def renumbered(self, numbers: NDArray[np.int64]) -> "Ranked":
        """The same lists, in which column j is called numbers[j]."""
        return replace(self, columns=numbers[self.columns])


@dataclass(frozen=True)
class Excited:
    """What excitation adds to the scores: sum_j x_rj s_jp for row r and place p, over the items j that r has."""

    given: Exciting  # x of the rows
    targets: Targets  # s, with a source for each item, and the places of the columns to rank


def tiled(H: Floats, weights: Doubles, threads: Threads) -> Tiled:
    """Lay factors out for ranking, once for all lists. `weights` says how much the average row has of a component.

    Columns in which the same component weighs most are neighbours, the largest first. So the rows that have little of
    that component need not look at them.
    """
    H = np.ascontiguousarray(H)
    columns, scale = len(H), float(H.max(initial=0.0)) or 1.0
    check_finite(scale)
    main, sizes = np.empty(columns, np.int32), np.empty(columns)
    for start in range(0, columns, _AT_A_TIME):
        parts = H[start : start + _AT_A_TIME] * weights
        main[start : start + _AT_A_TIME], sizes[start : start + _AT_A_TIME] = parts.argmax(axis=1), parts.sum(axis=1)
    order = np.lexsort((-sizes, main))
    places = np.empty(columns, np.int32)
    places[order] = np.arange(columns, dtype=np.int32)
    n_tiles, room = -(-columns // WIDTH), -(-H.shape[1] // STEP) * STEP
    groups, whole = -(-n_tiles // WIDTH), -(-H.shape[1] // LANES) * LANES
    tiles, peaks = memory.zeros((n_tiles, room, WIDTH), np.float32), np.zeros((groups * WIDTH, whole), np.float32)
    threads.run(fill_tiles, n_tiles, H, order, scale, tiles)
    threads.run(peaks_of_tiles, n_tiles, tiles, peaks)
    return Tiled(H, order, places, tiles, peaks, peaks.reshape(groups, WIDTH, whole).max(axis=1), scale)


def top_n(
    W: Floats, items: Tiled, n: int, excluded: sparse.csr_array, threads: Threads, excited: Excited | None = None
) -> Ranked:
    """For each row of W the n columns with the largest scores, without the stored entries of `excluded`.

    Factors must not be negative. The scores are float64, equal ones are ranked by their number. The ranking is that
    of the exact scores, so it is the same for one row and for many, and for any number of threads.
    """
    rows, columns = len(W), len(items.H)
    if excluded.shape != (rows, columns) or W.shape[1] != items.H.shape[1]:
        raise ValueError(f"shapes do not fit: W {W.shape}, H {items.H.shape}, excluded {excluded.shape}")
    W, n = np.ascontiguousarray(W), min(n, columns)
    sizes = np.zeros(rows, dtype=np.int64)
    best_columns, best_scores = np.empty((rows, n), dtype=np.int64), np.empty((rows, n))
    left_out = Excluded(excluded.indptr.astype(np.int64), excluded.indices.astype(np.int32, copy=False))
    exciting = _nothing(rows) if excited is None else (excited.given, excited.targets)
    if rows and n:
        threads.run(rank_rows, rows, W, items, left_out, exciting, (best_columns, best_scores, sizes))
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    if indptr[-1] == rows * n:  # to pick those that are used would take a tenth of all the time
        return Ranked(indptr, best_columns.ravel(), best_scores.ravel())
    used = np.arange(n) < sizes[:, None]
    return Ranked(indptr, best_columns[used], best_scores[used])


def check_finite(*values: Floats | float) -> None:
    """Refuse what no fit gives and no ranking can be made of."""
    for value in values:
        if not np.isfinite(value).all():
            raise ValueError(
                "the model holds numbers that are not finite, so its file is damaged: `dcpf doctor MODEL` checks it; "
                "copy it again from where it is whole, or fit anew"
            )


def best_of(found: Sequence[tuple[NDArray[np.int64], Doubles]], n: int) -> Ranked:
    """The n best of each of some short lists of columns and scores above 0."""
    kept = []
    for columns, scores in found:
        order = np.lexsort((columns, -scores))[:n]
        order = order[scores[order] > 0.0]
        kept.append((columns[order], scores[order]))
    lengths = [len(columns) for columns, _ in kept]
    columns, scores = (np.concatenate([one[part] for one in kept] or [np.empty(0)]) for part in (0, 1))
    return Ranked(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), columns.astype(np.int64), scores)


def _nothing(rows: int) -> tuple[Exciting, Targets]:
    """No excitation."""
    none = np.empty(0, np.float32)
    given = Exciting(np.zeros(rows + 1, np.int64), np.empty(0, np.int32), none)
    nobody = np.empty(0, np.uint16)
    return given, Targets(np.zeros(1, np.int64), nobody, nobody, coding_of(none), no_bits(0, 1))
