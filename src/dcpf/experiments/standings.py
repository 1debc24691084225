"""A leaderboard as a table, and in plain words: who is ahead, and where dcPF loses."""

import math
from collections.abc import Sequence

import numpy as np

from dcpf.evaluation.bootstrap import mean_intervals
from dcpf.evaluation.result_table import Cell, ResultTable
from dcpf.experiments.contenders import CONTENDERS
from dcpf.experiments.leaderboard import Board, Entry
from dcpf.experiments.tuned import as_options
from dcpf.wording import extent

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
    """The contenders as rows: quality, seconds, memory, and the settings that each chose."""
    scores = [f"NDCG{one}" for one in board.thresholds]
    columns = ("Method", *scores, "fit, s", "search, s", "lists, s", "memory, MB", "chosen")
    best = np.max([np.nan_to_num(entry.means, nan=-1.0) for entry in _ran(board)], axis=0, initial=-1.0)
    rows = []
    for entry in board.entries:
        if entry.refused:
            rows.append((Cell(entry.label), *[Cell(None)] * (len(scores) + 4), Cell("not run")))
            continue
        means = [Cell(None if math.isnan(one) else one, 3, bold=one == best[j]) for j, one in enumerate(entry.means)]
        seconds = [Cell(one, 1) for one in (entry.fit_seconds, entry.search_seconds, entry.rank_seconds)]
        rows.append((Cell(entry.label), *means, *seconds, Cell(entry.memory / 1e6, 0), Cell(_chosen(entry))))
    data = board.data
    shape = extent(data["users"], data["items"], data["entries"])
    notes = (*verdict(board), *_to_type(board), *_legend(board))
    return ResultTable(board.name, f"{board.name}: {shape}", columns, tuple(rows), notes)


def _to_type(board: Board) -> list[str]:
    """What the first of ours has chosen, as options."""
    first = _first_of_ours(board)
    chosen = [] if first is None else as_options(first.settings)
    return (
        [f"What {first.label} has chosen, to be typed: dcpf fit ... {' '.join(chosen)}"] if first and chosen else []
    )


def _legend(board: Board) -> list[str]:
    """How the numbers came about."""
    tried = ", ".join(f"{entry.label} {len(entry.attempts)}" for entry in _ran(board) if entry.attempts)
    return [
        f"NDCG@{board.k} of the test counts, a fifth of all: NDCG2 takes what has a count above 2 as relevant. "
        "Bold is the best."
        + (f" Settings were chosen on a fifth of the training counts; tried: {tried}." if tried else ""),
        "Seconds of the fit with the chosen settings, of all fits of the search, and of the lists for all users with "
        "their metrics. All cores were used; BPR used one, as it does not repeat in several threads. Memory is the "
        "peak of fit and lists, beyond data and libraries.",
    ]


def verdict(board: Board) -> list[str]:
    """What the numbers say, dcPF's defeats first of all."""
    said = [f"{entry.label} was not run: {entry.refused}" for entry in board.entries if entry.refused]
    ran = _ran(board)
    first = _first_of_ours(board)
    for j, threshold in enumerate(board.thresholds):
        others = [entry for entry in ran if entry is not first and not math.isnan(entry.means[j])]
        if first is not None and others and not math.isnan(first.means[j]):
            said.append(_compared(f"NDCG{threshold}", first, others, j))
    return said


def _compared(metric: str, first: Entry, others: Sequence[Entry], j: int) -> str:
    """The first against the best of the others, user by user."""
    rival = max(others, key=lambda entry: entry.means[j])
    apart = (first.values[:, j] - rival.values[:, j])[:, None]
    low, high = (float(one[0]) for one in mean_intervals(apart, 0.95, np.random.default_rng(0)))
    gap = first.means[j] - rival.means[j]
    if math.isnan(low):
        return f"{metric}: there is one user with something to find, which tells nothing of who is ahead."
    interval = f"95% interval {low:+.3f} to {high:+.3f}"
    numbers = f"{first.means[j]:.3f} against {rival.means[j]:.3f}"
    if low <= 0.0 <= high:
        return f"{metric}: {first.label} and {rival.label}, the best of the others, cannot be told apart " + (
            f"({numbers}, {interval})."
        )
    if gap < 0.0:
        ahead = [entry.label for entry in others if entry.means[j] > first.means[j]]
        return f"{metric}: {first.label} loses to {rival.label} ({numbers}, {interval})" + (
            f"; {len(ahead)} methods are ahead of it." if len(ahead) > 1 else "."
        )
    return f"{metric}: {first.label} is ahead of {rival.label}, the best of the others ({numbers}, {interval})."


def _first_of_ours(board: Board) -> Entry | None:
    return next((entry for entry in _ran(board) if CONTENDERS[entry.name].ours), None)


def _ran(board: Board) -> list[Entry]:
    return [entry for entry in board.entries if not entry.refused]


def _chosen(entry: Entry) -> str:
    """The settings in short, without what the label says already."""
    return ", ".join(
        f"{_SHORT.get(name, name)} {value}" for name, value in entry.settings.items() if name != "element"
    )
