"""Users that follow each other, cut into pieces of about as many rows or entries."""

import numpy as np
from numpy.typing import NDArray


def cut(starts: NDArray[np.integer], most: int) -> list[int]:
    """The first user of each piece, and the end of the last: a piece has at most `most` rows, or is a single user.

    The rows of user u are starts[u] to starts[u + 1].
    """
    cuts, users = [0], len(starts) - 1
    while cuts[-1] < users:
        full = int(np.searchsorted(starts, starts[cuts[-1]] + most, side="right")) - 1
        cuts.append(max(full, cuts[-1] + 1))
    return cuts
