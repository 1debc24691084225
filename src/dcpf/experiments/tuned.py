"""What a search for settings has found: tables, plain words, and the settings ready to be used."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from dcpf.evaluation.result_table import Cell, ResultTable
from dcpf.experiments.objective import Gain
from dcpf.experiments.search import DEFAULT, SPACE, Settings
from dcpf.experiments.tuning import Trial, Tuned
from dcpf.wording import several

LABELS = {
    "n_neighbors": "neighbours",
    "neighbor_prior": "neighbour prior",
    "element": "element",
    "shape_prior": "shape prior",
    "n_components": "components",
}
_OPTIONS = {
    "n_components": "--components",
    "n_neighbors": "--neighbors",
    "neighbor_prior": "--neighbor-prior",
    "element": "--element",
    "shape_prior": "--shape-prior",
}


def by_value(tuned: Tuned) -> dict[str, dict[Any, Trial]]:
    """For each parameter, the best trial of each value that was tried, in ascending order or that of the search."""
    found: dict[str, dict[Any, Trial]] = {}
    for name in LABELS:
        groups: dict[Any, list[Trial]] = {}
        for trial in tuned.trials:
            groups.setdefault(getattr(trial.settings, name), []).append(trial)
        order = SPACE[name].index if name == "element" and set(groups) <= set(SPACE[name]) else None
        found[name] = {value: max(groups[value], key=lambda one: one.score) for value in sorted(groups, key=order)}
    return found


def ranking(tuned: Tuned) -> ResultTable:
    """The trials, the best first."""
    ranked = sorted(tuned.trials, key=lambda one: -one.score)  # of equal ones the first that was tried
    rows = []
    for trial in ranked:
        words = [Cell(spelt(getattr(trial.settings, name))) for name in LABELS]
        half = (trial.gain.high - trial.gain.low) / 2.0
        mark = "default" if trial.settings == DEFAULT else f"{trial.gain.mean:+.4f} ±{half:.4f}"
        score = Cell(trial.score, 4, bold=trial is ranked[0])
        told = "stopped early" if trial.stopped else mark
        rows.append((score, Cell(told), *words, Cell(trial.seconds, 1)))
    columns = ("score", "over default", *LABELS.values(), "seconds")
    title = f"{several(len(rows), 'trial')} by {tuned.objective}"
    return ResultTable("trials", title, columns, tuple(rows), ("± is half of a 95% interval over users.",))


def what_mattered(tuned: Tuned) -> ResultTable:
    """For each parameter, the best score that was reached with each value, and how far apart these are."""
    rows = []
    for name, best in by_value(tuned).items():
        ends = [one.score for one in best.values()]
        told = ", ".join(
            f"{spelt(value)}: {one.score:.4f}{'*' if one.stopped else ''}" for value, one in best.items()
        )
        apart = Cell(max(ends) - min(ends), 4) if len(ends) > 1 else Cell("not varied")
        rows.append((Cell(LABELS[name]), apart, Cell(told)))
    starred = any(trial.stopped for best in by_value(tuned).values() for trial in best.values())
    notes = ("* stopped early, as it was more than 5% below the best.",) if starred else ()
    return ResultTable("mattered", "What mattered", ("", "range", "best score by value"), tuple(rows), notes)


def verdict(tuned: Tuned) -> list[str]:
    """In plain words, whether the best is better than the default."""
    best, second = tuned.best, tuned.confirmed
    if second is None:
        return [f"Nothing that was tried ranks better than the default ({best.score:.4f}). Keep the default."]
    said = [
        f"The best has {best.score:.4f}, the default {tuned.trials[0].score:.4f}: {interval(best.gain)}. This is "
        f"optimistic, as it was chosen of {len(tuned.trials)} on the same held-out counts.",
        f"On other held-out counts, by which it was not chosen: {interval(second.gain)}.",
    ]
    if tuned.chosen == DEFAULT:
        return [*said, "That is not clearly better on both. Keep the default."]
    return [*said, "It is better on both. Use it."]


def as_python(settings: Settings, seed: int) -> str:
    """The model as it is written in Python."""
    changes = [f"{name}={value!r}" for name, value in _changes(settings).items()]
    return f"DCPF({', '.join([*changes, f'random_state={seed}'])})"


def as_command(settings: Settings, counts: str, output: str, more: Sequence[str] = ()) -> str:
    """The dcpf fit that makes the model; `more` are further options, such as names of columns."""
    return shlex.join(["dcpf", "fit", counts, "-o", output, *as_options(_changes(settings)), *more])


def as_options(parameters: Mapping[str, Any]) -> list[str]:
    """Parameters of a model as they are typed after dcpf fit."""
    return [word for name, value in parameters.items() for word in (_OPTIONS[name], spelt(value))]


def to_dict(tuned: Tuned) -> dict[str, Any]:
    """All of it as plain numbers, strings, lists and dicts."""
    return {
        "metric": str(tuned.objective),
        "seed": tuned.seed,
        "chosen": asdict(tuned.chosen),
        "is_default": tuned.chosen == DEFAULT,
        "python": as_python(tuned.chosen, tuned.seed),
        "best": asdict(tuned.best),
        "confirmed": None if tuned.confirmed is None else asdict(tuned.confirmed),
        "trials": [asdict(one) for one in tuned.trials],
        "mattered": {
            name: [{"value": value, "score": one.score, "stopped": one.stopped} for value, one in best.items()]
            for name, best in by_value(tuned).items()
        },
        "verdict": verdict(tuned),
    }


def interval(gain: Gain) -> str:
    """A gain with its interval: +0.0123 [+0.0100 to +0.0150]."""
    return f"{gain.mean:+.4f} [{gain.low:+.4f} to {gain.high:+.4f}]"


def spelt(value: Any) -> str:
    """A value as it is typed: 40 for 40.0."""
    return value if isinstance(value, str) else f"{value:g}"


def _changes(settings: Settings) -> dict[str, Any]:
    """What is not the default."""
    default = asdict(DEFAULT)
    return {name: value for name, value in asdict(settings).items() if value != default[name]}


def described(settings: Settings) -> str:
    """Settings in a few words."""
    changes = [f"{LABELS[name]} {spelt(value)}" for name, value in _changes(settings).items()]
    return ", ".join(changes) or "the default"
