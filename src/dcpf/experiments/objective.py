"""What settings are chosen by, such as "ndcg@100>2": from its text to one number for a model."""

import re
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dcpf.counts import Counts
from dcpf.evaluation import evaluate
from dcpf.evaluation.result import mean_intervals, mean_of
from dcpf.evaluation.metrics import METRICS

Floats = NDArray[np.float64]

USUAL = "ndcg@100>0,ndcg@100>1,ndcg@100>2,ndcg@100>5"
"""The mean by which the leaderboard chooses settings, too."""

_PART = re.compile(r"(?P<name>[a-z_]+)(?:@(?P<k>\d+))?(?:>(?P<threshold>\d+))?")


@dataclass(frozen=True)
class Part:
    """A metric of lists of k items, where a count above the threshold is relevant."""

    metric: str
    k: int = 100
    threshold: int = 0

    def __str__(self) -> str:
        return f"{self.metric}@{self.k}>{self.threshold}"


@dataclass(frozen=True)
class Gain:
    """By how much one model is better than another, with a 95% interval over users."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Objective:
    """The mean of one or more metrics."""

    parts: tuple[Part, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """From a text such as "ndcg@100>2,recall@20".

        Without @ lists have 100 items, without > any count is relevant.
        """
        return cls(tuple(dict.fromkeys(_part(one.strip(), text) for one in text.split(","))))

    def __str__(self) -> str:
        return ",".join(map(str, self.parts))

    def values(self, model: Any, test: Counts) -> Floats:
        """Each part for each user: users x parts, NaN where a user has no relevant item."""
        found = {}
        for k in {part.k for part in self.parts}:
            levels = [part.threshold for part in self.parts if part.k == k]
            found[k] = evaluate(model, test, k, levels)
        columns = [
            found[part.k].values[part.metric][:, found[part.k].thresholds.index(part.threshold)]
            for part in self.parts
        ]
        return np.column_stack(columns)

    def score(self, values: Floats) -> float:
        """The mean over parts of their means over users. A part for which there is nobody is left out."""
        score = mean_of(np.array([mean_of(column) for column in values.T]))
        if np.isnan(score):
            raise ValueError(
                f"{self} judges nobody: no held-out count is above {min(part.threshold for part in self.parts)}; "
                "choose a lower threshold"
            )
        return score

    def gain(self, values: Floats, others: Floats) -> Gain:
        """The difference of two scores of the same users, and its interval by resampling them."""
        apart = values - others
        apart = apart[:, np.isfinite(apart).any(axis=0)]
        means = np.nanmean(apart, axis=0)
        # What each user adds to the mean of the parts: a part has fewer users than there are, so each weighs more.
        weights = len(apart) / np.isfinite(apart).sum(axis=0)
        by_user = (means + np.nan_to_num(weights * (apart - means))).mean(axis=1)
        low, high = mean_intervals(by_user[:, None], 0.95, np.random.default_rng(0))
        return Gain(float(means.mean()), float(low[0]), float(high[0]))


def _part(one: str, text: str) -> Part:
    read = _PART.fullmatch(one.lower().replace("-", "_").replace(" ", ""))
    if read is None:
        raise ValueError(f"metric {one!r} of {text!r} cannot be read: write it as ndcg@100>2, several with commas")
    if read["name"] not in METRICS:
        raise ValueError(f"unknown metric {read['name']!r} in {text!r}: choose one of {', '.join(METRICS)}")
    part = Part(read["name"], int(read["k"] or 100), int(read["threshold"] or 0))
    if part.k < 1:
        raise ValueError(f"metric {one!r} of {text!r}: a list must have at least 1 item")
    return part
