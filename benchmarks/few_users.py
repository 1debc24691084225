"""How well defaults rank where users are few: some are drawn from files of counts, several times.

    python -m benchmarks.few_users FILE ... [--users 25 50 100 200] [--draws 4]

Of those who are drawn, users with three pairs and items with two stay. A fifth of the pairs is held out, and the mean
of NDCG@100 at threshold 0 is shown for each number of users. Nothing is tuned; EASE has a penalty of 200, and no
figure where it refuses so many items.
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import table
from dcpf import DCPF, Counts, evaluate, read_counts
from dcpf.baselines.ease import Ease, TooManyItems
from dcpf.baselines.implicit_models import ImplicitALS

METHODS: dict[str, Callable[[int], Any]] = {
    "dcpf": lambda seed: DCPF(random_state=seed),
    "factors alone": lambda seed: DCPF(n_neighbors=0, random_state=seed),
    "implicit ALS": lambda seed: ImplicitALS(weighting="raw", random_state=seed),
    "EASE": lambda seed: Ease(regularization=200.0, weighting="log"),
}


def measure(counts: Counts, users: int, draws: int) -> list[str]:
    """The mean of each method."""
    found: dict[str, list[float]] = {name: [] for name in METHODS}
    for seed in range(draws):
        some = np.random.default_rng(seed).choice(counts.shape[0], min(users, counts.shape[0]), replace=False)
        train, test = counts.select(users=np.sort(some)).filter(3, 2).split(0.2, seed)
        for name, make in METHODS.items():
            try:
                found[name].append(evaluate(make(seed).fit(train), test, 100, (0,)).mean("ndcg", 0))
            except TooManyItems:
                found[name].append(np.nan)
    return [f"{np.mean(values):.3f}" for values in found.values()]


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--users", nargs="+", type=int, default=[25, 50, 100, 200])
    parser.add_argument("--draws", type=int, default=4)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for path in options.files:
        counts = read_counts(path)
        rows = [(f"{users}", *measure(counts, users, options.draws)) for users in options.users]
        print(f"\n{path.stem}\n{table([('users', *METHODS), *rows])}", flush=True)


if __name__ == "__main__":
    main()
