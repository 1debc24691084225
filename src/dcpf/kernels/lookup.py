"""What a sparse matrix stores at given columns of its rows."""

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.compile import kernel, step

Integers = NDArray[np.integer]


@kernel
def stored_values(
    start: int,
    stop: int,
    matrix: tuple[Integers, Integers, NDArray[np.int64]],
    lists: tuple[Integers, Integers],
    out: Integers,
) -> None:
    """out[r, j] = the value of matrix row r at the j-th column of list r, 0 where nothing is stored.

    It is -1 where the list has ended, and at a column < 0. matrix = (indptr, indices, data) with ascending indices in
    each row, lists = (indptr, columns). No list may be longer than `out` is wide.
    """
    indptr, indices, data = matrix
    first, columns = lists
    for r in range(start, stop):
        out[r] = -1
        for j in range(first[r], first[r + 1]):
            if columns[j] >= 0:
                place = find(indices, indptr[r], indptr[r + 1], columns[j])
                out[r, j - first[r]] = data[place] if place >= 0 else 0


@step
def find(indices: Integers, low: int, high: int, wanted: int) -> int:
    """Where this index stands among the ascending ones from `low` to `high`, or -1."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < end and indices[low] == wanted else -1
