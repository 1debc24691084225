"""Compiled loops on raw arrays, and the one room that names numba. Imports `memory` and `text` alone."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Csr(NamedTuple):
    """Rows of a sparse matrix: row r has data[e] at indices[e] for indptr[r] <= e < indptr[r + 1]."""

    indptr: NDArray[np.integer]
    indices: NDArray[np.integer]
    data: NDArray[np.float32]
