"""Which items may excite an item: those that go with it more than chance would have it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.compile import kernel, step
from dcpf.kernels.selection import column_of, key_of, partition

Integers = NDArray[np.integer]

MOST = 4096  # items of a user; one with more is looked at for every second or third item, and counts as often
_ROUNDING = 1e-5  # of what is subtracted from: if no more is left, nothing is


@kernel
def choose_sources(
    start: int,
    stop: int,
    users_of: tuple[Integers, Integers, NDArray[np.float32]],
    items_of: tuple[Integers, Integers],
    weights: tuple[NDArray[np.float64], NDArray[np.float64]],
    out: tuple[NDArray[np.int32], NDArray[np.float32]],
) -> None:
    """The sources of each item, ascending, and its affinity to each; as many as `out` = (sources, affinity) is wide.

    users_of = (indptr, users, x) by items, items_of = (indptr, items) by users, both ascending. With sums over the
    users of i, pop_j users of U who have j, and weights of items as sources and as what they excite, the affinity of
    j to i is
        weights[0][j] weights[1][i] (sum_u x_ui [u has j] - sum_u x_ui pop_j / U)
    and the sources of i are the j != i of which it is largest, if positive; equal ones by number. Places that are
    left over have a source that is no item, the number of items, and the affinity 0.
    """
    first_user, users, x = users_of
    first_item, items = items_of
    as_source, as_target = weights
    sources, affinity = out
    n_items, n_users, most = len(first_user) - 1, len(first_item) - 1, sources.shape[1]
    together = np.empty(n_items)
    met = np.empty(n_items + 1, np.int32)
    keys = np.empty(n_items, np.int64)
    for j in range(n_items):
        together[j] = 0.0
    for i in range(start, stop):
        found, total = 0, 0.0
        for e in range(first_user[i], first_user[i + 1]):
            u = users[e]
            begin, end = first_item[u], first_item[u + 1]
            stride = (end - begin + MOST - 1) // MOST
            if stride > 1 and (u + i) % stride:
                continue
            worth = stride * np.float64(x[e])
            total += worth
            for f in range(begin, end):
                j = items[f]
                met[found] = j  # written in any case and kept if it is new: nothing for the processor to guess
                found += int(together[j] == 0.0)
                together[j] += worth
        kept: Any = np.int64(0)  # a literal would be a type of its own, and `partition` compiled twice
        for k in range(found):
            j = met[k]
            other = np.float64(first_user[j + 1] - first_user[j])
            both, together[j] = together[j], 0.0
            excess = both - other * total / n_users
            if j != i and excess > _ROUNDING * both:
                a = np.float32(as_source[j] * as_target[i] * excess)
                keys[kept] = key_of(a, int(j))
                kept += 1
        if kept > most:
            partition(keys, 0, kept, most)
            kept = most
        for k in range(kept):  # the source comes first, the bits of its affinity after it
            keys[k] = (column_of(keys[k]) << 32) | (keys[k] >> 31)
        ascend(keys, kept)
        for k in range(kept):
            sources[i, k] = keys[k] >> 32
            affinity[i, k] = np.int32(keys[k] & (2**32 - 1)).view(np.float32)
        for k in range(kept, most):
            sources[i, k], affinity[i, k] = n_items, 0.0


@step
def ascend(keys: NDArray[np.int64], size: int) -> None:
    """Sort the first `size`, which are some hundreds, the smallest first."""
    for last in range(1, size):
        place, key = last, keys[last]
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            place -= 1
        keys[place] = key
