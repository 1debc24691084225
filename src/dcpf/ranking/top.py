"""The n best columns for each row by score w . h, in blocks and threads, without a rows x columns array."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from dcpf.kernels.best import RUN, Excluded, keep_best, nothing_kept, rank_exactly
from dcpf.kernels.threads import Threads

Floats = NDArray[np.floating]

_ROWS, _COLUMNS = 256, 2048  # of a tile of scores, which stays in cache


@dataclass(frozen=True)
class Ranked:
    """Ranked lists one after another: row r has columns and scores indptr[r] to indptr[r + 1], best first."""

    indptr: NDArray[np.int64]
    columns: NDArray[np.int64]
    scores: NDArray[np.float64]

    def renumbered(self, numbers: NDArray[np.int64]) -> "Ranked":
        """The same lists, in which column j is called numbers[j]."""
        return replace(self, columns=numbers[self.columns])


def top_n(W: Floats, H: Floats, n: int, excluded: sparse.csr_array, threads: Threads) -> Ranked:
    """For each row of W the n rows of H with the largest w . h, without the stored entries of `excluded`.

    Factors must not be negative. The scores are float64, equal ones are ranked by their number. The ranking is that
    of the exact scores: matrix products in the precision of the factors only choose whom to score exactly. So it is
    the same for one row and for many, and for any number of threads.
    """
    rows, columns = len(W), len(H)
    n = min(n, columns)
    sizes = np.zeros(rows, dtype=np.int64)
    best_columns, best_scores = np.empty((rows, n), dtype=np.int64), np.empty((rows, n))
    indptr, indices = excluded.indptr.astype(np.int64), excluded.indices.astype(np.int32)
    error = 2.0 * (W.shape[1] + 2) * float(np.finfo(W.dtype).eps)

    def rank_blocks(start: int, stop: int) -> None:
        width = min(_COLUMNS, -(-columns // RUN) * RUN)
        tile = np.empty((min(_ROWS, rows), width), dtype=W.dtype)
        for first in range(start * _ROWS, min(stop * _ROWS, rows), _ROWS):
            block = slice(first, min(first + _ROWS, rows))
            left_out = Excluded(indptr[first : block.stop + 1], indices, indptr[block].copy())
            best = nothing_kept(block.stop - first, n)
            scores = tile[: block.stop - first]
            for column in range(0, columns, width):
                part = H[column : column + width]
                np.matmul(W[block], part.T, out=scores[:, : len(part)])
                scores[:, len(part) :] = -1.0
                keep_best(scores, column, left_out, best)
            rank_exactly((W, H), first, n, error, left_out, best)
            sizes[block], best_columns[block], best_scores[block] = (
                best.sizes,
                best.columns[:, :n],
                best.scores[:, :n],
            )

    blocks = -(-rows // _ROWS)
    if blocks > 1 and columns:
        with threadpool_limits(1, user_api="blas"):  # one thread to a product: the blocks are in several
            threads.run(rank_blocks, np.arange(blocks + 1))
    elif rows and columns:
        rank_blocks(0, 1)
    used = np.arange(n) < sizes[:, None]
    return Ranked(np.concatenate([[0], np.cumsum(sizes)]), best_columns[used], best_scores[used])
