"""What an evaluation has found: by user, on average, and against another one."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcpf.counts import Ids
from dcpf.evaluation.bootstrap import mean_intervals, mean_of
from dcpf.evaluation.comparison import Comparison, Difference
from dcpf.evaluation.text import aligned
from dcpf.ranking.lists import ids_column

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """The mean of one metric at one threshold over the users for whom it is defined, with an interval."""

    metric: str
    threshold: int | None  # None where nothing is relevant or not: novelty, coverage
    users: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Evaluation:
    """How well lists of k items found what was held out. Prints as a table.

    `values` holds each metric as an array of users x thresholds, NaN where a user has no relevant item.
    """

    k: int
    thresholds: tuple[int, ...]
    users: Ids
    values: dict[str, Floats]
    relevant: NDArray[np.int64]  # items that each user should have been offered, by user and threshold
    novelty: Floats | None  # by user, in bits; None if nothing is known of who has what
    coverage: float  # share of all items that are in somebody's list
    notes: tuple[str, ...] = ()

    def mean(self, metric: str = "ndcg", threshold: int = 0) -> float:
        """The mean of a metric over the users with a relevant item; of novelty, over all; and coverage itself."""
        if metric == "coverage":
            return self.coverage
        if metric == "novelty" and self.novelty is not None:
            return mean_of(self.novelty)
        if metric not in self.values:
            raise ValueError(f"unknown metric {metric!r}: choose one of {', '.join(self.metrics)}")
        if threshold not in self.thresholds:
            raise ValueError(
                f"threshold {threshold!r} was not evaluated, only {', '.join(map(str, self.thresholds))}"
            )
        return mean_of(self.values[metric][:, self.thresholds.index(threshold)])

    @property
    def metrics(self) -> list[str]:
        """The names of all metrics."""
        return [*self.values, *(["novelty"] if self.novelty is not None else []), "coverage"]

    def lines(self, level: float = 0.95, seed: int = 0) -> list[Line]:
        """All means, with bootstrap intervals of this level: 1,000 times, as many users are drawn from these.

        Coverage is of all lists together and has no interval.
        """
        if (level, seed) == (0.95, 0):
            return self._usual_lines
        return self._lines(level, seed)

    @cached_property
    def _usual_lines(self) -> list[Line]:
        return self._lines(0.95, 0)

    def _lines(self, level: float, seed: int) -> list[Line]:
        columns = list(self._columns())
        values = np.column_stack([column for _, _, column in columns])
        low, high = mean_intervals(values, level, np.random.default_rng(seed))
        lines = [
            Line(name, threshold, int(np.isfinite(column).sum()), mean_of(column), float(low[j]), float(high[j]))
            for j, (name, threshold, column) in enumerate(columns)
        ]
        return [*lines, Line("coverage", None, len(self.users), self.coverage, np.nan, np.nan)]

    def _columns(self) -> "Iterator[tuple[str, int | None, Floats]]":
        for name, values in self.values.items():
            yield from ((name, threshold, values[:, j]) for j, threshold in enumerate(self.thresholds))
        if self.novelty is not None:
            yield "novelty", None, self.novelty

    def to_frame(self, level: float = 0.95, seed: int = 0) -> "pl.DataFrame":
        """A polars table: metric, threshold, users, mean, low, high."""
        import polars as pl

        schema = {"metric": pl.String, "threshold": pl.Int64, "users": pl.Int64}
        schema |= dict.fromkeys(("mean", "low", "high"), pl.Float64)
        return pl.DataFrame([vars(line) for line in self.lines(level, seed)], schema=schema)

    def to_dict(self, level: float = 0.95, seed: int = 0) -> dict[str, Any]:
        """The same as plain numbers, strings, lists and dicts; None where there is no number."""
        return {
            "k": self.k,
            "thresholds": list(self.thresholds),
            "users": len(self.users),
            "metrics": [
                {name: _or_none(value) for name, value in vars(line).items()} for line in self.lines(level, seed)
            ],
            "notes": list(self.notes),
        }

    def per_user(self) -> "pl.DataFrame":
        """A polars table with a row for each user: ndcg_0, ndcg_1, ... null where the user has no relevant item."""
        import polars as pl

        columns = {
            name if threshold is None else f"{name}_{threshold}": pl.Series(values).fill_nan(None)
            for name, threshold, values in self._columns()
        }
        return pl.DataFrame({"user": ids_column(list(self.users)), **columns})

    def compare(self, other: "Evaluation", level: float = 0.95, seed: int = 0) -> Comparison:
        """Compare with another model's evaluation on the same test counts, user by user: first is this one."""
        if self.k != other.k:
            raise ValueError(f"lists of {self.k} and of {other.k} cannot be compared; evaluate both with the same k")
        theirs = other.users.find_all(self.users)
        mine = np.flatnonzero(theirs >= 0)
        shared = [one for one in self.thresholds if one in other.thresholds]
        if not len(mine) or not shared:
            raise ValueError("the two evaluations have no users, or no thresholds, in common")
        theirs, here = theirs[mine], [self.thresholds.index(one) for one in shared]
        there = [other.thresholds.index(one) for one in shared]
        alike = (self.relevant[mine][:, here] == other.relevant[theirs][:, there]).all(axis=1)
        if not alike.any():
            raise ValueError("the evaluations are of other test counts: nobody should find as many items in both")
        mine, theirs = mine[alike], theirs[alike]
        names = [(name, one) for name in self.values for one in shared]
        pairs = []
        for name, one in names:
            ours = self.values[name][mine, self.thresholds.index(one)]
            pairs.append((ours, other.values[name][theirs, other.thresholds.index(one)]))
        low, high = mean_intervals(np.column_stack([a - b for a, b in pairs]), level, np.random.default_rng(seed))
        lines = [
            Difference.of(name, one, *pair, (float(low[j]), float(high[j])))
            for j, ((name, one), pair) in enumerate(zip(names, pairs, strict=True))
        ]
        left_out = len(alike) - len(mine)
        notes = [f"users whose relevant items differ, left out: {left_out:,}"] if left_out else []
        for which, evaluation in (("first", self), ("second", other)):
            notes += [f"of the {which}: {note}" for note in evaluation.notes]
        return Comparison(self.k, len(mine), tuple(lines), level, tuple(notes))

    def __repr__(self) -> str:
        ndcg = ", ".join(f"{self.mean('ndcg', one):.3f}" for one in self.thresholds)
        return f"<Evaluation of {len(self.users):,} users, lists of {self.k}: NDCG {ndcg}; print() shows all>"

    def __str__(self) -> str:
        lines = {(line.metric, line.threshold): line for line in self.lines()}
        rows = [["", *(f"s = {one}" for one in self.thresholds)]]
        rows.append(["users", *(f"{lines['ndcg', one].users:,}" for one in self.thresholds)])
        for name in self.values:
            rows.append([name.replace("_", " "), *(_with_margin(lines[name, one]) for one in self.thresholds)])
        told = [
            f"Lists of {self.k}. Relevant is what has a test count larger than s. ± is half of a 95% interval.",
            aligned(rows),
        ]
        if not math.isnan(self.coverage):
            told.append(f"coverage   {self.coverage:.1%} of the items are in somebody's list")
        if self.novelty is not None:
            bits = mean_of(self.novelty)
            told.append(f"novelty    {bits:.2f} bits: -log2 of the share of users who have a listed item, on average")
        return "\n".join([*told, *(f"note: {note}" for note in self.notes)])


def _or_none(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _with_margin(line: Line) -> str:
    if not line.users:
        return "-"
    return f"{line.mean:.3f}" + (f" ±{(line.high - line.low) / 2.0:.3f}" if line.users > 1 else "")
