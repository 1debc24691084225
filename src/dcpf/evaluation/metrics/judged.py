"""Ranked lists of users, each place marked as a hit or a miss: all that a metric gets to see."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class Judged:
    """Lists of at most k items, one for each user. The users have at least one relevant item each."""

    k: int  # the length of a full list; no list is longer
    hits: Marks  # users x places: whether the item there is relevant; False where the list has ended
    misses: Marks  # whether it is not, but could have been: what a user has already is neither
    relevant: Numbers  # items that each user should have been offered
    reachable: Numbers  # those of them that the model knows
    irrelevant: Numbers  # items that the model knows, and that are neither relevant nor what the user has already

    @property
    def attainable(self) -> Numbers:
        """The hits of a perfect list."""
        return np.minimum(self.relevant, self.k)

    @cached_property
    def found(self) -> Numbers:
        """How many hits there are in each list."""
        return np.asarray(self.hits.sum(axis=1))

    @cached_property
    def hits_so_far(self) -> NDArray[np.int32]:
        """How many hits there are up to each place."""
        return np.cumsum(self.hits, axis=1, dtype=np.int32)
