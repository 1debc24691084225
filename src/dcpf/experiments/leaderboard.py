"""Quality, time and memory of dcPF and of what others would use, on the same split of the same counts.

Every contender chooses among a few settings by itself: each is fitted to a part of the training counts and judged by
the rest of them. What ranks best there, by the mean NDCG over all thresholds, is fitted to all training counts, and
only then judged by the test counts.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dcpf
from dcpf.counts import Counts
from dcpf.evaluation import Evaluation
from dcpf.experiments.contenders import CONTENDERS, Contender, Settings
from dcpf.experiments.worker import Round, Trial, Worker
from dcpf.model.saving import describe_data
from dcpf.store import replacing

Watch = Callable[[str, int, int], object]  # label of a contender, settings tried, settings in all

_REFUSALS = (ImportError, MemoryError, ValueError)  # what a peer may say instead of taking part


@dataclass(frozen=True)
class Attempt:
    """Settings that were tried, and their mean NDCG on the counts put aside from the training counts."""

    settings: Settings
    ndcg: float
    seconds: float  # of the fit


@dataclass(frozen=True)
class Entry:
    """A contender on one data set: what it chose, and how well that ranked. `refused` says why it did not run."""

    name: str
    settings: Settings
    attempts: tuple[Attempt, ...]
    ndcg: tuple[tuple[float | None, ...], ...]  # by user and threshold
    fit_seconds: float
    rank_seconds: float
    memory: int
    refused: str = ""

    @property
    def label(self) -> str:
        """The contender as it is called in tables."""
        return CONTENDERS[self.name].label

    @property
    def values(self) -> NDArray[np.float64]:
        """NDCG by user and threshold, NaN for users without a relevant item."""
        return np.array(self.ndcg, dtype=np.float64)

    @property
    def means(self) -> list[float]:
        """Mean NDCG by threshold, NaN where no user has a relevant item; none if it did not run."""
        return [] if self.refused else [mean(column) for column in self.values.T]

    @property
    def search_seconds(self) -> float:
        """Of all fits that were made to choose the settings."""
        return math.fsum(one.seconds for one in self.attempts)


@dataclass(frozen=True)
class Board:
    """All contenders on one data set."""

    name: str
    data: Mapping[str, Any]
    k: int
    thresholds: tuple[int, ...]
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Rules:
    """How a leaderboard is made."""

    k: int = 100
    thresholds: tuple[int, ...] = (0, 1, 2, 5)
    test_fraction: float = 0.2
    seed: int = 0
    names: tuple[str, ...] = tuple(CONTENDERS)


def leaderboard(
    counts: Counts, folder: Path, name: str, rules: Rules | None = None, *, watch: Watch | None = None
) -> Board:
    """Let all contenders run. What each has reached is kept in the folder, and a second call goes on from there."""
    rules = rules or Rules()
    unknown = [one for one in rules.names if one not in CONTENDERS]
    if unknown:
        raise ValueError(f"unknown method {unknown[0]!r}: choose of {', '.join(CONTENDERS)}")
    train, test = counts.split(rules.test_fraction, rules.seed)
    final = Round(train, test, rules.k, rules.thresholds, rules.seed)
    rehearsal = Round(*train.split(rules.test_fraction, rules.seed + 1), rules.k, rules.thresholds, rules.seed)
    data = describe_data(counts.matrix)
    entries = []
    for one in rules.names:
        contender = CONTENDERS[one]
        about = _about(contender, data, rules)
        path = folder / name / f"{one}.json"
        entry = _kept(path, about)
        if entry is None:
            entry = _take_part(contender, rehearsal, final, watch)
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as draft:
                draft.write_text(json.dumps({"about": about, "entry": asdict(entry)}, allow_nan=False))
        entries.append(entry)
    return Board(name, data, rules.k, rules.thresholds, tuple(entries))


def _about(contender: Contender, data: Mapping[str, Any], rules: Rules) -> dict[str, Any]:
    """What a kept result depends on."""
    told = {"version": dcpf.__version__, "data": dict(data), "grid": list(contender.grid)}
    rest = {name: value for name, value in asdict(rules).items() if name != "names"}
    plain: dict[str, Any] = json.loads(json.dumps(told | rest))
    return plain


def _kept(path: Path, about: dict[str, Any]) -> Entry | None:
    """What an earlier run has left. Results of other data or settings are refused, never replaced."""
    if not path.exists():
        return None
    found = json.loads(path.read_text())
    differing = [key for key in about if found["about"].get(key) != about[key]]
    if differing:
        what = " and another ".join(differing)
        raise ValueError(f"{path} was made with another {what}; choose another folder (-o), or remove it")
    kept = found["entry"]
    attempts = tuple(Attempt(**one) for one in kept["attempts"])
    return Entry(**kept | {"attempts": attempts, "ndcg": tuple(map(tuple, kept["ndcg"]))})


def _take_part(contender: Contender, rehearsal: Round, final: Round, watch: Watch | None) -> Entry:
    """Choose settings, then run. A peer that cannot take part says why."""
    try:
        attempts = tuple(_attempts(contender, rehearsal, watch))
        best = max(attempts, key=lambda one: one.ndcg, default=None)
        settings = contender.grid[0] if best is None else best.settings
        with Worker(final) as worker:
            trial = worker.try_out(contender.name, settings)
    except (*_REFUSALS, BrokenProcessPool) as error:
        if contender.ours:
            raise
        ended = isinstance(error, BrokenProcessPool)
        said = "its process was ended by the system, perhaps for want of memory" if ended else str(error)
        return Entry(contender.name, {}, (), (), 0.0, 0.0, 0, said or type(error).__name__)
    return _entry(contender, settings, attempts, trial)


def _attempts(contender: Contender, rehearsal: Round, watch: Watch | None) -> Iterable[Attempt]:
    """All settings of the grid, if there are several."""
    total = len(contender.grid)
    if total == 1:
        if watch is not None:
            watch(contender.label, 0, 1)
        return
    with Worker(rehearsal) as worker:
        for j, settings in enumerate(contender.grid):
            if watch is not None:
                watch(contender.label, j, total)
            trial = worker.try_out(contender.name, settings)
            yield Attempt(settings, _mean_ndcg(trial.evaluation), trial.fit_seconds)
    if watch is not None:
        watch(contender.label, total, total)


def mean(values: NDArray[np.float64]) -> float:
    """The mean without NaN, or NaN if there is nothing else."""
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else math.nan


def _mean_ndcg(found: Evaluation) -> float:
    return mean(np.array([found.mean("ndcg", one) for one in found.thresholds]))


def _entry(contender: Contender, settings: Settings, attempts: tuple[Attempt, ...], trial: Trial) -> Entry:
    values = trial.evaluation.values["ndcg"]
    ndcg = tuple(tuple(None if math.isnan(one) else one for one in row) for row in values.tolist())
    return Entry(contender.name, settings, attempts, ndcg, trial.fit_seconds, trial.rank_seconds, trial.memory)
