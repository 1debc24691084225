"""Ranked lists of users, each place marked as a hit or a miss: all that a metric gets to see."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Judged:
    """Lists of at most k items, one for each user. The users have at least one relevant item each."""

    hits: NDArray[np.bool_]  # users x k: whether the item at this place is relevant; False where the list has ended
    lengths: Numbers  # of the lists
    relevant: Numbers  # items that each user should have been offered
    reachable: Numbers  # those of them that the model knows
    candidates: Numbers  # items that each list could have been made of

    @property
    def k(self) -> int:
        """The length of a full list."""
        return int(self.hits.shape[1])

    @property
    def attainable(self) -> Numbers:
        """The hits of a perfect list."""
        return np.minimum(self.relevant, self.k)
