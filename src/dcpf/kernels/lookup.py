"""Pairs of a row and a column: what a sparse matrix stores there, and what factors say of them."""

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.best import exact_score
from dcpf.kernels.jit import kernel

Floats = NDArray[np.floating]
Integers = NDArray[np.integer]


@kernel
def stored_values(
    start: int,
    stop: int,
    matrix: tuple[Integers, Integers, NDArray[np.int64]],
    lists: tuple[Integers, Integers],
    out: NDArray[np.int64],
) -> None:
    """out[r, j] = the value of matrix row r at the j-th column of list r, 0 where nothing is stored or the list ends.

    matrix = (indptr, indices, data) with ascending indices in each row, lists = (indptr, columns).
    """
    indptr, indices, data = matrix
    first, columns = lists
    for r in range(start, stop):
        out[r] = 0
        for j in range(first[r], first[r + 1]):
            low, high = indptr[r], indptr[r + 1]
            while low < high:
                middle = (low + high) // 2
                if indices[middle] < columns[j]:
                    low = middle + 1
                else:
                    high = middle
            if low < indptr[r + 1] and indices[low] == columns[j]:
                out[r, j - first[r]] = data[low]


@kernel
def pair_rates(
    start: int,
    stop: int,
    indptr: Integers,
    indices: Integers,
    factors: tuple[Floats, Floats],
    out: NDArray[np.float64],
) -> None:
    """out[e] = sum_k w_uk h_ik in float64 at each stored entry e = (u, i) of a sparse matrix."""
    W, H = factors
    for u in range(start, stop):
        for e in range(indptr[u], indptr[u + 1]):
            out[e] = exact_score(W, u, H, indices[e])
