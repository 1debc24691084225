"""What to give EASE and ALS in the place of counts: counts, ones, logarithms, or expected sessions.

    python -m benchmarks.weights FILE.parquet ... [--min-per-item 5] [--seed 0]

A fifth of the entries is held out. Weights are scaled to a mean of 1, so that all face the same penalties, and for
each kind of weights the penalties are chosen on a fifth of the training counts. Lists of 100; NDCG where a test count
above 0 or above 5 is relevant. What sessions gain or lose against the best of the others is a mean over users of
differences, with its 95% interval.
"""

import argparse
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scipy import sparse

from benchmarks.timing import table
from dcpf import Counts, SessionCounts, evaluate, read_counts
from dcpf.baselines import Baseline, Ease, ImplicitALS
from dcpf.baselines.base import weighted

WEIGHTS = ("raw", "binary", "log", "sessions")
LENGTH = 100
THRESHOLDS = (0, 5)
METHODS: dict[str, tuple[type[Baseline], list[dict[str, Any]]]] = {
    "EASE": (Ease, [{"regularization": float(penalty)} for penalty in (20, 100, 500, 2500)]),
    "ALS": (
        ImplicitALS,
        [{"alpha": alpha, "regularization": penalty} for alpha in (1.0, 8.0) for penalty in (2.0, 15.0, 80.0)],
    ),
}


@dataclasses.dataclass(frozen=True)
class Weights:
    """Weights of one kind, learned from training counts and scaled to a mean of 1 over these."""

    make: Callable[[sparse.csr_array], sparse.csr_array]
    scale: float

    @classmethod
    def of(cls, kind: str, train: Counts, seed: int) -> "Weights":
        """Raw, binary, log, or sessions."""

        def named(counts: sparse.csr_array) -> sparse.csr_array:
            return weighted(counts, kind)  # type: ignore[arg-type]  # one of its names

        make = SessionCounts(random_state=seed).fit(train).transform if kind == "sessions" else named
        return cls(make, 1.0 / float(make(train.matrix).data.mean()))

    def __call__(self, counts: sparse.csr_array) -> sparse.csr_array:
        """The weights of some users."""
        return self.make(counts) * self.scale


def chosen(method: type[Baseline], grid: list[dict[str, Any]], kind: str, train: Counts, seed: int) -> dict[str, Any]:
    """The penalties that rank a fifth of the training counts best."""
    rest, aside = train.split(0.2, seed=seed + 1)
    weights = Weights.of(kind, rest, seed)
    models = (method(weighting=weights, **one).fit(rest) for one in grid)
    found = [evaluate(model, aside, LENGTH, (0,)).mean("ndcg") for model in models]
    return grid[found.index(max(found))]


def compare(counts: Counts, seed: int) -> list[tuple[str, ...]]:
    """A row of the table for each method."""
    train, test = counts.split(0.2, seed=seed)
    rows = []
    for name, (method, grid) in METHODS.items():
        found = {}
        for kind in WEIGHTS:
            settings = chosen(method, grid, kind, train, seed)
            model = method(weighting=Weights.of(kind, train, seed), **settings)
            found[kind] = evaluate(model.fit(train), test, LENGTH, THRESHOLDS)
            print(f"  {name} {kind} {settings}", flush=True)
        cells = [" / ".join(f"{found[kind].mean('ndcg', t):.3f}" for t in THRESHOLDS) for kind in WEIGHTS]
        gains = []
        for threshold in THRESHOLDS:
            best = max(WEIGHTS[:-1], key=lambda kind: found[kind].mean("ndcg", threshold))
            line = next(
                one
                for one in found["sessions"].compare(found[best]).lines
                if one.metric == "ndcg" and one.threshold == threshold
            )
            gains.append(f"{line.difference:+.3f} ({line.low:+.3f} to {line.high:+.3f}) vs {best}")
        rows.append((name, *cells, *gains))
    return rows


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--min-per-item", type=int, default=5, help="drop items with fewer users")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    heading = ("", *WEIGHTS, *(f"sessions, NDCG{t}" for t in THRESHOLDS))
    for file in options.files:
        counts = read_counts(file).filter(min_per_item=options.min_per_item)
        users, items = counts.shape
        print(f"{file.stem}: {users:,} users x {items:,} items, {counts.nnz:,} counts", flush=True)
        print(table([heading, *compare(counts, options.seed)]) + "\n", flush=True)


if __name__ == "__main__":
    main()
