"""Figures about fits: how fast they converge, and which settings of a search mattered."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcpf.evaluation.trials import LABELS, Trial, Tuned, spelt
from dcpf.paper.figures.style import FAINT, INK, label, lines, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_RISES = 100.0
_BEST = "#009E73"


def bound_against_time(
    traces: Mapping[str, tuple[ArrayLike, ArrayLike]], *, common: bool = False, title: str | None = None
) -> "Figure":
    """The gap between the bound and its best value, relative to its size, against seconds.

    Each trace is (seconds, bounds), iteration by iteration. Bounds of different elements have different sizes, so
    each is compared with its own best. Traces of one model on the same data, such as several starts, can be compared
    with the best of them all (`common`). A mark on the axis shows where a fit ended.
    """
    pairs = {name: _checked(name, *pair) for name, pair in traces.items()}
    if not pairs:
        raise ValueError("there is no trace to draw: give at least one")
    best = max((bounds for _, bounds in pairs.values()), key=np.max)
    with styled():
        figure, (axes,) = panels(1, 5.2, 3.4)
        for (seconds, bounds), look in zip(pairs.values(), lines(pairs), strict=True):
            axes.plot(seconds, gaps(bounds, best if common else bounds), **look, markevery=[])
            end = {"color": look["color"], "marker": look["marker"], "clip_on": False, "zorder": 3}
            axes.plot(seconds[-1:], [0.0], transform=axes.get_xaxis_transform(), **end)
        of = "the best of all" if common else "its own best"
        axes.set(yscale="log", xlabel="seconds (a mark: the fit has ended)", ylabel=f"bound below {of}")
        axes.set_title(title or "")
        axes.set_xlim(left=0.0)
        axes.yaxis.set_major_formatter(lambda value, place: f"{100.0 * value:g}%")
        axes.legend()
    return figure


def gaps(bounds: Floats, reference: Floats) -> Floats:
    """How far each bound is below the best of the reference, relative to its size.

    If the fit went on, the bound would rise above its best so far. A gap below a hundred times the last rise only
    shows where the fit was stopped, so it is NaN, unless no other gap is left to show.
    """
    best = float(reference.max())
    gap = (best - bounds) / abs(best)
    last_rise = abs(float(reference[-1] - reference[-2])) / abs(best)
    meaningful = (gap > 0.0) & (gap >= _RISES * last_rise)
    return np.where(meaningful if meaningful.any() else gap > 0.0, gap, np.nan)


def _checked(name: str, seconds: ArrayLike, bounds: ArrayLike) -> tuple[Floats, Floats]:
    x, y = np.asarray(seconds, dtype=np.float64), np.asarray(bounds, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or len(x) < 2:
        raise ValueError(f"{name}: as many seconds as bounds are needed, at least 2, found {x.shape} and {y.shape}")
    return x, y


def what_mattered(tuned: Tuned, *, title: str | None = None) -> "Figure":
    """Score against value, in a panel for each parameter: each trial as a dot, the best of each value as a line.

    The axis shows the better half of the trials; those far below are triangles at its foot. A dashed line is the
    score of the default.
    """
    scores = sorted(trial.score for trial in tuned.trials)
    default = tuned.trials[0].score
    top, middle = scores[-1], scores[len(scores) // 2]
    foot = max(scores[0], min(middle, default) - 2.0 * (top - middle) - 0.01 * top)
    margin = 0.06 * (top - foot) or 0.01
    with styled():
        parameters = tuned.by_value()
        figure, all_axes = panels(len(parameters), 2.1 * len(parameters), 2.8)
        for axes, (name, best) in zip(all_axes, parameters.items(), strict=True):
            _draw_trials(axes, name, list(best), tuned.trials, foot)
            reached = [(j, trial.score) for j, trial in enumerate(best.values()) if trial.score >= foot]
            line = "none" if name == "element" else "-"  # there is nothing between two elements
            axes.plot(*zip(*reached, strict=True), color=_BEST, marker="o", linestyle=line, zorder=3)
            axes.axhline(default, color=INK, linestyle=(0, (4, 2)), linewidth=0.9)
            axes.set_ylim(foot - margin, top + margin)
            axes.set_xlabel(LABELS[name])
            if axes is not all_axes[0]:
                axes.tick_params(labelleft=False)
        all_axes[0].set_ylabel("mean of metrics" if len(tuned.objective.parts) > 1 else str(tuned.objective))
        all_axes[0].set_title(title or "")
        all_axes[-1].set_title("dashed: the default", loc="right", fontsize=8)
    return figure


def _draw_trials(axes: "Axes", name: str, values: list[Any], trials: Sequence[Trial], foot: float) -> None:
    """The dots of all trials; stopped ones are hollow."""
    for trial in trials:
        position = values.index(getattr(trial.settings, name))
        hollow = {"markerfacecolor": "white", "markeredgewidth": 0.8} if trial.stopped else {}
        marker = "o" if trial.score >= foot else "v"
        dot: dict[str, Any] = {"color": FAINT, "marker": marker, "linestyle": "none", "markersize": 3.5, **hollow}
        axes.plot([position], [max(trial.score, foot)], **dot)
    texts = [label(value) if name == "element" else spelt(value) for value in values]
    axes.set_xticks(range(len(values)), texts, rotation=35 if name == "element" else 0)
    axes.set_xlim(-0.5, len(values) - 0.5)
