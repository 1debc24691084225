"""The best of many scores.

A score that is not negative and its column make one integer, its key: the bits of a float32 rise with its value, so
that keys are ordered by score, and among equal scores the smaller column comes first.
"""

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.jit import bits_of_single, step
from dcpf.kernels.large import larger
from dcpf.kernels.lines import LINE

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

_FEW = 256  # are compared with one another, which is quick: nothing for the processor to guess
PADDING = LINE // 4  # so that a line of float32 that is begun can be gone through as a whole
_HALVINGS = 9  # of where the n-th largest is sought
_NEGATIVE = -(0.5**20)  # is smaller than any score
_COLUMN = 2**31 - 1  # the bits of a key that hold its column


@step
def key_of(score: np.float32, column: int) -> np.int64:
    """The key of a score that is not negative."""
    return (np.int64(bits_of_single(score)) << 31) | (_COLUMN - column)


@step
def score_of(key: int) -> np.float32:
    """The score that a key holds."""
    return np.int32(key >> 31).view(np.float32)


@step
def column_of(key: int) -> int:
    """The column that a key holds."""
    return _COLUMN - (key & _COLUMN)


@step
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


@step
def sort(keys: Integers, size: int) -> None:
    """Sort the first `size`, the largest first: halves, quarters and so on are parted, until a part has few."""
    length = _FEW
    while length < size:
        length *= 2
    while length > _FEW:
        half = length // 2
        for start in range(0, size - half, length):
            partition(keys, start, min(start + length, size), half)
        length = half
    for start in range(0, size, length):
        sort_few(keys[start : min(start + length, size)])


@step
def sort_few(keys: Integers) -> None:
    """The place of a key is the number of those that are larger: no two are alike, since each holds its column."""
    unsorted = keys.copy()
    for i in range(len(unsorted)):
        key, place = unsorted[i], 0
        for j in range(len(unsorted)):
            place += int(unsorted[j] > key)
        keys[place] = key


@step
def sort_best(keys: Integers, size: int, n: int) -> None:
    """Bring the n largest of the first `size` to the front, the largest first."""
    if size > n + n // 2:
        partition(keys, 0, size, n)
        size = n
    sort(keys, size)


@step
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


@step
def nth_largest(values: Singles, size: int, n: int, low: float) -> np.float32:
    """What n or more of the first `size` are larger than: mostly a few more. `low` must be such, and none exceeds 1.

    There must be PADDING more values, which are overwritten.
    """
    for spare in range(PADDING):
        values[size + spare] = -1.0
    below, above = np.float32(low), np.float32(1.0)
    for _ in range(_HALVINGS):
        middle = np.float32(0.5) * (below + above)
        if larger(values, size, middle) >= n:
            below = middle
        else:
            above = middle
    return below


@step
def rank(scores: Doubles, columns: Integers, size: int, rounded: Singles, out: tuple[Integers, Doubles]) -> int:
    """Rank the first `size`, in any order, by score and then by column: out = (columns, scores). How many there are.

    Scores are not negative. If they are few, and differ even where they are rounded, the place of each is the number
    of those that are larger. `rounded` is scratch with PADDING more places, and what comes in is changed, too.
    """
    best_columns, best_scores = out
    n, most = len(best_columns), 0.0
    for c in range(size):
        most = max(most, scores[c])
    unit = most if most > 0.0 else 1.0
    for c in range(size):
        rounded[c] = np.float32(scores[c] / unit)
    if size > n + n // 8:
        least, rest = nth_largest(rounded, size, n, _NEGATIVE), 0
        for c in range(size):  # written in any case and kept if larger: nothing for the processor to guess
            score, column, single = scores[c], columns[c], rounded[c]
            scores[rest], columns[rest], rounded[rest] = score, column, single
            rest += int(single > least)
        size = rest
    if size <= _FEW:
        for spare in range(PADDING):
            rounded[size + spare] = -1.0
        total = 0
        for c in range(size):
            place = larger(rounded, size, rounded[c])
            total += place
            if place < n:
                best_scores[place], best_columns[place] = scores[c], columns[c]
        if total == size * (size - 1) // 2:  # no two have the same place
            return min(size, n)
    keys, found = np.empty(size, np.int64), 0
    for c in range(size):
        keys[c] = key_of(rounded[c], c)
    sort_best(keys, size, n)
    for place in range(size):  # nearly in order
        c = column_of(keys[place])
        found = insert(best_columns, best_scores, found, columns[c], scores[c])
    return found
