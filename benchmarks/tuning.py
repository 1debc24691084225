"""How well tuned methods rank: dcpf, EASE and implicit ALS, each with the same number of trials, on files of counts.

    python -m benchmarks.tuning FILE[:MIN] ... [--splits 2] [--trials 40]

MIN is how many pairs a user and an item must have to stay. A fifth of the pairs is held out for the end. dcpf is
tuned as `dcpf tune` does it. The others are tuned in the same way, by the same mean of NDCG@100 at thresholds 0, 1, 2
and 5 on a fifth of the training counts: one parameter after another is varied about the best so far, then two at
once. What each has chosen is fitted to all training counts, and the held-out pairs are looked at once. Below each
other method stand the differences with their paired 95% intervals.
"""

import argparse
import itertools
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ranking import THRESHOLDS
from benchmarks.timing import table
from dcpf import Counts, evaluate, read_counts
from dcpf.baselines import METHODS, Competitor
from dcpf.evaluation.result import Evaluation
from dcpf.evaluation.trials import DEFAULT_METRIC, Objective
from dcpf.evaluation.tuning import split, tune

Settings = dict[str, Any]
Values = tuple[Any, ...]
Grid = dict[str, Values]

# In the order in which parameters are varied; the first value is where the search begins, a good one on most data.
_PEERS: dict[str, Grid] = {
    "ease": {
        "weighting": ("log", "binary", "raw"),
        "regularization": (200.0, 20.0, 35.0, 50.0, 70.0, 100.0, 140.0, 280.0, 400.0, 560.0, 800.0, 1100.0, 1600.0,
                           2300.0, 3200.0, 4500.0, 6400.0, 9000.0),
    },
    "implicit-als": {
        "weighting": ("log", "binary", "raw"),
        "alpha": (10.0, 1.0, 2.0, 5.0, 20.0, 40.0),
        "regularization": (50.0, 5.0, 12.0, 25.0, 100.0, 200.0),
        "factors": (200, 50, 100, 400),
        "iterations": (15, 30),
    },
}  # fmt: skip


def proposals(grid: Grid, scores: dict[Values, float], seed: int) -> Iterator[Values]:
    """Settings to try, one parameter after another about the best of `scores`, then two at once, and so on."""
    rng = np.random.default_rng(seed)
    yield tuple(values[0] for values in grid.values())
    while True:
        before = len(scores)
        for place, values in enumerate(grid.values()):
            best = max(scores, key=scores.__getitem__)
            for value in values:
                one = (*best[:place], value, *best[place + 1 :])
                if one not in scores:
                    yield one
        if len(scores) == before:
            best = max(scores, key=scores.__getitem__)
            left = [one for one in itertools.product(*grid.values()) if one not in scores]
            if not left:
                return
            apart = [sum(mine != other for mine, other in zip(best, one, strict=True)) for one in left]
            yield left[int(rng.choice(np.flatnonzero(np.array(apart) == min(apart))))]


def chosen(peer: Competitor, grid: Grid, train: Counts, trials: int, seed: int) -> tuple[Settings, int]:
    """The settings with the best mean of NDCG on a fifth of the training counts, and how many were tried."""
    objective, (inner, aside) = Objective.parse(DEFAULT_METRIC), split(train, seed)
    scores: dict[Values, float] = {}
    for one in itertools.islice(proposals(grid, scores, seed), trials):
        scores[one] = objective.score(objective.values(peer.new(_named(grid, one), seed).fit(inner), aside))
    return _named(grid, max(scores, key=scores.__getitem__)), len(scores)


def _named(grid: Grid, values: Values) -> Settings:
    return dict(zip(grid, values, strict=True))


def measure(counts: Counts, seed: int, trials: int) -> list[tuple[str, ...]]:
    """A row for each method."""
    train, test = counts.split(0.2, seed)
    began = time.perf_counter()
    tuned = tune(train, trials=trials, seed=seed)
    took = time.perf_counter() - began
    ours = evaluate(tuned.model().fit(train), test, 100, THRESHOLDS)
    rows = [("dcpf", *_means(ours), f"{len(tuned.trials)} trials, {took:.0f} s: {tuned.chosen}")]
    for name, grid in _PEERS.items():
        peer, began = METHODS[name], time.perf_counter()
        settings, tried = chosen(peer, grid, train, trials, seed)
        took = time.perf_counter() - began
        theirs = evaluate(peer.new(settings, seed).fit(train), test, 100, THRESHOLDS)
        told = ", ".join(f"{parameter} {value}" for parameter, value in settings.items())
        rows.append((peer.label, *_means(theirs), f"{tried} trials, {took:.0f} s: {told}"))
        lines = [line for line in ours.compare(theirs).lines if line.metric == "ndcg"]
        for word, ends in (("dcpf ahead by", [line.difference for line in lines]),
                           ("  at least", [line.low for line in lines]),
                           ("  at most", [line.high for line in lines])):  # fmt: skip
            rows.append((word, *(f"{end:+.4f}" for end in ends), ""))
    return rows


def _means(found: Evaluation) -> list[str]:
    return [f"{found.mean('ndcg', s):.4f}" for s in THRESHOLDS]


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--trials", type=int, default=40)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for given, seed in itertools.product(options.files, range(options.splits)):
        path, _, least = given.partition(":")
        counts = read_counts(Path(path)).filter(int(least or 1), int(least or 1))
        users, items = counts.shape
        print(f"\n{Path(path).stem}, {users:,} x {items:,}, {counts.nnz:,} pairs, split {seed}", flush=True)
        heading = ("", *(f"NDCG{s}" for s in THRESHOLDS), "chosen")
        print(table([heading, *measure(counts, seed, options.trials)]), flush=True)


if __name__ == "__main__":
    main()
