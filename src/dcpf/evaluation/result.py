"""What an evaluation has found: by user, on average with intervals, and compared with another one."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dcpf.counts import Ids
from dcpf.ranking.lists import frame_of

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]

RESAMPLES = 1000
_AT_ONCE = 1 << 23  # numbers in memory


def mean_of(values: Floats) -> float:
    """The mean of all values that are not NaN, or NaN if there are none."""
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")


def mean_intervals(values: Floats, level: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Percentile bootstrap intervals of the column means of a users x columns array, ignoring NaN.

    Users are resampled, the same ones for all columns; a resample without any value in a column is ignored there. A
    column with fewer than two values has no interval: both ends are NaN.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, such as 0.95, found {level!r}")
    users = len(values)
    known = np.isfinite(values)
    table = np.hstack([np.where(known, values, 0.0), known])
    sums = np.empty((RESAMPLES, table.shape[1]))
    step = max(1, _AT_ONCE // max(users, 1))
    for start in range(0, RESAMPLES, step):
        size = min(step, RESAMPLES - start)
        drawn = rng.integers(users, size=(size, users)) + users * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * users).reshape(size, users)
        sums[start : start + size] = times @ table
    columns = values.shape[1]
    low, high = np.full(columns, np.nan), np.full(columns, np.nan)
    for j in np.flatnonzero(known.sum(axis=0) > 1):
        drawn_any = sums[:, columns + j] > 0
        means = sums[drawn_any, j] / sums[drawn_any, columns + j]
        low[j], high[j] = np.quantile(means, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return low, high


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """A plain-text table; the first column is aligned to the left and the others to the right."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    cells = ([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in rows)
    return "\n".join("  ".join(row).rstrip() for row in cells)


@dataclass(frozen=True)
class Line:
    """The mean of a metric at a threshold, over the users for whom it is defined, with a confidence interval."""

    metric: str
    threshold: int | None  # None for novelty and coverage, which do not depend on relevance
    users: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """The means of two models over the same users, and the mean of their differences with an interval."""

    metric: str
    threshold: int
    users: int
    first: float
    second: float
    difference: float
    low: float
    high: float
    better: int  # users for whom the first model is better
    worse: int
    p_value: float  # of a two-sided paired t-test; 1 if the models agree for all users

    @classmethod
    def of(
        cls, metric: str, threshold: int, first: Floats, second: Floats, interval: Sequence[float]
    ) -> "Difference":
        """From the values by user, where NaN leaves a user out."""
        both = np.isfinite(first) & np.isfinite(second)
        first, second = first[both], second[both]
        apart = first - second
        if len(apart) == 0:
            nan = float("nan")
            return cls(metric, threshold, 0, nan, nan, nan, nan, nan, 0, 0, nan)
        p_value = 1.0
        if len(apart) > 1 and np.ptp(apart) > 0.0:
            p_value = float(stats.ttest_1samp(apart, 0.0).pvalue)
        elif np.any(apart != 0.0):
            p_value = float("nan")  # the difference is the same for all users, so its spread is unknown
        means = float(first.mean()), float(second.mean()), float(apart.mean())
        counts = int((apart > 0.0).sum()), int((apart < 0.0).sum())
        low, high = interval
        return cls(metric, threshold, len(apart), *means, low, high, *counts, p_value)


@dataclass(frozen=True, repr=False)
class Comparison:
    """A paired comparison of two evaluations. Prints as a table."""

    k: int
    users: int
    lines: tuple[Difference, ...]
    level: float
    notes: tuple[str, ...] = ()

    def to_frame(self) -> "pl.DataFrame":
        """A polars table with a row for each metric and threshold."""
        import polars as pl

        return pl.DataFrame([asdict(line) for line in self.lines])

    def to_dict(self) -> dict[str, Any]:
        """The same as plain numbers, strings, lists and dicts."""
        lines = [asdict(one) for one in self.lines]
        return {"k": self.k, "users": self.users, "level": self.level, "lines": lines, "notes": list(self.notes)}

    def __repr__(self) -> str:
        return f"<Comparison over {self.users:,} users, lists of {self.k}; print() shows it>"

    def __str__(self) -> str:
        level = f"{self.level:.0%} interval"
        rows = [["metric", "s", "first", "second", "difference", level, "better", "worse", "p"]]
        for one in self.lines:
            name, p = one.metric.replace("_", " "), one.p_value
            row = [name, str(one.threshold), f"{one.first:.4f}", f"{one.second:.4f}", f"{one.difference:+.4f}"]
            interval = "-" if np.isnan(one.low) else f"{one.low:+.4f} to {one.high:+.4f}"
            row += [interval, f"{one.better:,}", f"{one.worse:,}"]
            rows.append([*row, f"{p:.1e}" if p < 0.001 else f"{p:.3f}"])
        return "\n".join([aligned(rows), *(f"note: {note}" for note in self.notes)])


