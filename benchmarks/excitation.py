"""A whole fit with excitation against implicit's default fit, and lists with and without it.

    python -m benchmarks.excitation [--rounds 3] [--neighbors 200] [--components 50]

At the shape of the Taste Profile subset. implicit fits 100 factors in 15 iterations, its defaults. Contenders take
turns, compiled code is warm, and the median counts.
"""

import argparse
import functools
import time

from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.datasets import taste_profile_shaped
from benchmarks.fitting import implicit_seconds
from benchmarks.timing import median_seconds, table
from dcpf import DCPF
from dcpf.kernels.threads import Threads

_N = 100
_THREADS = 2
_FACTORS = 100  # implicit's default


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--neighbors", type=int, default=200)
    parser.add_argument("--components", type=int, default=50)
    options = parser.parse_args()
    counts = taste_profile_shaped()
    model = DCPF(options.components, n_neighbors=options.neighbors, random_state=0, n_jobs=_THREADS)
    alone = DCPF(options.components, n_neighbors=0, random_state=0, n_jobs=_THREADS)
    wide = DCPF(_FACTORS, n_neighbors=0, max_iter=30, tol=0.0, random_state=0, n_jobs=_THREADS)
    for one in (model, alone, wide):
        one.fit(counts)
        one.recommend(n=_N)
    users, items = counts.shape
    print(f"{users:,} users x {items:,} items, {counts.nnz:,} entries, {_THREADS} threads,")
    print(f"{options.neighbors} neighbours, {options.components} components, {model.n_iter_} iterations\n")
    _compare_fits(counts, model, alone, options.rounds)
    lists = {"both parts": model, "factors alone": alone, f"factors alone, {_FACTORS} of them": wide}
    _compare_lists(lists, options.rounds)


def _compare_fits(counts: sparse.csr_array, model: DCPF, alone: DCPF, rounds: int) -> None:
    with threadpool_limits(1, user_api="blas"):
        fits = median_seconds(
            {
                "implicit ALS, its defaults": functools.partial(implicit_seconds, counts, _FACTORS, 0, _THREADS),
                "dcpf": functools.partial(model.fit, counts),
                "dcpf, factors alone": functools.partial(alone.fit, counts),
            },
            rounds,
        )
    rows = [("fit", "seconds", "of implicit's")]
    base = fits["implicit ALS, its defaults"]
    rows += [(name, f"{taken:.2f}", f"{taken / base:.2f}") for name, taken in fits.items()]
    print(table(rows))
    began = time.perf_counter()
    with Threads(_THREADS) as threads:
        model._learn_excitation(threads)
    print(f"\nof which excitation: {time.perf_counter() - began:.2f} s\n")


def _compare_lists(contenders: dict[str, DCPF], rounds: int) -> None:
    asked = {name: functools.partial(one.recommend, n=_N) for name, one in contenders.items()}
    lists = median_seconds(asked, rounds)
    rows = [(f"best {_N} for all users", "seconds", "of both")]
    rows += [(name, f"{taken:.2f}", f"{taken / lists['both parts']:.2f}") for name, taken in lists.items()]
    print(table(rows))


if __name__ == "__main__":
    main()
