"""The parameters to tune, the objective, and the trials of a search with their tables and verdict."""

import re
import shlex
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dcpf.counts import Counts
from dcpf.evaluation.judging import evaluate
from dcpf.evaluation.metrics import METRICS
from dcpf.evaluation.result import mean_intervals, mean_of
from dcpf.evaluation.result_table import Cell, ResultTable
from dcpf.model import DCPF
from dcpf.text import plural

Floats = NDArray[np.float64]

DEFAULT_METRIC = "ndcg@100>0,ndcg@100>1,ndcg@100>2,ndcg@100>5"
"""The mean by which the leaderboard chooses parameters, too."""

LABELS = {
    "n_neighbors": "neighbours",
    "neighbor_prior": "neighbour prior",
    "element": "element",
    "shape_prior": "shape prior",
    "n_components": "components",
}
_OPTIONS = {"n_components": "--components", "n_neighbors": "--neighbors"}  # the others are called as they are

_METRIC = re.compile(r"(?P<name>[a-z_]+)(?:@(?P<k>\d+))?(?:>(?P<threshold>\d+))?")


@dataclass(frozen=True)
class TunedParameters:
    """The parameters of `DCPF` that are tuned, by default its own defaults."""

    n_components: int = DCPF().n_components
    element: str = str(DCPF().element)
    n_neighbors: int = DCPF().n_neighbors
    neighbor_prior: float = DCPF().neighbor_prior
    shape_prior: float = float(DCPF().shape_prior)  # type: ignore[arg-type]

    @property
    def factors(self) -> tuple[int, str, float]:
        """The parameters of the factors; if these agree, models differ in excitation alone."""
        return self.n_components, self.element, self.shape_prior

    @property
    def possible(self) -> bool:
        """Whether the model has any part to learn."""
        return self.n_components > 0 or self.n_neighbors > 0

    @property
    def changes(self) -> dict[str, Any]:
        """The parameters that are not the default."""
        return {name: value for name, value in asdict(self).items() if value != getattr(DEFAULT, name)}

    def changed(self, **parameters: Any) -> "TunedParameters":
        """The same with other parameters. Without excitation its prior has no effect, and is the default."""
        new = replace(self, **parameters)
        return new if new.n_neighbors else replace(new, neighbor_prior=DEFAULT.neighbor_prior)

    def distance(self, other: "TunedParameters") -> int:
        """The number of parameters in which they differ."""
        return sum(getattr(self, one.name) != getattr(other, one.name) for one in fields(self))

    def __str__(self) -> str:
        return ", ".join(f"{LABELS[name]} {spelt(value)}" for name, value in self.changes.items()) or "the default"


DEFAULT = TunedParameters()


@dataclass(frozen=True)
class ListMetric:
    """A metric of lists of k items, where a test count above the threshold is relevant."""

    metric: str
    k: int = 100
    threshold: int = 0

    def __str__(self) -> str:
        return f"{self.metric}@{self.k}>{self.threshold}"


