"""Quality, time and memory of dcpf and of other methods, on the same split of the same counts.

Each competitor chooses among a few settings: each is fitted to a part of the training counts and judged by the rest.
The settings with the best NDCG, averaged over the thresholds, are fitted to all training counts, and only then judged
by the test counts.
"""

import importlib.metadata
import itertools
import math
import time
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dcpf.baselines.methods import METHODS, Competitor
from dcpf.counts import Counts
from dcpf.evaluation.judging import evaluate
from dcpf.evaluation.result import mean_intervals, mean_of
from dcpf.evaluation.result_table import Cell, ResultTable
from dcpf.evaluation.runs import Journal, Worker, peak_memory, reset_peak_memory
from dcpf.evaluation.trials import as_options
from dcpf.model import DCPF
from dcpf.model.fitted import describe_data
from dcpf.text import shape_words

Parameters = dict[str, Any]
Watch = Callable[[str, int, int], object]  # label of a competitor, settings tried, settings in all

_CRASHED = (
    "its process ended, perhaps killed by the system for lack of memory, or could not start: a script must call "
    "leaderboard() under `if __name__ == '__main__':`"
)


def _factors_only(element: str, label: str) -> Competitor:
    grid = tuple(
        {"element": element, "n_neighbors": 0, "n_components": K, "shape_prior": alpha}
        for K, alpha in itertools.product((50, 100, 200), (0.3, 1.0))
    )
    return Competitor(element, label, DCPF, grid)


_WITH_EXCITATION: tuple[Parameters, ...] = (
    {"neighbor_prior": 40.0, "n_components": 50},
    {"neighbor_prior": 20.0, "n_components": 50},
    {"neighbor_prior": 80.0, "n_components": 50},
    {"neighbor_prior": 10.0, "n_components": 50},
    {"neighbor_prior": 40.0, "n_components": 0},
    {"neighbor_prior": 40.0, "n_components": 20},
    {"neighbor_prior": 40.0, "n_components": 50, "n_neighbors": 500},
    {"neighbor_prior": 160.0, "n_components": 50},
)

COMPETITORS: dict[str, Competitor] = {
    one.name: one
    for one in (
        Competitor("dcpf", "dcpf, with excitation", DCPF, _WITH_EXCITATION),
        _factors_only("shifted-nb", "dcPF factors, shifted NB"),
        _factors_only("logarithmic", "dcPF factors, logarithmic"),
        _factors_only("binary", "PF, binary counts"),
        _factors_only("raw", "PF, raw counts"),
        *METHODS.values(),
    )
}
"""All competitors by name."""


@dataclass(frozen=True)
class Attempt:
    """A fit to a part of the training counts, to choose parameters, or the final fit to all of them."""

    parameters: Parameters
    final: bool
    score: float = math.nan  # NDCG, averaged over users and then over thresholds
    fit_seconds: float = 0.0
    rank_seconds: float = 0.0
    memory: int = 0  # bytes at the peak of fit and ranking, beyond the data and the libraries
    ndcg: tuple[tuple[float | None, ...], ...] = ()  # of the final fit, by user and threshold
    failed: str = ""  # the error, if there is no score

    @property
    def key(self) -> Hashable:
        """What was fitted, and whether to all training counts."""
        return self.final, tuple(sorted(self.parameters.items()))

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """The attempt that a line of a journal holds."""
        score = math.nan if plain["score"] is None else plain["score"]
        return cls(**plain | {"score": score, "ndcg": tuple(map(tuple, plain["ndcg"]))})


@dataclass(frozen=True)
class Entry:
    """A competitor on one data set: its attempts, and the final one, or else why it was not run."""

    name: str
    attempts: tuple[Attempt, ...] = ()
    final: Attempt | None = None
    refused: str = ""

    @property
    def label(self) -> str:
        """The competitor as tables call it."""
        return COMPETITORS[self.name].label

    @property
    def ours(self) -> bool:
        """Whether it is a model of dcpf. The others are compared with the first of these."""
        return COMPETITORS[self.name].make is DCPF

    @property
    def parameters(self) -> Parameters:
        """The chosen parameters."""
        return {} if self.final is None else self.final.parameters

    @property
    def values(self) -> NDArray[np.float64]:
        """NDCG by user and threshold, NaN for users without a relevant item."""
        return np.array(() if self.final is None else self.final.ndcg, dtype=np.float64)

    @property
    def means(self) -> list[float]:
        """Mean NDCG by threshold, NaN where no user has a relevant item; empty if it was not run."""
        return [mean_of(column) for column in self.values.T]


@dataclass(frozen=True)
class Board:
    """All competitors on one data set."""

    name: str
    data: Mapping[str, Any]
    k: int
    thresholds: tuple[int, ...]
    entries: tuple[Entry, ...]

    @property
    def ran(self) -> list[Entry]:
        """The entries of competitors that were run."""
        return [entry for entry in self.entries if entry.final is not None]

    @property
    def first_of_ours(self) -> Entry | None:
        """The entry that the others are compared with."""
        return next((entry for entry in self.ran if entry.ours), None)


