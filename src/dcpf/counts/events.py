"""The events behind the counts, with their times."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


@dataclass(frozen=True, eq=False)
class Events:
    """Events with times: entry j of the matrix is the sum of events starts[j] to starts[j + 1]."""

    starts: NDArray[np.int64]
    times: NDArray[Any]  # numbers, or datetime64; ascending within an entry
    counts: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        matrix: sparse.csr_array,
        users: NDArray[np.integer],
        items: NDArray[np.integer],
        times: NDArray[Any],
        counts: NDArray[np.int64],
    ) -> Self:
        """Events in any order, by the row and column of the entry of a canonical matrix that they belong to."""
        n_users, n_items = matrix.shape
        rows = np.repeat(np.arange(n_users, dtype=np.int64), np.diff(matrix.indptr))
        entries = np.searchsorted(rows * n_items + matrix.indices, users.astype(np.int64) * n_items + items)
        order = np.lexsort((counts, times, entries))
        return cls(_sums_until(np.bincount(entries, minlength=matrix.nnz)), times[order], counts[order])

    def totals(self) -> NDArray[np.int64]:
        """The sum of each entry, 0 if it has no events."""
        return np.diff(_sums_until(self.counts)[self.starts])

    def take(self, entries: NDArray[np.integer]) -> "Events":
        """The events of these entries, in this order."""
        sizes = np.diff(self.starts)[entries]
        starts = _sums_until(sizes)
        events = np.repeat(self.starts[:-1][entries] - starts[:-1], sizes) + np.arange(starts[-1])
        return Events(starts, self.times[events], self.counts[events])

    def only(self, events: NDArray[np.bool_]) -> "Events":
        """Only the events where this is true; all entries stay."""
        return Events(_sums_until(events)[self.starts], self.times[events], self.counts[events])


def _sums_until(sizes: NDArray[np.integer | np.bool_]) -> NDArray[np.int64]:
    """The sums before each position, and the sum of all at the end."""
    sums = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=sums[1:])
    return sums