@dataclass(frozen=True)
class Gain:
    """The difference of two scores, with a 95% interval over users."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.4f} [{self.low:+.4f} to {self.high:+.4f}]"


@dataclass(frozen=True)
class Objective:
    """The mean of one or more metrics, by which parameters are chosen."""

    parts: tuple[ListMetric, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """From a text such as "ndcg@100>2,recall@20". By default lists have 100 items, and the threshold is 0."""
        return cls(tuple(dict.fromkeys(_list_metric(one.strip(), text) for one in text.split(","))))

    def __str__(self) -> str:
        return ",".join(map(str, self.parts))

    def values(self, model: Any, test: Counts) -> Floats:
        """Each metric for each user: users x metrics, NaN where a user has no relevant item."""
        columns = {}
        for k in {part.k for part in self.parts}:
            parts = [part for part in self.parts if part.k == k]
            result = evaluate(model, test, k, [part.threshold for part in parts])
            for part in parts:
                columns[part] = result.values[part.metric][:, result.thresholds.index(part.threshold)]
        return np.column_stack([columns[part] for part in self.parts])

    def score(self, values: Floats) -> float:
        """The mean over metrics of their means over users. A metric without any user is left out."""
        score = mean_of(np.array([mean_of(column) for column in values.T]))
        if np.isnan(score):
            raise ValueError(
                f"{self} judges nobody: no held-out count is above {min(part.threshold for part in self.parts)}; "
                "choose a lower threshold"
            )
        return score

    def gain(self, values: Floats, others: Floats) -> Gain:
        """The difference of two scores over the same users, and its bootstrap interval."""
        apart = values - others
        apart = apart[:, np.isfinite(apart).any(axis=0)]
        means = np.nanmean(apart, axis=0)
        # A user's contribution to the mean over metrics: a metric with fewer users gives each a larger weight.
        weights = len(apart) / np.isfinite(apart).sum(axis=0)
        by_user = (means + np.nan_to_num(weights * (apart - means))).mean(axis=1)
        low, high = mean_intervals(by_user[:, None], 0.95, np.random.default_rng(0))
        return Gain(float(means.mean()), float(low[0]), float(high[0]))


def _list_metric(one: str, text: str) -> ListMetric:
    read = _METRIC.fullmatch(one.lower().replace("-", "_").replace(" ", ""))
    if read is None:
        raise ValueError(f"metric {one!r} of {text!r} cannot be read: write it as ndcg@100>2, several with commas")
    if read["name"] not in METRICS:
        raise ValueError(f"unknown metric {read['name']!r} in {text!r}: choose one of {', '.join(METRICS)}")
    metric = ListMetric(read["name"], int(read["k"] or 100), int(read["threshold"] or 0))
    if metric.k < 1:
        raise ValueError(f"metric {one!r} of {text!r}: a list must have at least 1 item")
    return metric


@dataclass(frozen=True)
class Trial:
    """The result of some parameters on one of the two splits."""

    settings: TunedParameters
    again: bool  # on the second split, by which they were not chosen
    score: float
    gain: Gain  # over the default, on the same users
    iterations: int
    seconds: float
    stopped: bool = False  # early, as hopeless; the score is that of the unfinished fit

    @property
    def key(self) -> Hashable:
        """What was tried, and on which split."""
        return self.settings, self.again

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """The trial that a line of a journal holds."""
        return cls(**plain | {"settings": TunedParameters(**plain["settings"]), "gain": Gain(**plain["gain"])})


@dataclass(frozen=True)
class Tuned:
    """All trials of a search, and the parameters chosen."""

    objective: Objective
    trials: tuple[Trial, ...]  # in their order; the first is the default
    confirmed: Trial | None  # the best on the second split; None if the default is the best
    seed: int

    @property
    def best(self) -> Trial:
        """The trial with the best score, the first of equal ones."""
        return max(self.trials, key=lambda one: one.score)

    @property
    def chosen(self) -> TunedParameters:
        """The best parameters if they are clearly better than the default on both splits, else the default."""
        second = self.confirmed
        clear = second is not None and self.best.gain.low > 0.0 and second.gain.low > 0.0
        return self.best.settings if clear else DEFAULT

    def model(self, **parameters: Any) -> DCPF:
        """An unfitted model with the chosen parameters."""
        return DCPF(**asdict(self.chosen) | {"random_state": self.seed} | parameters)

    def by_value(self) -> dict[str, dict[Any, Trial]]:
        """For each parameter, the best trial of each value; numbers ascend, elements come as they were tried."""
        best: dict[str, dict[Any, Trial]] = {}
        for name in LABELS:
            groups: dict[Any, list[Trial]] = {}
            for trial in self.trials:
                groups.setdefault(getattr(trial.settings, name), []).append(trial)
            values = groups if name == "element" else sorted(groups)
            best[name] = {value: max(groups[value], key=lambda one: one.score) for value in values}
        return best

    @property
    def verdict(self) -> list[str]:
        """Whether the best parameters are better than the default, in plain words."""
        best, second = self.best, self.confirmed
        if second is None:
            return [f"No trial ranks better than the default ({best.score:.4f}). Keep the default."]
        said = [
            f"The best trial has {best.score:.4f}, the default {self.trials[0].score:.4f}: {best.gain}. This is "
            f"optimistic, as it is the best of {len(self.trials)} on the same held-out counts.",
            f"On other held-out counts, by which it was not chosen: {second.gain}.",
        ]
        if self.chosen == DEFAULT:
            return [*said, "It is not clearly better on both. Keep the default."]
        return [*said, "It is better on both. Use it."]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain numbers, strings, lists and dicts."""
        return {
            "metric": str(self.objective),
            "seed": self.seed,
            "chosen": asdict(self.chosen),
            "is_default": self.chosen == DEFAULT,
            "python": as_python(self.chosen, self.seed),
            "best": asdict(self.best),
            "confirmed": None if self.confirmed is None else asdict(self.confirmed),
            "trials": [asdict(one) for one in self.trials],
            "mattered": {
                name: [{"value": value, "score": one.score, "stopped": one.stopped} for value, one in best.items()]
                for name, best in self.by_value().items()
            },
            "verdict": self.verdict,
        }


