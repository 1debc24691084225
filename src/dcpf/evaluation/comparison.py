"""Two models on the same users: who is better, by how much, and whether that may be chance."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dcpf.evaluation.text import aligned

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """The first model's mean, the second's, and the mean of their differences over the same users."""

    metric: str
    threshold: int
    users: int
    first: float
    second: float
    difference: float
    low: float
    high: float
    better: int  # users for whom the first is better
    worse: int
    p_value: float  # two-sided paired t-test; 1 where no user tells them apart

    @classmethod
    def of(
        cls, metric: str, threshold: int, first: Floats, second: Floats, interval: tuple[float, float]
    ) -> "Difference":
        """From the values by user; NaN where a user is left out."""
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
            p_value = float("nan")  # the same difference everywhere: nothing to judge it by
        means = float(first.mean()), float(second.mean()), float(apart.mean())
        counts = int((apart > 0.0).sum()), int((apart < 0.0).sum())
        return cls(metric, threshold, len(apart), *means, *interval, *counts, p_value)


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
