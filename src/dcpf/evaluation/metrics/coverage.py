"""Coverage of the catalogue."""

import numpy as np
from numpy.typing import NDArray


def coverage(listed: NDArray[np.bool_]) -> float:
    """The share of all items that are in the list of at least one user."""
    return float(listed.mean()) if len(listed) else 0.0
