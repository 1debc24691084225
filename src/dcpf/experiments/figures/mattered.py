"""What mattered among the settings that were tried: score against value, a panel for each parameter."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dcpf.evaluation.trials import LABELS, Trial, Tuned, spelt
from dcpf.experiments.figures.style import FAINT, INK, label, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BEST = "#009E73"


def what_mattered(tuned: Tuned, *, title: str | None = None) -> "Figure":
    """Draw each trial as a dot in the panel of each parameter, and the best of each value as a line.

    The axis begins where the better half of the trials is in view: those far below are at its foot, as triangles. A
    dashed line is the default's score.
    """
    scores = sorted(one.score for one in tuned.trials)
    top, middle = scores[-1], scores[len(scores) // 2]
    foot = max(scores[0], min(middle, tuned.trials[0].score) - 2.0 * (top - middle) - 0.01 * top)
    with styled():
        names = tuned.by_value()
        figure, axes = panels(len(names), 2.1 * len(names), 2.8)
        for one, (name, best) in zip(axes, names.items(), strict=True):
            _panel(one, name, list(best), tuned.trials, foot)
            reached = [(j, trial.score) for j, trial in enumerate(best.values()) if trial.score >= foot]
            line = "none" if name == "element" else "-"  # there is nothing between two elements
            one.plot(*zip(*reached, strict=True), color=_BEST, marker="o", linestyle=line, zorder=3)
            one.axhline(tuned.trials[0].score, color=INK, linestyle=(0, (4, 2)), linewidth=0.9)
            room = 0.06 * (top - foot) or 0.01
            one.set_ylim(foot - room, top + room)
            one.set_xlabel(LABELS[name])
            if one is not axes[0]:
                one.tick_params(labelleft=False)
        axes[0].set_ylabel("mean of metrics" if len(tuned.objective.parts) > 1 else str(tuned.objective))
        axes[0].set_title(title or "")
        axes[-1].set_title("dashed: the default", loc="right", fontsize=8)
    return figure


def _panel(axes: "Axes", name: str, values: list[Any], trials: Sequence[Trial], foot: float) -> None:
    """The dots of all trials; stopped ones are hollow."""
    for trial in trials:
        place = values.index(getattr(trial.settings, name))
        hollow = {"markerfacecolor": "white", "markeredgewidth": 0.8} if trial.stopped else {}
        marker = "o" if trial.score >= foot else "v"
        dot: dict[str, Any] = {"color": FAINT, "marker": marker, "linestyle": "none", "markersize": 3.5, **hollow}
        axes.plot([place], [max(trial.score, foot)], **dot)
    texts = [label(one) if name == "element" else spelt(one) for one in values]
    axes.set_xticks(range(len(values)), texts, rotation=35 if name == "element" else 0)
    axes.set_xlim(-0.5, len(values) - 0.5)
