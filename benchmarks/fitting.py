"""A whole fit against implicit's default fit of alternating least squares, from several random starts.

    python -m benchmarks.fitting [--counts FILE.parquet ...] [--components 100] [--starts 3] [--plain 1000]

Plain sweeps, a thousand of them, say which bound can be had from a start. The accelerated fit is timed from the same
start until it is within 0.01% of that bound, everything included that follows the reading of the counts; compiled
code is warm. implicit fits its 15 iterations before and after, and the quicker fit counts.
"""

import argparse
import importlib.util
import itertools
import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.datasets import read, taste_profile_shaped
from benchmarks.timing import table
from dcpf import elements
from dcpf.counts import count_matrix
from dcpf.inference import momentum, vbem
from dcpf.inference.blocks import LocalBlocks, random_start
from dcpf.inference.data import Data
from dcpf.inference.settings import FitSettings
from dcpf.kernels.threads import Threads

WITHIN = 1e-4  # of the reference bound
MOST = 300  # accelerated iterations
TOL = 1e-5  # the default of DCPF
ELEMENT = "shifted-nb"


@dataclass(frozen=True, slots=True)
class Trace:
    """The bound after each iteration, and the seconds until then."""

    bounds: list[float]
    seconds: list[float]

    def first_at(self, level: float) -> int | None:
        """The number of the first iteration whose bound is at least this."""
        return next((j + 1 for j, bound in enumerate(self.bounds) if bound >= level), None)

    def own_end(self) -> int | None:
        """The number of the iteration after which a fit with the default tolerance stops."""
        pairs = enumerate(itertools.pairwise(self.bounds), start=2)
        return next((j for j, (old, new) in pairs if vbem.converged(old, new, TOL)), None)


def run(matrix: sparse.csr_array, components: int, seed: int, threads: Threads, most: int, fast: bool) -> Trace:
    """So many iterations from a random start; the clock runs from the matrix on."""
    began = time.perf_counter()
    data = Data.from_matrix(matrix)
    start = random_start(data, components, np.random.default_rng(seed), np.dtype("float32"))
    settings = FitSettings((0.3, 0.3), learn_element=True, learn_rates=True)
    ascent = vbem.Ascent(LocalBlocks(data, settings, threads), elements.get(ELEMENT), settings, threads)
    visit = ascent.begin(start, elements.get(ELEMENT))
    trace = Trace([], [])
    for state in itertools.islice((momentum.accelerate if fast else vbem.iterate)(ascent, visit), most):
        trace.bounds.append(state.bound)
        trace.seconds.append(time.perf_counter() - began)
    return trace


def implicit_seconds(matrix: sparse.csr_array, components: int, seed: int, threads: int) -> float:
    """A fit of implicit's alternating least squares with its defaults; infinite if it is not installed."""
    if not importlib.util.find_spec("implicit"):
        return math.inf
    from implicit.cpu.als import AlternatingLeastSquares

    user_items = sparse.csr_matrix(matrix, dtype=np.float32)
    began = time.perf_counter()
    model = AlternatingLeastSquares(factors=components, random_state=seed, num_threads=threads)
    model.fit(user_items, show_progress=False)
    return time.perf_counter() - began


def compare(name: str, matrix: sparse.csr_array, arguments: argparse.Namespace, threads: Threads) -> None:
    """All starts on one matrix."""
    K = arguments.components
    rows = [("start", "bound", "iterations", "plain ones", "seconds", "ALS, s", "ratio", "stops at", "s", "bound, %")]
    for seed in range(arguments.starts):
        als = implicit_seconds(matrix, K, seed, threads.count)
        fast = run(matrix, K, seed, threads, MOST, fast=True)
        als = min(als, implicit_seconds(matrix, K, seed, threads.count))
        plain = run(matrix, K, seed, threads, arguments.plain, fast=False)
        reference = plain.bounds[-1]
        level = reference - WITHIN * abs(reference)
        reached, end = fast.first_at(level), fast.own_end()
        taken = fast.seconds[reached - 1] if reached else math.nan
        stop = end or MOST
        beyond = 100.0 * (fast.bounds[stop - 1] - reference) / abs(reference)
        peer = (f"{als:.2f}", f"{taken / als:.2f}") if als < math.inf else ("missing", "")
        own = (str(end or f"over {MOST}"), f"{fast.seconds[stop - 1]:.2f}", f"{beyond:+.4f}")
        iterations = (str(reached or "never"), str(plain.first_at(level)))
        rows.append((str(seed), f"{reference:,.0f}", *iterations, f"{taken:.2f}", *peer, *own))
    users, items = matrix.shape
    print(f"{name}: {users:,} x {items:,}, {matrix.nnz:,} entries, K = {K}, {threads.count} threads\n")
    print(table(rows) + "\n", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=Path, nargs="+", default=[], help="Parquet files of user, item, count")
    parser.add_argument("--users", type=int, default=16_301)
    parser.add_argument("--items", type=int, default=12_118)
    parser.add_argument("--entries", type=int, default=1_200_000)
    parser.add_argument("--components", type=int, default=100)
    parser.add_argument("--starts", "--seeds", type=int, default=3)
    parser.add_argument("--plain", type=int, default=1000, help="sweeps that give the bound to reach")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    # BLAS on one thread, as implicit asks for
    with threadpool_limits(1, "blas"), Threads(arguments.threads) as threads:
        run(count_matrix(taste_profile_shaped(300, 200, 3_000)), 5, 0, threads, 20, fast=True)  # compiles
        if arguments.counts:
            for path in arguments.counts:
                compare(path.stem, count_matrix(read(path)), arguments, threads)
        else:
            drawn = taste_profile_shaped(arguments.users, arguments.items, arguments.entries)
            compare("drawn", count_matrix(drawn), arguments, threads)
    print(f"iterations and seconds: until within {WITHIN:.2%} of the bound of {arguments.plain:,} plain iterations")
    print(f"stops at: with tol = {TOL:g}, and how far its bound is then above that one")
    print("target: a ratio of at most 0.5")


if __name__ == "__main__":
    main()
