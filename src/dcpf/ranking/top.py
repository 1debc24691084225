"""The n best columns for each row by score, in blocks and threads, without a rows x columns array.

A score is w . h, and what the items that a row has add to it by excitation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.kernels.best import RUN, Excluded, Kept, keep_best, nothing_kept, rank_exactly
from dcpf.kernels.excitation import Exciting, Targets, excite_rows
from dcpf.kernels.threads import Threads, one_blas_thread

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]

_ROWS, _COLUMNS = 512, 512  # of a tile of scores, which stays in cache
_WIDE = 2**16  # columns of a tile where rows are few
_WORTH_SORTING = 64  # rows, from which on it pays to sort the columns
_SCORES, _LEAST_ROWS = 2**20, 8  # of a tile of whole rows, where there is excitation


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
    """What excitation adds to the scores: sum_j x_rj s_jc for row r and column c, over the items j that r has."""

    given: Exciting  # x of the rows
    targets: Targets  # s, with a source for each item and the columns to rank


def top_n(
    W: Floats, H: Floats, n: int, excluded: sparse.csr_array, threads: Threads, excited: Excited | None = None
) -> Ranked:
    """For each row of W the n rows of H with the largest scores, without the stored entries of `excluded`.

    Factors must not be negative. The scores are float64, equal ones are ranked by their number. The ranking is that
    of the exact scores: matrix products in float32 only choose whom to score exactly. So it is the same for one row
    and for many, and for any number of threads.
    """
    rows, columns = len(W), len(H)
    if excluded.shape != (rows, columns) or W.shape[1] != H.shape[1]:
        raise ValueError(f"shapes do not fit: W {W.shape}, H {H.shape}, excluded {excluded.shape}")
    n = min(n, columns)
    sizes = np.zeros(rows, dtype=np.int64)
    best_columns, best_scores = np.empty((rows, n), dtype=np.int64), np.empty((rows, n))
    left_out = Excluded(excluded.indptr.astype(np.int64), excluded.indices.astype(np.int32, copy=False))
    candidates = _Candidates(W, H, left_out) if excited is None else _ExcitedCandidates(W, H, left_out, excited)

    def rank_blocks(start: int, stop: int) -> None:
        for first in range(start * _ROWS, min(stop * _ROWS, rows), _ROWS):
            for block, best, added in candidates.of(slice(first, min(first + _ROWS, rows)), n):
                out = (best_columns[block], best_scores[block], sizes[block])
                mine = Excluded(left_out.indptr[block.start : block.stop + 1], left_out.indices)
                rank_exactly((W[block], H), added, candidates.order, candidates.error, mine, best, out)

    blocks = -(-rows // _ROWS)
    if blocks > 1 and columns:
        with one_blas_thread():  # to a product: the blocks are in several
            threads.run(rank_blocks, np.arange(blocks + 1))
    elif rows and columns:
        rank_blocks(0, 1)
    used = np.arange(n) < sizes[:, None]
    return Ranked(np.concatenate([[0], np.cumsum(sizes)]), best_columns[used], best_scores[used])


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


class _Candidates:
    """Chooses by rounded scores. Columns with large scores come first, so that most of the others need no look.

    No score in a tile is larger than w . m, where m has the largest of each component in the tile. If even that is
    not enough to be among the best so far, the tile is passed over.
    """

    def __init__(self, W: Floats, H: Floats, excluded: Excluded) -> None:
        self._W, self._H, scale = _rounded(W, H)
        float32 = np.finfo(np.float32)
        self.error = (scale, 2.0 * (W.shape[1] + 4) * float(float32.eps), 4.0 * W.shape[1] * float(float32.tiny))
        columns = _COLUMNS if len(W) >= _WORTH_SORTING else max(_COLUMNS, _WIDE // max(1, len(W)) // RUN * RUN)
        self._width = min(columns, max(RUN, -(-len(H) // RUN) * RUN))
        self._starts = range(0, len(H), self._width)
        self.order, self._excluded = np.arange(len(H)), excluded
        self._most: NDArray[np.float32] | None = None
        if len(W) >= _WORTH_SORTING:
            self._sort()

    def _sort(self) -> None:
        self.order = np.argsort(-(self._H @ self._W.sum(axis=0)), kind="stable")
        self._H = self._H[self.order]
        place = np.empty(len(self.order), dtype=np.int32)
        place[self.order] = np.arange(len(self.order), dtype=np.int32)
        self._excluded = Excluded(self._excluded.indptr, place[self._excluded.indices])
        self._most = np.array([self._H[start : start + self._width].max(axis=0) for start in self._starts])

    def of(self, block: slice, n: int) -> Iterator[tuple[slice, Kept, Doubles]]:
        """Some rows after another, the best n of each and some more, and what is added to w . h: nothing."""
        W = self._W[block]
        best = nothing_kept(len(W), n)
        mine = Excluded(self._excluded.indptr[block.start : block.stop + 1], self._excluded.indices)
        bounds = np.full((len(W), len(self._starts)), np.inf, dtype=np.float32)
        if self._most is not None:
            bounds = (W @ self._most.T) * np.float32(1.0 + self.error[1]) + np.float32(self.error[2])
        buffer = np.empty((len(W), self._width), dtype=np.float32)
        for start, bound in zip(self._starts, bounds.T, strict=True):
            rows = np.flatnonzero(bound > best.least)
            part = self._H[start : start + self._width]
            tile = buffer[: len(rows)]
            np.matmul(W if len(rows) == len(W) else W[rows], part.T, out=tile[:, : len(part)])
            tile[:, len(part) :] = -1.0
            keep_best(tile, rows, start, mine, best)
        yield block, best, np.empty((0, 0))


class _ExcitedCandidates:
    """The same where there is excitation, which spreads over all columns: all rounded scores are computed."""

    def __init__(self, W: Floats, H: Floats, excluded: Excluded, excited: Excited) -> None:
        # One scale for both parts of a score: what one side's factors are divided by, the other's are multiplied by
        self._W, self._H = W, H
        if W.dtype == np.float64:
            ratio = float(H.max(initial=0.0)) / (float(W.max(initial=0.0)) or 1.0)
            self._W = (W * np.sqrt(ratio or 1.0)).astype(np.float32)
            self._H = (H / np.sqrt(ratio or 1.0)).astype(np.float32)
        self._excluded, self._given = excluded, excited.given
        self._targets = excited.targets
        self.order = np.arange(len(H))
        terms = W.shape[1] + int(np.diff(excited.given.indptr).max(initial=0))
        float32 = np.finfo(np.float32)
        self.error = (1.0, 2.0 * (terms + 4) * float(float32.eps), 4.0 * terms * float(float32.tiny))

    def of(self, block: slice, n: int) -> Iterator[tuple[slice, Kept, Doubles]]:
        """Some rows after another, the best n of each and some more, and what is added to w . h."""
        columns = len(self._H)
        width = -(-columns // RUN) * RUN
        step = min(max(_LEAST_ROWS, _SCORES // width), block.stop - block.start)
        tiles, sums = np.empty((step, width), dtype=np.float32), np.empty((step, columns))
        for start in range(block.start, block.stop, step):
            rows = slice(start, min(start + step, block.stop))
            tile, added = tiles[: rows.stop - start], sums[: rows.stop - start]
            np.matmul(self._W[rows], self._H.T, out=tile[:, :columns])
            tile[:, columns:] = -1.0
            excite_rows(start, self._given, self._targets, added, tile)
            best = nothing_kept(len(tile), n)
            mine = Excluded(self._excluded.indptr[start : rows.stop + 1], self._excluded.indices)
            keep_best(tile, np.arange(len(tile)), 0, mine, best)
            yield rows, best, added


def _rounded(W: Floats, H: Floats) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """Both in float32, scaled so that no product leaves its range; and the product of the scales."""
    if W.dtype == H.dtype == np.float32:
        return W, H, 1.0
    scales = [float(X.max(initial=0.0)) or 1.0 for X in (W, H)]
    first, second = ((X / scale).astype(np.float32) for X, scale in zip((W, H), scales, strict=True))
    return first, second, scales[0] * scales[1]
