"""The best n of many scores: kept row by row while the scores come in tiles, then ranked exactly."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.jit import kernel, summing_kernel

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]
Columns = NDArray[np.int64]

RUN = 32  # scores that are compared at once with the best that was dropped


class Kept(NamedTuple):
    """The best so far of each row, in no order, and some that may still be dropped.

    The first sizes[row] places are in use. When most are, only the best stay, as many as fit twice. What was dropped
    is not larger than least[row], which is negative as long as nothing was.
    """

    scores: Doubles
    columns: Columns
    sizes: NDArray[np.int64]
    least: Doubles


def nothing_kept(rows: int, n: int) -> Kept:
    """Room for the best n and some spare ones, so that rounding hardly ever asks for a second look."""
    room = 2 * (n + 8) + 2 * RUN
    columns = np.empty((rows, room), dtype=np.int64)
    return Kept(np.empty((rows, room)), columns, np.zeros(rows, dtype=np.int64), np.full(rows, -0.5))


class Excluded(NamedTuple):
    """Columns that are not to be kept, ascending by row; `cursor` is how far each row has come."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    cursor: NDArray[np.int64]


@kernel
def keep_best(tile: Floats, first: int, excluded: Excluded, kept: Kept) -> None:
    """Offer a tile of scores, whose first column is `first`, to what is kept. Scores must not be negative.

    Equivalent to keeping the largest of each row of all tiles so far, without the excluded columns. Its
    width is a multiple of RUN, its excluded scores are overwritten.
    """
    width, room, half = tile.shape[1], kept.scores.shape[1], kept.scores.shape[1] // 2
    for row in range(tile.shape[0]):
        offered, scores, columns, size = tile[row], kept.scores[row], kept.columns[row], kept.sizes[row]
        runs = offered.reshape(width // RUN, RUN)
        least = tile.dtype.type(kept.least[row])
        j = excluded.cursor[row]
        while j < excluded.indptr[row + 1] and excluded.indices[j] < first + width:
            offered[excluded.indices[j] - first] = -1.0
            j += 1
        excluded.cursor[row] = j
        for run in range(len(runs)):
            if any_above(runs, run, least):
                for j in range(RUN):  # written in any case and kept if larger: nothing for the processor to guess
                    scores[size], columns[size] = runs[run, j], first + run * RUN + j
                    size += np.int64(runs[run, j] > least)
                if size > room - RUN:
                    partition(scores, columns, size, half)
                    size, least = half, tile.dtype.type(scores[half - 1])
        kept.sizes[row], kept.least[row] = size, least


@kernel
def any_above(runs: Floats, run: int, least: np.floating) -> bool:
    """Whether a score of a run is larger than this. All are compared, so that they are compared side by side."""
    found = np.int32(0)
    for j in range(runs.shape[1]):  # of a length that is not known beforehand, or it is not vectorised
        found |= np.int32(runs[run, j] > least)
    return bool(found > 0)


@kernel
def rank_exactly(
    factors: tuple[Floats, Floats], first: int, n: int, error: float, excluded: Excluded, kept: Kept
) -> None:
    """Turn what was kept by rounded scores into the exact ranking, best first, for rows `first` and on.

    A rounded score is off by at most `error` of itself. If one that was dropped could belong to the best n, the row
    is ranked again from all its exact scores.
    """
    W, H = factors
    half = kept.scores.shape[1] // 2
    for row in range(len(kept.sizes)):
        w, scores, columns, size = W[first + row], kept.scores[row], kept.columns[row], kept.sizes[row]
        dropped = kept.least[row]
        if size > half:
            partition(scores, columns, size, half)
            size, dropped = half, scores[half - 1]
        for j in range(size):
            scores[j] = exact_score(w, H[columns[j]])
        sort(scores, columns, size)
        if size > n and dropped * (1.0 + error) >= scores[n - 1]:
            size, least = 0, -1.0
            j = excluded.indptr[row]
            for column in range(len(H)):
                if j < excluded.indptr[row + 1] and excluded.indices[j] == column:
                    j += 1
                    continue
                score = exact_score(w, H[column])
                if score > least:  # an equal one is ranked behind those before it
                    scores[size], columns[size] = score, column
                    size += 1
                    if size == len(scores):
                        partition(scores, columns, size, half)
                        size, least = half, scores[half - 1]
            sort(scores, columns, size)
        kept.sizes[row] = min(n, size)


@summing_kernel
def exact_score(w: Floats, h: Floats) -> float:
    """sum_k w_k h_k, the products and the sum in float64."""
    total = 0.0
    for k in range(len(w)):
        total += np.float64(w[k]) * np.float64(h[k])
    return total


@kernel
def worse(scores: Doubles, columns: Columns, i: int, j: int) -> bool:
    """Whether the one at i is ranked behind the one at j: by its score, and among equal ones by its column."""
    return bool(scores[i] < scores[j] or (scores[i] == scores[j] and columns[i] > columns[j]))


@kernel
def swap(scores: Doubles, columns: Columns, i: int, j: int) -> None:
    """Change places."""
    scores[i], scores[j] = scores[j], scores[i]
    columns[i], columns[j] = columns[j], columns[i]


@kernel
def partition(scores: Doubles, columns: Columns, size: int, n: int) -> None:
    """Bring the best n of the first `size` to the front, the worst of these at n - 1 (Hoare's selection)."""
    low, high, wanted = 0, size - 1, n - 1
    while low < high:
        middle = (low + high) // 2  # the median of three goes to `low`, and is what the others are compared with
        if worse(scores, columns, low, middle):
            swap(scores, columns, low, middle)
        if worse(scores, columns, middle, high):
            swap(scores, columns, middle, high)
            if worse(scores, columns, low, middle):
                swap(scores, columns, low, middle)
        swap(scores, columns, low, middle)
        i, j = low + 1, high
        while True:
            while i <= j and worse(scores, columns, low, i):
                i += 1
            while worse(scores, columns, j, low):
                j -= 1
            if i >= j:
                break
            swap(scores, columns, i, j)
            i += 1
            j -= 1
        swap(scores, columns, low, j)
        if j == wanted:
            return
        if j < wanted:
            low = j + 1
        else:
            high = j - 1


@kernel
def sort(scores: Doubles, columns: Columns, size: int) -> None:
    """Sort the first `size`, best first (heap sort, which needs no room and has no bad case)."""
    for top in range(size // 2 - 1, -1, -1):
        sift_down(scores, columns, top, size)
    for last in range(size - 1, 0, -1):
        swap(scores, columns, 0, last)
        sift_down(scores, columns, 0, last)


@kernel
def sift_down(scores: Doubles, columns: Columns, place: int, size: int) -> None:
    """Put the one at this place where it belongs below it, in a heap that has its worst first."""
    while True:
        child = 2 * place + 1
        if child >= size:
            return
        if child + 1 < size and worse(scores, columns, child + 1, child):
            child += 1
        if not worse(scores, columns, child, place):
            return
        swap(scores, columns, place, child)
        place = child
