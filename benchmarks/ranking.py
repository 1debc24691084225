"""How well defaults rank: dcpf, the paper's settings and implicit's ALS, each as it comes, on files of counts.

    python -m benchmarks.ranking FILE[:MIN] ... [--splits 3]

MIN is how many pairs a user and an item must have to stay. A fifth of the pairs is held out, NDCG@100 is measured at
thresholds 0, 1, 2 and 5, and the mean over the splits is shown. Behind each other method stands in how many of these
figures dcpf is ahead of it, and the smallest lead with its paired 95% interval.
"""

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import table
from dcpf import DCPF, evaluate, read_counts
from dcpf.baselines.implicit_models import ImplicitALS
from dcpf.evaluation.result import Evaluation

THRESHOLDS = (0, 1, 2, 5)


def models(seed: int) -> dict[str, Any]:
    """Each with its defaults."""
    return {
        "dcpf": DCPF(random_state=seed),
        "paper": DCPF.paper(random_state=seed),
        "implicit ALS": ImplicitALS(weighting="raw", random_state=seed),
        "implicit ALS, binary": ImplicitALS(random_state=seed),
    }


def measure(path: Path, least: int, splits: int) -> list[dict[str, Evaluation]]:
    """What each has found in each split."""
    counts = read_counts(path).filter(least, least)
    found = []
    for seed in range(splits):
        train, test = counts.split(0.2, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(
                {name: evaluate(model.fit(train), test, 100, THRESHOLDS) for name, model in models(seed).items()}
            )
    return found


def rows_of(found: list[dict[str, Evaluation]]) -> list[tuple[str, ...]]:
    """A row for each method."""
    rows = []
    for name in found[0]:
        means = [np.mean([one[name].mean("ndcg", s) for one in found]) for s in THRESHOLDS]
        row = (name, *(f"{mean:.4f}" for mean in means))
        if name == "dcpf":
            rows.append((*row, ""))
            continue
        lines = [line for one in found for line in one["dcpf"].compare(one[name]).lines if line.metric == "ndcg"]
        leads = [line for line in lines if np.isfinite(line.difference)]  # nobody has a count above some thresholds
        worst = min(leads, key=lambda line: line.difference)
        ahead = sum(line.difference > 0.0 for line in leads)
        lead = f"{worst.difference:+.4f} ({worst.low:+.4f} to {worst.high:+.4f})"
        rows.append((*row, f"ahead in {ahead} of {len(leads)}, least {lead}"))
    return rows


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args()
    for given in options.files:
        path, _, least = given.partition(":")
        print(f"\n{Path(path).stem}, at least {least or 1} pairs, {options.splits} splits", flush=True)
        heading = ("", *(f"NDCG{s}" for s in THRESHOLDS), "dcpf against it")
        print(table([heading, *rows_of(measure(Path(path), int(least or 1), options.splits))]), flush=True)


if __name__ == "__main__":
    main()
