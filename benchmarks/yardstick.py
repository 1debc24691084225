"""One iteration against a fixed piece of numpy on the same data: a number that tells if dcpf has become slower.

    python -m benchmarks.yardstick [--rounds 9]

Times vary from machine to machine and from hour to hour, their ratio much less: both run in turns, on one thread.
"""

import argparse
import statistics
import time

import numpy as np

from benchmarks.datasets import taste_profile_shaped
from benchmarks.iteration import dcpf_iteration
from dcpf.kernels.threads import Threads

USERS, ITEMS, ENTRIES, COMPONENTS = 3_600, 2_700, 60_000, 50
GATHERS = 3


def ratio(rounds: int = 9, entries: int = ENTRIES) -> float:
    """The time of a default iteration as a part of that of the yardstick: rates at all entries, three times."""
    matrix = taste_profile_shaped(USERS, ITEMS, entries)
    coo = matrix.tocoo()
    rng = np.random.default_rng(0)
    W, H = (rng.random((size, COMPONENTS), dtype=np.float32) for size in matrix.shape)
    ratios = []
    with Threads(1) as threads:
        iteration = dcpf_iteration(matrix, "shifted-nb", COMPONENTS, threads)
        for _ in range(rounds):
            began = time.perf_counter()
            iteration()
            between = time.perf_counter()
            for _ in range(GATHERS):
                (W[coo.row] * H[coo.col]).sum(axis=1)
            ratios.append((between - began) / (time.perf_counter() - between))
    return statistics.median(ratios)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--entries", type=int, default=ENTRIES)
    arguments = parser.parse_args()
    print(f"one iteration takes {ratio(arguments.rounds, arguments.entries):.2f} of the numpy yardstick")


if __name__ == "__main__":
    main()
