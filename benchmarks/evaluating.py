"""Rank all items for all users and compare with what was held out: dcpf and implicit on the same factors.

    python -m benchmarks.evaluating [--rounds 4]

At the shape of the Taste Profile subset, lists of 100, with the same number of threads each. implicit gives four
metrics as averages, dcpf nine by user, seven of them at four thresholds.
"""

import argparse
import functools
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.datasets import taste_profile_shaped
from benchmarks.peers import implicit_with
from benchmarks.timing import median_seconds, table
from dcpf import DCPF, Counts, evaluate

_K = 100
_THREADS = 2


def main() -> None:
    """Measure, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--components", type=int, default=100)
    options = parser.parse_args()

    train, test = Counts.from_matrix(taste_profile_shaped()).split(0.2, seed=0)
    model = DCPF(options.components, n_neighbors=0, max_iter=30, tol=0.0, random_state=0, n_jobs=_THREADS).fit(train)
    ours = functools.partial(evaluate, model, test, _K)
    one = functools.partial(evaluate, model, test, _K, (0,))
    theirs = functools.partial(_implicit, model, train.matrix, test.matrix, 1)
    theirs_wide = functools.partial(_implicit, model, train.matrix, test.matrix, _THREADS)
    found, expected = ours(), theirs()
    seconds = median_seconds(
        {
            "dcpf, thresholds 0, 1, 2, 5": ours,
            "dcpf, threshold 0": one,
            "implicit, BLAS in 1 thread": theirs,
            f"implicit, BLAS in {_THREADS} threads": theirs_wide,
        },
        options.rounds,
        in_a_row=2,
    )
    base = seconds["dcpf, thresholds 0, 1, 2, 5"]
    rows = [("", "seconds", "against dcpf")]
    rows += [(name, f"{taken:.2f}", f"{taken / base:.1f}") for name, taken in seconds.items()]
    users, items = train.shape
    print(f"{users:,} users x {items:,} items, K = {options.components}, lists of {_K}, {_THREADS} threads\n")
    print(table(rows))
    print(f"\nNDCG: dcpf {found.mean('ndcg'):.6f}, implicit {expected['ndcg']:.6f}")
    print(f"MAP:  dcpf {found.mean('map'):.6f}, implicit {expected['map']:.6f}")


def _implicit(model: DCPF, train: sparse.csr_array, test: sparse.csr_array, blas_threads: int) -> dict[str, Any]:
    from implicit.evaluation import ranking_metrics_at_k

    peer = implicit_with(model.user_factors, model.item_factors, _THREADS)
    with threadpool_limits(blas_threads, user_api="blas"):
        known, held_out = (sparse.csr_matrix(one).astype(np.float32) for one in (train, test))
        found: dict[str, Any] = ranking_metrics_at_k(
            peer, known, held_out, K=_K, show_progress=False, num_threads=_THREADS
        )
    return found


if __name__ == "__main__":
    main()
