"""Recommend to all users at the shape of the Taste Profile subset: dcpf and implicit on the same factors.

    python -m benchmarks.recommending [--rounds 4]

Both leave out what a user has already, with the same number of threads each, and their lists are compared.
"""

import argparse
import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.datasets import taste_profile_shaped
from benchmarks.peers import implicit_with
from benchmarks.timing import median_seconds, table
from dcpf import DCPF
from dcpf.kernels.threads import Threads
from dcpf.ranking.rates import Items, ItemSide, Ranked, Rates, UserSide, no_sparse

Floats = NDArray[np.float32]
_N = 100
_THREADS = 2


def main() -> None:
    """Measure, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--components", type=int, default=100)
    options = parser.parse_args()

    counts = taste_profile_shaped()
    model = DCPF(options.components, n_neighbors=0, max_iter=30, tol=0.0, random_state=0).fit(counts)
    W, H = model.user_factors, model.item_factors
    peer = _implicit(W, H, counts)
    with Threads(_THREADS) as threads:
        ours = functools.partial(_ours, W, H, counts, threads)
        theirs = functools.partial(peer, 1)
        theirs_wide = functools.partial(peer, _THREADS)
        ranked = ours()
        found = theirs()
        seconds = median_seconds(
            {
                "dcpf": ours,
                "implicit, BLAS in 1 thread": theirs,
                f"implicit, BLAS in {_THREADS} threads": theirs_wide,
            },
            options.rounds,
            in_a_row=3,
        )
    rows = [("", "seconds", "against dcpf")]
    rows += [(name, f"{taken:.2f}", f"{taken / seconds['dcpf']:.1f}") for name, taken in seconds.items()]
    users, items = counts.shape
    print(f"{users:,} users x {items:,} items, K = {options.components}, best {_N}, {_THREADS} threads\n")
    print(table(rows))
    differing, gap = _agreement(ranked, found, W, H)
    print(f"\nplaces of the lists with another item: {differing:.4%}; their exact scores differ by at most {gap:.1e}")


def _ours(W: Floats, H: Floats, counts: sparse.csr_array, threads: Threads) -> Ranked:
    """Lists from factors as they are: to lay them out, which a model does once, is part of the time."""
    items = Items(ItemSide(H, no_sparse(0, len(H))), W.sum(axis=0, dtype=np.float64))
    return Rates(UserSide(W, no_sparse(len(W), 0)), items).lists(_N, counts, threads)


def _implicit(W: Floats, H: Floats, counts: sparse.csr_array) -> Callable[[int], NDArray[np.int32]]:
    """The lists of all users, by implicit with BLAS in so many threads."""
    peer = implicit_with(W, H, _THREADS)
    seen = sparse.csr_matrix(counts).astype(np.float32)

    def recommend(blas_threads: int) -> NDArray[np.int32]:
        with threadpool_limits(blas_threads, user_api="blas"):
            items: NDArray[np.int32] = peer.recommend(np.arange(len(W)), seen, N=_N)[0]
        return items

    return recommend


def _agreement(ours: Ranked, theirs: NDArray[np.int32], W: Floats, H: Floats) -> tuple[float, float]:
    """How many places have another item, and by how much of itself its exact score is another.

    implicit ranks by scores in float32, which cannot tell all neighbours apart.
    """
    columns = ours.columns.reshape(theirs.shape)
    rows, places = np.nonzero(columns != theirs)
    scores = [
        np.einsum("jk,jk->j", W[rows].astype(np.float64), H[items[rows, places]].astype(np.float64))
        for items in (columns, theirs)
    ]
    return len(rows) / theirs.size, float(np.max(np.abs(scores[0] / scores[1] - 1.0), initial=0.0))


if __name__ == "__main__":
    main()