@dataclass(frozen=True)
class BoardRules:
    """How a leaderboard is made."""

    k: int = 100
    thresholds: tuple[int, ...] = (0, 1, 2, 5)
    test_fraction: float = 0.2
    seed: int = 0
    names: tuple[str, ...] = tuple(COMPETITORS)

    def check(self) -> None:
        """Refuse an unknown method."""
        for name in self.names:
            if name not in COMPETITORS:
                raise ValueError(f"unknown method {name!r}: choose one of {', '.join(COMPETITORS)}")


@dataclass(frozen=True)
class Round:
    """What all fits of a round share: the counts to fit and to judge by, and the rules."""

    train: Counts
    test: Counts
    rules: BoardRules


def leaderboard(
    counts: Counts, folder: Path, name: str, rules: BoardRules | None = None, *, watch: Watch | None = None
) -> Board:
    """Let all competitors run. Finished fits are kept in `folder/name`, and a second call resumes from there.

    Fits run in processes of their own: a script must call this under `if __name__ == "__main__":`. `standings` makes
    a table of the board.
    """
    rules = rules or BoardRules()
    rules.check()
    train, test = counts.split(rules.test_fraction, rules.seed)
    final = Round(train, test, rules)
    rehearsal = Round(*train.split(rules.test_fraction, rules.seed + 1), rules)
    data = describe_data(counts.matrix)
    (folder / name).mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        journals = {
            competitor: stack.enter_context(
                Journal(
                    folder / name / f"{competitor}.jsonl",
                    Attempt,
                    _about(one, data, rules),
                    way_out="choose another folder, or remove it",
                )
            )
            for competitor, one in COMPETITORS.items()
            if competitor in rules.names
        }
        entries = [_compete(COMPETITORS[one], rehearsal, final, journals[one], watch) for one in journals]
    return Board(name, data, rules.k, rules.thresholds, tuple(entries))


