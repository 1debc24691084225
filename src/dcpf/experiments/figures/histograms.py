"""Figure 2 of the paper: the counts of the data, and those that models draw."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dcpf.evaluation.predictive import Check
from dcpf.experiments.figures.bins import edges, totals
from dcpf.experiments.figures.style import INK, label, lines, panels, styled, whole_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


def predictive_check(checks: Check | Iterable[Check] | Mapping[str, Check], title: str | None = None) -> "Figure":
    """Draw how many entries have each count: points for the data, a line for what each model draws on average.

    The share of non-zeros stands in parentheses. Both axes are logarithmic, so counts from 10 on are put together
    in bins, each shown by its mean number of entries per count: a single count out there has hardly ever an entry.
    """
    named = _named(checks)
    first = next(iter(named.values()))
    if any(one.shape != first.shape or one.data_share != first.data_share for one in named.values()):
        raise ValueError("these checks are of different data: draw them in figures of their own")
    with styled():
        figure, (axes,) = panels(1, 5.2, 3.7)
        for (name, check), look in zip(named.items(), lines(named), strict=True):
            counts, entries = per_count(check.counts, check.expected)
            text = f"{name} ({_percent(check.model_share)})"
            axes.plot(counts, entries, **look | {"label": text, "markersize": 3.2, "linewidth": 1.3, "zorder": 2})
        counts, entries = per_count(first.counts, first.data)
        text = f"data ({_percent(first.data_share)})"
        axes.plot(counts, entries, "o", color=INK, markersize=4.5, label=text, zorder=3)
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="count (from 10 on in bins)",
            ylabel="entries with this count",
            title=title or "",
        )
        axes.set_xlim(left=0.9)
        whole_numbers(axes.xaxis)
        handles, texts = axes.get_legend_handles_labels()
        axes.legend([handles[-1], *handles[:-1]], [texts[-1], *texts[:-1]], title="share of non-zeros")
    return figure


def per_count(counts: NDArray[np.int64], entries: NDArray[np.number]) -> tuple[Floats, Floats]:
    """A histogram as it is drawn: (place of each bin, its mean number of entries per count), empty bins left out."""
    starts = edges(int(counts[-1]))
    total = totals(counts, entries, starts)
    places = np.sqrt(starts[:-1] * (starts[1:] - 1.0))  # midway between its first and last count, on such an axis
    filled = total > 0.0
    return places[filled], (total / np.diff(starts))[filled]


def _named(checks: Check | Iterable[Check] | Mapping[str, Check]) -> dict[str, Check]:
    if isinstance(checks, Mapping):
        named = dict(checks)
    else:
        several = [checks] if isinstance(checks, Check) else list(checks)
        named = {label(one.element): one for one in several}
        if len(named) < len(several):
            raise ValueError("two checks are of the same element: give them names, {name: check, ...}")
    if not named:
        raise ValueError("there is no check to draw: give at least one")
    return named


def _percent(share: float) -> str:
    return f"{100.0 * share:#.3g}%"
