"""A whole fit with excitation against implicit's default fit, and lists with and without it.

    python -m benchmarks.excitation [--rounds 5] [--neighbors 200] [--components 50] [--counts FILE ...]

At the shape of the Taste Profile subset, and lists also for the users of the given files. Items in genres that are
well apart suit factors best: most of them are passed over. So lists are also made of counts that are drawn from
factors, as the paper's model has it. Factors alone have as many components, and the paper's settings 100. implicit
fits 100 factors in 15 iterations, its defaults. Contenders take turns, compiled code is warm, and the median counts.
"""

import argparse
import functools
import time
from pathlib import Path

from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.datasets import drawn_from_factors, read, taste_profile_shaped
from benchmarks.fitting import implicit_seconds
from benchmarks.peers import implicit_with
from benchmarks.timing import median_seconds, table
from dcpf import DCPF

_LENGTHS = (100, 10)
_THREADS = 2
_FACTORS = 100  # implicit's default


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--neighbors", type=int, default=200)
    parser.add_argument("--components", type=int, default=50)
    parser.add_argument("--counts", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    counts = taste_profile_shaped()
    both = DCPF(options.components, n_neighbors=options.neighbors, random_state=0, n_jobs=_THREADS).fit(counts)
    alone = DCPF(options.components, n_neighbors=0, random_state=0, n_jobs=_THREADS).fit(counts)
    users, items = counts.shape
    print(f"{users:,} users x {items:,} items, {counts.nnz:,} entries, {_THREADS} threads,")
    print(f"{options.neighbors} neighbours, {options.components} components, {both.n_iter_} iterations\n")
    _compare_fits(counts, both, alone, options.rounds)
    models = {"both parts": both, "factors alone": alone, "the paper's": DCPF.paper(random_state=0, n_jobs=_THREADS)}
    rows: list[tuple[str, ...]] = [
        (
            "microseconds for a user's list",
            "best",
            *models,
            "implicit, same factors",
            "ratio",
            "and the paper's",
            "implicit / both",
        )
    ]
    rows += _compare_lists("drawn by genres, as above", models, counts, options.rounds)
    rows += _compare_lists("drawn from factors", models, drawn_from_factors(), options.rounds)
    for path in options.counts:
        rows += _compare_lists(path.stem, models, read(path), options.rounds)
    print(table(rows))


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
    model.refit_parts()
    print(f"\nof which excitation: {time.perf_counter() - began:.2f} s\n")


def _compare_lists(
    name: str, models: dict[str, DCPF], counts: sparse.csr_array, rounds: int
) -> list[tuple[str, ...]]:
    """The time of lists for all users, in each length: a row each."""
    rows: list[tuple[str, ...]] = []
    for model in models.values():
        model.fit(counts)
    for n in _LENGTHS:
        asked = {one: functools.partial(model.recommend, n=n) for one, model in models.items()}
        both = models["both parts"]
        peer = implicit_with(both.user_factors, both.item_factors, _THREADS)
        seen = sparse.csr_matrix(counts).astype("float32")
        asked["implicit"] = functools.partial(peer.recommend, range(counts.shape[0]), seen, N=n)
        for one in asked.values():
            one()  # lays items out, which a model does once
        taken = [1e6 * seconds / counts.shape[0] for seconds in median_seconds(asked, rounds).values()]
        ratios = [f"{taken[0] / other:.2f}" for other in taken[1:-1]] + [f"{taken[-1] / taken[0]:.1f}"]
        rows.append((name, str(n), *(f"{one:.1f}" for one in taken), *ratios))
    return rows


if __name__ == "__main__":
    main()
