"""An approximate index of items against exact lists: how much of them it finds, and how fast.

    python -m benchmarks.index [--counts FILE.parquet] [--neighbors 0 200] [--components 50]

A model of factors alone, whose scores are products, and one with excitation, of which the index knows the factors
only. Lists of 100 for 1,000 users, all at once; how long one exact list takes is told beside. Without a file, counts
are drawn at the shape of the paper's Taste Profile subset, or at --users, --items and --entries.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.datasets import read, taste_profile_shaped
from benchmarks.timing import table
from dcpf import DCPF
from dcpf.adapters.voyager import ItemIndex

LENGTH = 100
ASKING = 1_000
CANDIDATES = (100, 200, 500, 2_000)


def seconds(run: Callable[[], object], times: int = 3) -> float:
    """The least of some times."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        run()
        taken.append(time.perf_counter() - began)
    return min(taken)


def measure(model: DCPF) -> None:
    """Print a table of recall and speed by the number of candidates."""
    began = time.perf_counter()
    index = ItemIndex(model)
    took = time.perf_counter() - began
    print(f"n_neighbors={model.n_neighbors}: an index of {len(index.index):,} items in {took:.1f} s")
    rng = np.random.default_rng(0)
    users = rng.choice(list(model.users_), min(ASKING, len(model.users_)), replace=False).tolist()
    exact = seconds(lambda: model.recommend(users, LENGTH))
    rows = [("candidates", "recall", "ms a list", "exact, ms a list")]
    for candidates in CANDIDATES:
        recall = index.recall(LENGTH, candidates=candidates, users=users)
        taken = seconds(lambda: index.recommend(users, LENGTH, candidates=candidates))  # noqa: B023
        mine, theirs = (f"{1e3 * one / len(users):.2f}" for one in (taken, exact))
        rows.append((f"{candidates:,}", f"{recall:.4f}", mine, theirs))
    print(table(rows))
    alone = [seconds(lambda: asked.recommend(users[0], LENGTH), 20) for asked in (index, model)]  # noqa: B023
    print(f"one user alone: {1e3 * alone[0]:.2f} ms by the index, {1e3 * alone[1]:.2f} ms exactly\n")


def main() -> None:
    """Fit, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=Path, help="Parquet file of user, item, count")
    parser.add_argument("--neighbors", type=int, nargs="+", default=[0, 200])
    parser.add_argument("--components", type=int, default=50)
    parser.add_argument("--users", type=int, default=16_301)
    parser.add_argument("--items", type=int, default=12_118)
    parser.add_argument("--entries", type=int, default=1_200_000)
    given = parser.parse_args()
    shape = (given.users, given.items, given.entries)
    counts = taste_profile_shaped(*shape) if given.counts is None else read(given.counts)
    print(f"{counts.shape[0]:,} users x {counts.shape[1]:,} items, {counts.nnz:,} counts, K = {given.components}\n")
    for neighbors in given.neighbors:
        measure(DCPF(given.components, n_neighbors=neighbors, max_iter=30, tol=0.0, random_state=0).fit(counts))


if __name__ == "__main__":
    main()
