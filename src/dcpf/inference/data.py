"""The stored counts in the two orders in which an iteration walks through them."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.kernels.sweep import Columns, Entries

_LARGEST_32_BITS = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Data:
    """A canonical sparse matrix of counts, by users and by items."""

    shape: tuple[int, int]
    counts: NDArray[np.int64]  # the distinct counts, ascending
    by_user: Entries
    by_item: Columns
    total: float  # sum of all counts

    @classmethod
    def from_matrix(cls, matrix: sparse.csr_array) -> Self:
        """Order the entries of a matrix with sorted indices and without repeated or stored zero entries."""
        users, items = (int(size) for size in matrix.shape)
        counts, codes = np.unique(matrix.data, return_inverse=True)
        rows = np.repeat(np.arange(users, dtype=np.int32), np.diff(matrix.indptr))
        by_count = np.lexsort((codes, rows))
        place, columns = _by_columns(matrix)
        return cls(
            shape=(users, items),
            counts=counts.astype(np.int64),
            by_user=Entries(
                indptr=matrix.indptr.astype(np.int64),
                indices=matrix.indices[by_count].astype(np.int32),
                codes=codes[by_count].astype(np.int32),
                place=place[by_count],
            ),
            by_item=columns,
            total=float(matrix.data.sum(dtype=np.float64)),
        )


def _by_columns(matrix: sparse.csr_array) -> tuple[NDArray[np.signedinteger], Columns]:
    """Where each entry stands in the order by columns, and that order."""
    index: type[np.signedinteger] = np.int32 if matrix.nnz <= _LARGEST_32_BITS else np.int64
    numbers = np.arange(matrix.nnz, dtype=index)
    columns = sparse.csr_array((numbers, matrix.indices, matrix.indptr), shape=matrix.shape).tocsc()
    place = np.empty_like(numbers)
    place[columns.data] = numbers
    return place, Columns(columns.indptr.astype(np.int64), columns.indices.astype(np.int32))
