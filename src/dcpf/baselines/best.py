"""The best n of many, by score and then by place: of one array, and for blocks of users in threads."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.kernels.threads import Threads, one_blas_thread
from dcpf.ranking.top import Ranked

Floats = NDArray[np.floating]

_SCORES = 2**22  # in a block, which a few temporary arrays of the same size go with


def best(scores: Floats, n: int) -> NDArray[np.int64]:
    """The places of the n largest scores, largest first, equal ones in their order.

    Equivalent to np.argsort(-scores, kind="stable")[:n] without sorting them all.
    """
    found = np.arange(len(scores))
    if 0 < n < len(scores):
        least = np.partition(scores, len(scores) - n)[len(scores) - n]
        found = np.flatnonzero(scores >= least)
    return found[np.argsort(-scores[found], kind="stable")[:n]]


def best_in_blocks(scores: Callable[[slice], Floats], counts: sparse.csr_array, n: int, exclude_seen: bool) -> Ranked:
    """The best n items of each user, where scores(block) gives the scores of a block of rows of `counts`.

    With `exclude_seen` those with counts are left out. Blocks are cut by the sizes of the data alone.
    """
    rows, columns = counts.shape
    height = max(1, _SCORES // columns)
    lists: list[tuple[NDArray[np.int64], Floats]] = [(np.empty(0, dtype=np.int64), np.empty(0))] * rows

    def rank_blocks(start: int, stop: int) -> None:
        for first in range(start * height, min(stop * height, rows), height):
            block = slice(first, min(first + height, rows))
            found = scores(block)
            for row, some in enumerate(found, first):
                seen = counts.indices[counts.indptr[row] : counts.indptr[row + 1]][: None if exclude_seen else 0]
                some[seen] = -np.inf
                chosen = best(some, min(n, columns - len(seen)))
                lists[row] = chosen, some[chosen]

    with one_blas_thread(), Threads() as threads:  # to a product: the blocks are in several
        threads.run(rank_blocks, np.arange(-(-rows // height) + 1))
    sizes = [len(chosen) for chosen, _ in lists]
    indptr = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    return Ranked(
        indptr,
        np.concatenate([np.empty(0, dtype=np.int64), *(chosen for chosen, _ in lists)]),
        np.concatenate([np.empty(0), *(some for _, some in lists)]),
    )
