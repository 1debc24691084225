"""Quality, time and memory of dcPF and of what others would use, on the same split of the same counts.

Every contender chooses among a few settings by itself: each is fitted to a part of the training counts and judged by
the rest of them. What ranks best there, by the mean NDCG over all thresholds, is fitted to all training counts, and
only then judged by the test counts.
"""

import importlib.metadata
import json
import math
from collections.abc import Callable, Mapping
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcpf.counts import Counts
from dcpf.evaluation import Evaluation
from dcpf.evaluation.result import mean_of
from dcpf.experiments.contenders import CONTENDERS, Contender, Settings
from dcpf.experiments.worker import Round, Trial, Worker
from dcpf.model.fitted import describe_data
from dcpf.store import replacing

Watch = Callable[[str, int, int], object]  # label of a contender, settings tried, settings in all


@dataclass(frozen=True)
class Attempt:
    """Settings that were tried, and their mean NDCG on the counts put aside from the training counts."""

    settings: Settings
    ndcg: float | None
    seconds: float  # of the fit
    failed: str = ""  # why there is no NDCG


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
        return [] if self.refused else [mean_of(column) for column in self.values.T]

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

    def check(self) -> None:
        """Refuse a method that is not there, by its name."""
        unknown = [one for one in self.names if one not in CONTENDERS]
        if unknown:
            raise ValueError(f"unknown method {unknown[0]!r}: choose of {', '.join(CONTENDERS)}")


def leaderboard(
    counts: Counts, folder: Path, name: str, rules: Rules | None = None, *, watch: Watch | None = None
) -> Board:
    """Let all contenders run. What each has reached is kept in the folder, and a second call goes on from there.

    `name` is that of the data, and of the folder within `folder`. Fits run in processes of their own: a script must
    call this under `if __name__ == "__main__":`. `standings.standings` makes a table of the board.
    """
    rules = rules or Rules()
    rules.check()
    train, test = counts.split(rules.test_fraction, rules.seed)
    final = Round(train, test, rules.k, rules.thresholds, rules.seed)
    rehearsal = Round(*train.split(rules.test_fraction, rules.seed + 1), rules.k, rules.thresholds, rules.seed)
    data = describe_data(counts.matrix)
    takes_part = [one for key, one in CONTENDERS.items() if key in rules.names]
    files = [_Kept(folder / name / f"{one.name}.json", _about(one, data, rules)) for one in takes_part]
    entries = [
        kept.entry or _take_part(one, rehearsal, final, kept, watch)
        for one, kept in zip(takes_part, files, strict=True)
    ]
    return Board(name, data, rules.k, rules.thresholds, tuple(entries))


def _about(contender: Contender, data: Mapping[str, Any], rules: Rules) -> dict[str, Any]:
    """What a kept result depends on."""
    versions = {name: _version(name) for name in ("dcpf", contender.package)}
    defaults = {name: repr(value) for name, value in contender.make().get_params().items()}
    told = {"versions": versions, "data": dict(data), "defaults": defaults, "grid": list(contender.grid)}
    rest = {name: value for name, value in asdict(rules).items() if name != "names"}
    plain: dict[str, Any] = json.loads(json.dumps(told | rest))
    return plain


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


class _Kept:
    """What a contender has reached, in a file: settings that were tried, and in the end its entry.

    Results of other data or settings are refused, never replaced.
    """

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self._path, self._about = path, about
        self.attempts: list[Attempt] = []
        self.entry: Entry | None = None
        if path.exists():
            self._take_over()

    def _take_over(self) -> None:
        try:
            found = json.loads(self._path.read_text())
            about, self.attempts = found["about"], [Attempt(**one) for one in found["attempts"]]
            if found["entry"] is not None:
                entry = found["entry"] | {"attempts": tuple(self.attempts)}
                self.entry = Entry(**entry | {"ndcg": tuple(map(tuple, entry["ndcg"]))})
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{self._path} is not what a run writes ({error!r}); remove it") from None
        differing = [key for key in self._about if about.get(key) != self._about[key]]
        if differing:
            what = " and other ".join(differing)
            raise ValueError(f"{self._path} was made with other {what}; choose another folder (-o), or remove it")

    def write(self) -> None:
        """Put it all on the disk."""
        entry = None if self.entry is None else {**asdict(self.entry), "attempts": []}
        whole = {"about": self._about, "attempts": [asdict(one) for one in self.attempts], "entry": entry}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self._path) as draft:
            draft.write_text(json.dumps(whole, allow_nan=False))


def _take_part(contender: Contender, rehearsal: Round, final: Round, kept: _Kept, watch: Watch | None) -> Entry:
    """Choose settings, then run. A peer that cannot take part says why; this is not kept, so it may try again."""
    settings = contender.grid[0]
    if len(contender.grid) > 1:
        _rehearse(contender, rehearsal, kept, watch)
        ran = [one for one in kept.attempts if one.ndcg is not None]
        if not ran:
            return _refused(contender, kept.attempts[0].failed)
        settings = max(ran, key=lambda one: one.ndcg or 0.0).settings
    if watch is not None:
        watch(contender.label, len(contender.grid), len(contender.grid))
    with Worker(final) as worker:
        trial = _try_out(contender, settings, worker)
    if isinstance(trial, str):
        return _refused(contender, trial)
    kept.entry = _entry(contender, settings, tuple(kept.attempts), trial)
    kept.write()
    return kept.entry


def _rehearse(contender: Contender, rehearsal: Round, kept: _Kept, watch: Watch | None) -> None:
    """Try all settings that were not tried yet. Each is kept at once, but for those that failed."""
    kept.attempts = [one for one in kept.attempts if not one.failed]
    known = [one.settings for one in kept.attempts]
    with Worker(rehearsal) as worker:
        for j, settings in enumerate(contender.grid):
            if settings in known:
                continue
            if watch is not None:
                watch(contender.label, j, len(contender.grid))
            trial = _try_out(contender, settings, worker)
            if isinstance(trial, str):
                kept.attempts.append(Attempt(settings, None, 0.0, trial))
            else:
                kept.attempts.append(Attempt(settings, _mean_ndcg(trial.evaluation), trial.fit_seconds))
                kept.write()


def _try_out(contender: Contender, settings: Settings, worker: Worker) -> Trial | str:
    """One fit; of a peer that fails, what it said."""
    try:
        return worker.try_out(contender.name, settings)
    except BrokenProcessPool:
        said = (
            "its process was ended, perhaps by the system for want of memory, or it could not start: a script that "
            "calls leaderboard() must do so under `if __name__ == '__main__':`"
        )
        if contender.ours:
            raise RuntimeError(f"{contender.label}: {said}") from None
        return said
    except Exception as error:  # of a peer, whatever its packages raise
        if contender.ours:
            raise
        return str(error) or type(error).__name__


def _refused(contender: Contender, said: str) -> Entry:
    return Entry(contender.name, {}, (), (), 0.0, 0.0, 0, said)


def _mean_ndcg(found: Evaluation) -> float:
    return mean_of(np.array([found.mean("ndcg", one) for one in found.thresholds]))


def _entry(contender: Contender, settings: Settings, attempts: tuple[Attempt, ...], trial: Trial) -> Entry:
    values = trial.evaluation.values["ndcg"]
    ndcg = tuple(tuple(None if math.isnan(one) else one for one in row) for row in values.tolist())
    return Entry(contender.name, settings, attempts, ndcg, trial.fit_seconds, trial.rank_seconds, trial.memory)
