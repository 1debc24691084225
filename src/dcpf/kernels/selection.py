"""The largest of many scores.

A score that is not negative and its column make one integer, its key: the bits of a float32 rise with its value, so
keys are ordered by score, and among equal scores the smaller column comes first.
"""

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.compile import step

Integers = NDArray[np.int64]

_COLUMN = 2**31 - 1  # the bits of a key that hold its column


@step
def key_of(score: np.float32, column: int) -> np.int64:
    """The key of a score that is not negative."""
    return (np.int64(np.float32(score).view(np.int32)) << 31) | (_COLUMN - column)


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