def ranking(tuned: Tuned) -> ResultTable:
    """The trials, the best first."""
    ranked = sorted(tuned.trials, key=lambda one: -one.score)  # equal ones in the order of the search
    rows = []
    for trial in ranked:
        gain = f"{trial.gain.mean:+.4f} ±{(trial.gain.high - trial.gain.low) / 2.0:.4f}"
        mark = "stopped early" if trial.stopped else "default" if trial.settings == DEFAULT else gain
        values = [Cell(spelt(getattr(trial.settings, name))) for name in LABELS]
        rows.append((Cell(trial.score, 4, bold=trial is ranked[0]), Cell(mark), *values, Cell(trial.seconds, 1)))
    columns = ("score", "over default", *LABELS.values(), "seconds")
    title = f"{plural(len(rows), 'trial')} by {tuned.objective}"
    return ResultTable("trials", title, columns, tuple(rows), ("± is half of a 95% interval over users.",))


def what_mattered(tuned: Tuned) -> ResultTable:
    """For each parameter, the best score with each value, and the range of these."""
    rows, starred = [], False
    for name, best in tuned.by_value().items():
        scores = [one.score for one in best.values()]
        spread = Cell(max(scores) - min(scores), 4) if len(scores) > 1 else Cell("not varied")
        words = [f"{spelt(value)}: {one.score:.4f}{'*' * one.stopped}" for value, one in best.items()]
        starred |= any(one.stopped for one in best.values())
        rows.append((Cell(LABELS[name]), spread, Cell(", ".join(words))))
    notes = ("* stopped early, as it was more than 5% below the best.",) if starred else ()
    return ResultTable("mattered", "What mattered", ("", "range", "best score by value"), tuple(rows), notes)


def as_python(settings: TunedParameters, seed: int) -> str:
    """The model as you write it in Python."""
    changes = [f"{name}={value!r}" for name, value in settings.changes.items()]
    return f"DCPF({', '.join([*changes, f'random_state={seed}'])})"


def as_command(settings: TunedParameters, counts: str, output: str, more: Sequence[str] = ()) -> str:
    """The `dcpf fit` that makes the model; `more` are further options, such as names of columns."""
    return shlex.join(["dcpf", "fit", counts, "-o", output, *as_options(settings.changes), *more])


def as_options(parameters: Mapping[str, Any]) -> list[str]:
    """Parameters of a model as options of `dcpf fit`."""
    words = []
    for name, value in parameters.items():
        words += [_OPTIONS.get(name, f"--{name.replace('_', '-')}"), spelt(value)]
    return words


def spelt(value: Any) -> str:
    """A value as you type it: 40 for 40.0."""
    return value if isinstance(value, str) else f"{value:g}"