def _about(competitor: Competitor, data: Mapping[str, Any], rules: BoardRules) -> dict[str, Any]:
    """What the results depend on."""
    return {
        "versions": {package: _version(package) for package in ("dcpf", competitor.package)},
        "data": dict(data),
        "defaults": {name: repr(value) for name, value in competitor.make().get_params().items()},
        "grid": list(competitor.grid),
        **{name: value for name, value in asdict(rules).items() if name != "names"},
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _compete(
    competitor: Competitor, rehearsal: Round, final: Round, journal: Journal[Attempt], watch: Watch | None
) -> Entry:
    """Choose parameters, then run. If a peer cannot run, this says why; that is not kept, so it may try again."""
    grid, known = competitor.grid, list(journal.records.values())
    attempts = [one for one in known if not one.final]
    finished = next((one for one in known if one.final), None)
    if finished is not None:
        return Entry(competitor.name, tuple(attempts), finished)
    parameters = grid[0]
    if len(grid) > 1:
        with Worker(rehearsal) as worker:
            for j, one in enumerate(grid):
                attempt = Attempt(one, final=False)
                if attempt.key not in journal.records:
                    if watch is not None:
                        watch(competitor.label, j, len(grid))
                    attempts.append(_attempt(competitor, attempt, worker, journal))
        ran = [one for one in attempts if not one.failed]
        if not ran:
            return Entry(competitor.name, refused=attempts[0].failed)
        parameters = max(ran, key=lambda one: np.nan_to_num(one.score, nan=-1.0)).parameters
    if watch is not None:
        watch(competitor.label, len(grid), len(grid))
    with Worker(final) as worker:
        finished = _attempt(competitor, Attempt(parameters, final=True), worker, journal)
    if finished.failed:
        return Entry(competitor.name, refused=finished.failed)
    return Entry(competitor.name, tuple(attempts), finished)


def _attempt(competitor: Competitor, attempt: Attempt, worker: Worker, journal: Journal[Attempt]) -> Attempt:
    """One fit, which is kept unless it fails. A failure of our own is an error."""
    try:
        finished = worker.call(fit_and_judge, competitor.name, attempt.parameters, attempt.final)
    except BrokenProcessPool:
        if competitor.make is DCPF:
            raise RuntimeError(f"{competitor.label}: {_CRASHED}") from None
        return replace(attempt, failed=_CRASHED)
    except Exception as error:  # whatever the packages of a peer raise
        if competitor.make is DCPF:
            raise
        return replace(attempt, failed=str(error) or type(error).__name__)
    journal.add(finished)
    return finished


def fit_and_judge(given: Round, name: str, parameters: Parameters, final: bool) -> Attempt:
    """Fit a competitor, rank, and measure both. Runs in a process of its own."""
    competitor, rules = COMPETITORS[name], given.rules
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        competitor.new(parameters, rules.seed).fit(_small_counts())  # compile and import before measuring
        before = reset_peak_memory()
        began = time.perf_counter()
        model = competitor.new(parameters, rules.seed).fit(given.train)
        fitted = time.perf_counter()
        result = evaluate(model, given.test, rules.k, rules.thresholds)
        ranked = time.perf_counter()
    values = result.values["ndcg"].tolist() if final else []
    return Attempt(
        parameters,
        final,
        mean_of(np.array([result.mean("ndcg", one) for one in result.thresholds])),
        fitted - began,
        ranked - fitted,
        max(peak_memory() - before, 0),
        tuple(tuple(None if math.isnan(one) else one for one in row) for row in values),
    )


def _small_counts() -> Counts:
    counts = np.random.default_rng(0).poisson(0.5, size=(30, 20))
    counts[:, 0] += 1
    return Counts.from_matrix(counts)


_SHORT = {
    "n_components": "K",
    "shape_prior": "alpha",
    "factors": "K",
    "regularization": "reg",
    "n_neighbors": "neighbours",
    "neighbor_prior": "prior",
    "weighting": "on",
    "learning_rate": "rate",
}


def standings(board: Board) -> ResultTable:
    """A table with a row per competitor: quality, seconds, memory, and the parameters that it chose."""
    scores = [f"NDCG{one}" for one in board.thresholds]
    columns = ("Method", *scores, "fit, s", "search, s", "lists, s", "memory, MB", "chosen")
    best = np.max([np.nan_to_num(entry.means, nan=-1.0) for entry in board.ran], axis=0, initial=-1.0)
    rows = []
    for entry in board.entries:
        if entry.final is None:
            rows.append((Cell(entry.label), *[Cell(None)] * (len(scores) + 4), Cell("not run")))
            continue
        means = [Cell(None if math.isnan(one) else one, 3, bold=one == best[j]) for j, one in enumerate(entry.means)]
        search = math.fsum(one.fit_seconds for one in entry.attempts)
        seconds = [Cell(one, 1) for one in (entry.final.fit_seconds, search, entry.final.rank_seconds)]
        chosen = (f"{_SHORT.get(name, name)} {v}" for name, v in entry.parameters.items() if name != "element")
        rows.append((Cell(entry.label), *means, *seconds, Cell(entry.final.memory / 1e6, 0), Cell(", ".join(chosen))))
    shape = shape_words(board.data["users"], board.data["items"], board.data["entries"])
    notes = (*verdict(board), *_legend(board))
    return ResultTable(board.name, f"{board.name}: {shape}", columns, tuple(rows), notes)


def _legend(board: Board) -> list[str]:
    """Notes on how the numbers were made."""
    first = board.first_of_ours
    options = [] if first is None else as_options(first.parameters)
    fit = [f"The settings that {first.label} chose: dcpf fit ... {' '.join(options)}"] if first and options else []
    tried = ", ".join(f"{entry.label} {len(entry.attempts)}" for entry in board.ran if entry.attempts)
    return [
        *fit,
        f"NDCG@{board.k} on the test counts, a fifth of all. NDCG2 takes items with a count above 2 as relevant. "
        "Bold is the best."
        + (f" Settings were chosen on a fifth of the training counts; tried: {tried}." if tried else ""),
        "Seconds of the fit with the chosen settings, of all fits of the search, and of the lists for all users with "
        "their metrics. All methods use all cores except BPR, which is reproducible only in one thread. Memory is "
        "the peak during fit and lists, beyond the data and libraries.",
    ]


def verdict(board: Board) -> list[str]:
    """What the numbers say, in plain words; above all, where dcpf loses."""
    said = [f"{entry.label} was not run: {entry.refused}" for entry in board.entries if entry.final is None]
    first = board.first_of_ours
    for j, threshold in enumerate(board.thresholds):
        others = [entry for entry in board.ran if entry is not first and not math.isnan(entry.means[j])]
        if first is not None and others and not math.isnan(first.means[j]):
            said.append(f"NDCG{threshold}: {_compared(first, others, j)}")
    return said


def _compared(first: Entry, others: Sequence[Entry], j: int) -> str:
    """The first against the best of the others at one threshold, user by user."""
    rival = max(others, key=lambda entry: entry.means[j])
    apart = (first.values[:, j] - rival.values[:, j])[:, None]
    low, high = (float(one[0]) for one in mean_intervals(apart, 0.95, np.random.default_rng(0)))
    if math.isnan(low):
        return "only one user has a relevant item, which is too few to tell who is ahead."
    numbers = f"({first.means[j]:.3f} against {rival.means[j]:.3f}, 95% interval {low:+.3f} to {high:+.3f})"
    if low <= 0.0 <= high:
        return f"{first.label} and {rival.label}, the best of the others, cannot be told apart {numbers}."
    if first.means[j] > rival.means[j]:
        return f"{first.label} is ahead of {rival.label}, the best of the others {numbers}."
    ahead = sum(entry.means[j] > first.means[j] for entry in others)
    return f"{first.label} loses to {rival.label} {numbers}" + (
        f"; {ahead} methods are ahead of it." if ahead > 1 else "."
    )