@dataclass(frozen=True, repr=False)
class Evaluation:
    """How well lists of k items ranked held-out items. Prints as a table.

    `values` has an array of users x thresholds for each metric, NaN where a user has no relevant item.
    """

    k: int
    thresholds: tuple[int, ...]
    users: Ids
    values: dict[str, Floats]
    relevant: NDArray[np.int64]  # number of relevant items: users x thresholds
    novelty: Floats | None  # by user, in bits; None if the training counts are unknown
    coverage: float  # share of all items that are in at least one list
    notes: tuple[str, ...] = ()

    def mean(self, metric: str = "ndcg", threshold: int = 0) -> float:
        """The mean of a metric over the users with a relevant item; of novelty over all users; or coverage."""
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
        """All means, with bootstrap intervals of this level over users, from 1,000 resamples.

        Coverage is a property of all lists together and has no interval.
        """
        return self._default_lines if (level, seed) == (0.95, 0) else self._lines(level, seed)

    @cached_property
    def _default_lines(self) -> list[Line]:
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

    def _columns(self) -> Iterator[tuple[str, int | None, Floats]]:
        for name, values in self.values.items():
            yield from ((name, threshold, values[:, j]) for j, threshold in enumerate(self.thresholds))
        if self.novelty is not None:
            yield "novelty", None, self.novelty

    def to_frame(self, level: float = 0.95, seed: int = 0) -> "pl.DataFrame":
        """A polars table with columns metric, threshold, users, mean, low and high."""
        import polars as pl

        schema = {"metric": pl.String, "threshold": pl.Int64, "users": pl.Int64}
        schema |= dict.fromkeys(("mean", "low", "high"), pl.Float64)
        return pl.DataFrame([vars(line) for line in self.lines(level, seed)], schema=schema)

    def to_dict(self, level: float = 0.95, seed: int = 0) -> dict[str, Any]:
        """The same as plain numbers, strings, lists and dicts, with None for NaN."""
        return {
            "k": self.k,
            "thresholds": list(self.thresholds),
            "users": len(self.users),
            "metrics": [
                {name: None if value != value else value for name, value in vars(line).items()}  # NaN is not itself
                for line in self.lines(level, seed)
            ],
            "notes": list(self.notes),
        }

    def per_user(self) -> "pl.DataFrame":
        """A polars table with a row per user and columns ndcg_0, ndcg_1, ...; null without a relevant item."""
        import polars as pl

        columns = {
            name if threshold is None else f"{name}_{threshold}": pl.Series(values).fill_nan(None)
            for name, threshold, values in self._columns()
        }
        return frame_of({"user": list(self.users), **columns})

    def compare(self, other: "Evaluation", level: float = 0.95, seed: int = 0) -> Comparison:
        """A paired comparison with another model on the same test counts. The first model is this one."""
        if self.k != other.k:
            raise ValueError(f"lists of {self.k} and of {other.k} cannot be compared; evaluate both with the same k")
        rows = other.users.find_all(self.users)
        shared_rows = np.flatnonzero(rows >= 0)
        shared = [one for one in self.thresholds if one in other.thresholds]
        if not len(shared_rows) or not shared:
            raise ValueError("the two evaluations have no users, or no thresholds, in common")
        mine, theirs = ([one.thresholds.index(threshold) for threshold in shared] for one in (self, other))
        same = self.relevant[shared_rows][:, mine] == other.relevant[rows[shared_rows]][:, theirs]
        users = shared_rows[same.all(axis=1)]
        if not len(users):
            raise ValueError("the evaluations are of other test counts: no user has as many relevant items in both")
        pairs = [
            (name, threshold, self.values[name][users, mine[j]], other.values[name][rows[users], theirs[j]])
            for name in self.values
            for j, threshold in enumerate(shared)
        ]
        apart = np.column_stack([first - second for _, _, first, second in pairs])
        intervals = np.column_stack(mean_intervals(apart, level, np.random.default_rng(seed))).tolist()
        lines = [Difference.of(*pair, interval) for pair, interval in zip(pairs, intervals, strict=True)]
        left_out = len(shared_rows) - len(users)
        notes = [f"users whose relevant items differ, left out: {left_out:,}"] if left_out else []
        for which, evaluation in (("first", self), ("second", other)):
            notes += [f"of the {which}: {note}" for note in evaluation.notes]
        return Comparison(self.k, len(users), tuple(lines), level, tuple(notes))

    def __repr__(self) -> str:
        ndcg = ", ".join(f"{self.mean('ndcg', one):.3f}" for one in self.thresholds)
        return f"<Evaluation of {len(self.users):,} users, lists of {self.k}: NDCG {ndcg}; print() shows all>"

    def __str__(self) -> str:
        lines = {(line.metric, line.threshold): line for line in self.lines()}
        rows = [["", *(f"s = {one}" for one in self.thresholds)]]
        rows.append(["users", *(f"{lines['ndcg', one].users:,}" for one in self.thresholds)])
        for name in self.values:
            rows.append([name.replace("_", " "), *(_with_margin(lines[name, one]) for one in self.thresholds)])
        text = [
            f"Lists of {self.k}. An item is relevant if its test count is above s. ± is half of a 95% interval.",
            aligned(rows),
        ]
        if not math.isnan(self.coverage):
            text.append(f"coverage   {self.coverage:.1%} of the items are in at least one list")
        if self.novelty is not None:
            bits = mean_of(self.novelty)
            text.append(f"novelty    {bits:.2f} bits: mean -log2 of the share of users who have a listed item")
        return "\n".join([*text, *(f"note: {note}" for note in self.notes)])


def _with_margin(line: Line) -> str:
    if not line.users:
        return "-"
    return f"{line.mean:.3f}" + (f" ±{(line.high - line.low) / 2.0:.3f}" if line.users > 1 else "")
