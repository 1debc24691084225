"""The stored counts in the two orders in which an iteration walks through them."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.kernels.sweep import Entries


@dataclass(frozen=True)
class Data:
    """A canonical sparse matrix of counts, by users and by items."""

    shape: tuple[int, int]
    counts: NDArray[np.int64]  # the distinct counts, ascending
    by_user: Entries
    by_item: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]  # indptr, users, place in by_user
    total: float  # sum of all counts

    @classmethod
    def from_matrix(cls, matrix: sparse.csr_array) -> Self:
        """Order the entries of a matrix with sorted indices and without repeated or stored zero entries."""
        counts, codes = np.unique(matrix.data, return_inverse=True)
        place = sparse.csr_array(
            (np.arange(matrix.nnz, dtype=np.int64), matrix.indices, matrix.indptr), shape=matrix.shape
        ).tocsc()
        return cls(
            shape=(int(matrix.shape[0]), int(matrix.shape[1])),
            counts=counts.astype(np.int64),
            by_user=Entries(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), codes.astype(np.int32)),
            by_item=(place.indptr.astype(np.int64), place.indices.astype(np.int32), place.data),
            total=float(matrix.data.sum(dtype=np.float64)),
        )
