"""Time of one iteration: against peers, against plain Poisson factorization, against capped counts.

    python -m benchmarks.iteration [--counts FILE.parquet]

Peers are measured when they are installed (pip install 'dcpf[benchmarks]'). FILE holds counts with a long tail, such
as Last.fm plays by artist; without it, such counts are drawn.
"""

import argparse
import importlib.util
import itertools
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.datasets import read, taste_profile_shaped
from benchmarks.timing import median_seconds, table
from dcpf import elements
from dcpf.counts import count_matrix
from dcpf.inference.blocks import LocalBlocks, random_start
from dcpf.inference.data import Data
from dcpf.inference.settings import FitSettings
from dcpf.inference.vbem import Ascent, iterate
from dcpf.kernels.threads import Threads

WARM_UP = 30  # iterations before timing: compiled, and the table has found its range

IN_A_ROW = 4  # as in a fit: an iteration finds in the cache what the last one left there


def dcpf_iteration(
    matrix: sparse.csr_array, element: str, components: int, threads: Threads, dtype: str = "float32"
) -> Callable[[], object]:
    """One iteration of the fit, bound and learning of all parameters included."""
    data = Data.from_matrix(count_matrix(matrix))
    start = random_start(data, components, np.random.default_rng(0), np.dtype(dtype))
    settings = FitSettings((0.3, 0.3), learn_element=True, learn_rates=True)
    ascent = Ascent(LocalBlocks(data, settings, threads), elements.get(element), settings, threads)
    states = iterate(ascent, ascent.begin(start, elements.get(element)))
    for _ in range(WARM_UP):
        next(states)
    return lambda: next(states)


def implicit_seconds(matrix: sparse.csr_array, components: int, threads: int) -> float:
    """The median iteration of implicit's alternating least squares in a fit with its defaults."""
    from implicit.cpu.als import AlternatingLeastSquares

    seconds: list[float] = []
    model = AlternatingLeastSquares(factors=components, num_threads=threads, random_state=0)
    user_items = sparse.csr_matrix(matrix, dtype=np.float32)
    model.fit(user_items, show_progress=False, callback=lambda number, elapsed, loss: seconds.append(elapsed))
    return statistics.median(seconds)


def hpfrec_seconds(matrix: sparse.csr_array, components: int, threads: int) -> float:
    """One iteration of hpfrec: what three more of them add to a fit."""
    import pandas as pd
    from hpfrec import HPF

    coo = matrix.tocoo()
    frame = pd.DataFrame({"UserId": coo.row, "ItemId": coo.col, "Count": coo.data.astype(np.float32)})

    def fit(iterations: int) -> Callable[[], object]:
        def run() -> object:
            model = HPF(
                k=components, maxiter=iterations, stop_crit="maxiter", check_every=iterations, ncores=threads,
                reindex=False, keep_data=False, verbose=False, random_seed=1,
            )  # fmt: skip
            return model.fit(frame)

        return run

    median = median_seconds({"one": fit(1), "four": fit(4)}, rounds=1)
    return (median["four"] - median["one"]) / 3.0


def compare_with_peers(matrix: sparse.csr_array, components: int, threads: Threads, rounds: int) -> None:
    """All elements in turns, the peers before and after, the quicker of the two."""
    runs: dict[str, Callable[[], object]] = {
        name: dcpf_iteration(matrix, name, components, threads) for name in elements.names()
    }
    runs["shifted-negative-binomial, float64"] = dcpf_iteration(
        matrix, "shifted-nb", components, threads, dtype="float64"
    )
    peers = {
        label: measure
        for label, package, measure in (
            ("implicit ALS", "implicit", implicit_seconds),
            ("hpfrec", "hpfrec", hpfrec_seconds),
        )
        if importlib.util.find_spec(package)
    }
    before = {name: measure(matrix, components, threads.count) for name, measure in peers.items()}
    median = median_seconds(runs, rounds, IN_A_ROW)
    for name, measure in peers.items():
        median[name] = min(before[name], measure(matrix, components, threads.count))
    default = median["shifted-negative-binomial"]
    rows = [("one iteration", "ms", "against plain PF (raw)", "against dcpf's default")]
    for name, seconds in median.items():
        against_raw = f"{seconds / median['raw']:.2f}" if name in elements.names() else ""
        rows.append((name, f"{1e3 * seconds:.1f}", against_raw, f"{seconds / default:.2f}"))
    print(table(rows))
    print(
        "\ntargets: every element at most 1.25 of raw; implicit ALS at least 8, hpfrec at least 50 of the default\n"
    )


def compare_with_capped(matrix: sparse.csr_array, components: int, threads: Threads, rounds: int) -> None:
    """The same matrix with its own counts and with counts capped at 100."""
    capped = matrix.copy()
    capped.data = np.minimum(capped.data, 100)
    kinds = {"as they are": matrix, "capped": capped}
    median = median_seconds(
        {
            f"{name}, {kind}": dcpf_iteration(counts, name, components, threads)
            for name, (kind, counts) in itertools.product(elements.names(), kinds.items())
        },
        rounds,
        IN_A_ROW,
    )
    rows = [("counts up to " + f"{matrix.data.max():,}", "ms", "capped at 100, ms", "ratio")]
    for name in elements.names():
        own, cap = (median[f"{name}, {kind}"] for kind in kinds)
        rows.append((name, f"{1e3 * own:.2f}", f"{1e3 * cap:.2f}", f"{own / cap:.2f}"))
    print(table(rows))
    print("\ntarget: at most 1.5")


def long_tailed(seed: int = 0) -> sparse.csr_array:
    """Counts in the hundreds of thousands at the shape of Last.fm plays by artist (HetRec 2011)."""
    matrix = taste_profile_shaped(1_892, 17_632, 92_834, seed)
    matrix.data = np.ceil(np.random.default_rng(seed).lognormal(5.3, 1.6, matrix.nnz)).astype(np.int64)
    return matrix


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--components", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--counts", type=Path, help="Parquet file of user, item, count with large counts")
    arguments = parser.parse_args()
    # BLAS on one thread, as implicit asks for
    with threadpool_limits(1, "blas"), Threads(arguments.threads) as threads:
        matrix = taste_profile_shaped()
        users, items = matrix.shape
        print(f"{users:,} x {items:,}, {matrix.nnz:,} entries, K = {arguments.components}, {threads.count} threads\n")
        compare_with_peers(matrix, arguments.components, threads, arguments.rounds)
        large = read(arguments.counts) if arguments.counts else long_tailed()
        compare_with_capped(large, arguments.components, threads, arguments.rounds)


if __name__ == "__main__":
    main()
