"""Batch by batch against whole iterations: how many passes over the counts come as far as a fit.

    python -m benchmarks.streaming [--counts FILE.parquet ...] [--components 50] [--starts 2] [--plain 1000]

Users come in twenty batches a pass, in random order, to `partial_fit`. After some passes all users are folded in, and
the bound of all counts is compared with that of plain iterations from a random start. No time is measured.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.datasets import read, taste_profile_shaped
from benchmarks.timing import table
from dcpf import DCPF
from dcpf.counts import count_matrix
from dcpf.inference.blocks import LocalBlocks
from dcpf.inference.data import Data
from dcpf.inference.vbem import Ascent, Point
from dcpf.kernels.threads import Threads

PASSES = (1, 3, 10, 20, 40, 60, 80)
BATCHES = 20
ELEMENT = "logarithmic"
WITHIN = 1e-3


def whole_bound(model: DCPF, matrix: sparse.csr_array) -> float:
    """The bound of all counts with the users folded in."""
    settings = model.checked_settings()
    with Threads() as threads:
        W = model.fitted_.part("factors").fold_in(matrix, model.element_, threads)
        ascent = Ascent(LocalBlocks(Data.from_matrix(matrix), settings, threads), model.element_, settings, threads)
        return ascent.visit(Point(model.element_, W, model.item_posterior_)).bound


def streamed(matrix: sparse.csr_array, components: int, seed: int) -> list[float]:
    """The bound after each of PASSES."""
    rng, bounds = np.random.default_rng(seed), []
    batches = np.array_split(rng.permutation(matrix.shape[0]), BATCHES)
    model = DCPF(components, ELEMENT, n_neighbors=0, random_state=seed)
    for number in range(1, PASSES[-1] + 1):
        for batch in rng.permutation(BATCHES):
            users = np.sort(batches[batch])
            model.partial_fit(matrix[users], users=users.tolist(), total_users=matrix.shape[0])
        if number in PASSES:
            bounds.append(whole_bound(model, matrix))
    return bounds


def main() -> None:
    """Fit, stream, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--components", type=int, default=50)
    parser.add_argument("--starts", type=int, default=2)
    parser.add_argument("--plain", type=int, default=1000, help="iterations that say which bound can be had")
    parser.add_argument("--counts", type=Path, nargs="+", help="Parquet files of user, item, count")
    options = parser.parse_args()
    if options.counts:
        data = {path.stem: read(path) for path in options.counts}
    else:
        data = {"drawn": taste_profile_shaped(2_000, 1_500, 100_000)}
    rows = [("counts", "start", "plain", "iterations", "passes", *map(str, PASSES))]
    for name, given in data.items():
        matrix = count_matrix(given)
        for seed in range(options.starts):
            plain = DCPF(
                options.components, ELEMENT, n_neighbors=0, accelerate=False, max_iter=options.plain, tol=0.0,
                random_state=seed,
            )  # fmt: skip
            bounds = plain.fit(matrix).bounds_
            end = float(bounds[-1])
            within = WITHIN * abs(end)
            near = int(np.argmax(bounds >= end - within)) + 1
            passes = streamed(matrix, options.components, seed)
            shown = [f"{100.0 * (bound - end) / abs(end):+.2f}" for bound in passes]
            so_near = next((f"{n}" for n, bound in zip(PASSES, passes, strict=True) if bound >= end - within), "-")
            rows.append((name, str(seed), f"{end:,.0f}", str(near), so_near, *shown))
    print(f"{ELEMENT}, K = {options.components}, {BATCHES} batches a pass\n")
    print(table(rows))
    print(f"\nplain: the bound of {options.plain:,} plain iterations")
    print("iterations, passes: how many of them, and how many passes of batches, come within 0.1% of it or further")
    print("1 to 80: the bound after so many passes, in % above or below that of plain iterations")
    print("target: fewer passes than iterations")


if __name__ == "__main__":
    main()
