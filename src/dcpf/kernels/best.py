"""The best n of many scores: chosen row by row while rounded scores come in tiles, then ranked by exact ones.

A score that is not negative and its column make one integer, its key: the bits of a float32 rise with its value, so
that keys are ordered by score, and among equal scores the smaller column comes first.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.jit import kernel
from dcpf.kernels.lookup import exact_score

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

RUN = 16  # scores that are compared at once with the best that was dropped
_SPARE = 8  # kept beyond n, so that rounding hardly ever asks for a second look
_FEW = 48  # are sorted by insertion
_COLUMN = 2**31 - 1  # the bits of a key that hold its column


class Kept(NamedTuple):
    """The best so far of each row, in no order, and some that may still be dropped.

    The first sizes[row] keys are in use. When there is no more room, only the best stay. What was dropped is not
    larger than least[row], which is negative as long as nothing was.
    """

    keys: Integers
    sizes: Integers
    least: NDArray[np.float32]


class Excluded(NamedTuple):
    """Columns that are not to be kept, row by row."""

    indptr: Integers
    indices: NDArray[np.int32]


def nothing_kept(rows: int, n: int) -> Kept:
    """Room for the best n of each row, and for as many to choose from."""
    keys = np.empty((rows, 2 * (n + _SPARE) + RUN), dtype=np.int64)
    return Kept(keys, np.zeros(rows, dtype=np.int64), np.full(rows, -0.5, dtype=np.float32))


@kernel
def keep_best(tile: NDArray[np.float32], rows: Integers, first: int, excluded: Excluded, kept: Kept) -> None:
    """Offer a tile of scores of these rows, whose first column is `first`, to what is kept.

    Equivalent to keeping the largest of each row of all tiles so far, without the excluded columns. Scores must not
    be negative. The tile's width is a multiple of RUN, its excluded scores are overwritten.
    """
    width, room = tile.shape[1], kept.keys.shape[1]
    stay = (room - RUN) // 2
    groups = RUN
    while groups < 2 * stay:
        groups *= 2
    maxima, scratch = np.empty(groups, np.float32), np.empty(groups, np.int64)
    for r in range(len(rows)):
        row = rows[r]
        keys, size, least = kept.keys[row], kept.sizes[row], kept.least[row]
        for j in range(excluded.indptr[row], excluded.indptr[row + 1]):
            if first <= excluded.indices[j] < first + width:
                tile[r, excluded.indices[j] - first] = -1.0
        if first == 0 and width % groups == 0 and width > groups:
            least = floor_of_best(tile[r], stay, maxima, scratch)
        runs = tile[r].reshape(width // RUN, RUN)
        bits = runs.view(np.int32)
        for run in range(len(runs)):
            if any_above(runs, run, least):
                for j in range(RUN):  # written in any case and kept if larger: nothing for the processor to guess
                    keys[size] = (np.int64(bits[run, j]) << 31) | (_COLUMN - (first + run * RUN + j))
                    size += np.int64(runs[run, j] > least)
                if size > room - RUN:
                    partition(keys, 0, size, stay)
                    size, least = stay, score_of(keys[stay - 1])
        kept.sizes[row], kept.least[row] = size, least


@kernel
def floor_of_best(offered: NDArray[np.float32], n: int, maxima: NDArray[np.float32], scratch: Integers) -> np.float32:
    """A number that at least n scores are larger than: a little less than the n-th largest of `maxima`.

    These are the largest scores of as many groups as there is room for; there must be more than n.
    """
    groups = offered.reshape(len(offered) // len(maxima), len(maxima))
    maxima[:] = -1.0
    for group in range(len(groups)):
        for j in range(len(maxima)):
            maxima[j] = max(maxima[j], groups[group, j])
    scratch[:] = maxima.view(np.int32)
    scratch <<= 31
    partition(scratch, 0, len(scratch), n)
    largest = score_of(scratch[n - 1])
    return largest * np.float32(1.0 - 1e-6) if largest > 0.0 else np.float32(-0.5)


@kernel
def any_above(runs: NDArray[np.float32], run: int, least: np.float32) -> bool:
    """Whether a score of a run is larger than this. All are compared, so that they are compared side by side."""
    found = np.int32(0)
    for j in range(runs.shape[1]):  # of a length that is not known beforehand, or it is not vectorised
        found |= np.int32(runs[run, j] > least)
    return bool(found > 0)


@kernel
def score_of(key: int) -> np.float32:
    """The score that a key holds."""
    return np.int32(key >> 31).view(np.float32)


@kernel
def column_of(key: int) -> int:
    """The column that a key holds."""
    return _COLUMN - (key & _COLUMN)


@kernel
def partition(keys: Integers, start: int, stop: int, n: int) -> None:
    """Bring the n largest keys of start .. stop to its front, the smallest of these last (Hoare's selection)."""
    low, high, wanted = start, stop - 1, start + n - 1
    while low < high:
        middle = (low + high) // 2  # the median of three goes to `low`
        if keys[middle] > keys[low]:
            keys[middle], keys[low] = keys[low], keys[middle]
        if keys[high] > keys[middle]:
            keys[high], keys[middle] = keys[middle], keys[high]
            if keys[middle] > keys[low]:
                keys[middle], keys[low] = keys[low], keys[middle]
        pivot = keys[middle]
        keys[middle] = keys[low]
        i, j = low + 1, high
        while True:
            while i <= j and keys[i] > pivot:
                i += 1
            while keys[j] < pivot:  # stops at the latest at low, which holds one at least as large
                j -= 1
            if i >= j:
                break
            keys[i], keys[j] = keys[j], keys[i]
            i += 1
            j -= 1
        keys[low] = keys[j]
        keys[j] = pivot
        if j == wanted:
            return
        if j < wanted:
            low = j + 1
        else:
            high = j - 1


@kernel
def sort(keys: Integers, size: int) -> None:
    """Sort the first `size`, the largest first: halves, quarters and so on are parted, and the rest is insertion."""
    length = _FEW
    while length < size:
        length *= 2
    while length > _FEW:
        half = length // 2
        for start in range(0, size - half, length):
            partition(keys, start, min(start + length, size), half)
        length = half
    for last in range(1, size):
        place, key = last, keys[last]
        while place > 0 and keys[place - 1] < key:
            keys[place] = keys[place - 1]
            place -= 1
        keys[place] = key


@kernel
def rank_exactly(
    factors: tuple[Floats, Floats],
    excited: Doubles,
    order: Integers,
    error: tuple[float, float, float],
    excluded: Excluded,
    kept: Kept,
    out: tuple[Integers, Doubles, Integers],
) -> None:
    """Rank what was kept by rounded scores by their exact ones: out = (columns, scores, sizes), best first.

    `excited` has what is added to w . h in each row and column, or no columns at all.
    Kept column j is column order[j] of the factors and of `excluded`, which ascends by row. error = (scale, a, b): a
    score is scale times the rounded one, off by at most a of itself and b of the scale. If one that was dropped could
    belong to the best n, the row is ranked from all its exact scores.
    """
    W, H = factors
    adds = excited.shape[1] > 0
    scale, relative, absolute = error
    columns, scores, sizes = out
    stay = (kept.keys.shape[1] - RUN) // 2
    for row in range(len(W)):
        keys, size = kept.keys[row], kept.sizes[row]
        dropped = np.float64(kept.least[row])
        if size > stay:
            partition(keys, 0, size, stay)
            size, dropped = stay, np.float64(score_of(keys[stay - 1]))
        sort(keys, size)
        found = 0
        for j in range(size):
            column = order[column_of(keys[j])]
            score = exact_score(W, row, H, column) + (excited[row, column] if adds else 0.0)
            found = insert(columns[row], scores[row], found, column, score)
        if dropped >= 0.0 and scale * (dropped * (1.0 + relative) + absolute) >= scores[row, found - 1]:
            found = 0
            j = excluded.indptr[row]
            for column in range(len(H)):
                if j < excluded.indptr[row + 1] and excluded.indices[j] == column:
                    j += 1
                else:
                    score = exact_score(W, row, H, column) + (excited[row, column] if adds else 0.0)
                    found = insert(columns[row], scores[row], found, column, score)
        sizes[row] = found


@kernel
def insert(columns: Integers, scores: Doubles, size: int, column: int, score: float) -> int:
    """Put one where it belongs in a ranked list, by score and then by column; how long the list is then."""
    place = size
    while place > 0 and (scores[place - 1] < score or (scores[place - 1] == score and columns[place - 1] > column)):
        if place < len(scores):
            scores[place], columns[place] = scores[place - 1], columns[place - 1]
        place -= 1
    if place < len(scores):
        scores[place], columns[place] = score, column
    return min(size + 1, len(scores))
