"""What a count is worth: sessions against counts, between raw counts and binarized ones."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcpf.experiments.figures.bins import edges, totals
from dcpf.experiments.figures.style import FAINT, lines, panels, styled, whole_numbers
from dcpf.model import DCPF

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_ENOUGH = 20  # entries for a mean


def sessions_by_count(model: DCPF) -> tuple[Floats, Floats]:
    """(counts, E[n] behind them): how a model reads the counts that it was fitted to.

    A count means more sessions where user and item have more in common. So this is the mean over all entries with
    that count, and not what the element says at one rate. Large counts, which are rare, are put together: each
    point is the mean count and the mean of the sessions of 20 entries or more, if there are as many.
    """
    if model.history_ is None:
        raise ValueError("the model was saved without its training counts: fit it again, or save it with them")
    counts, sessions = model.history_.data, model.sessions().data
    starts = edges(int(counts.max()))
    sums = np.stack([totals(counts, one, starts) for one in (np.ones(len(counts)), counts, sessions)])
    points = [np.zeros(3)]
    for one in sums.T:
        if points[-1][0] >= _ENOUGH:
            points.append(np.zeros(3))
        points[-1] += one
    if len(points) > 1 and points[-1][0] < _ENOUGH:
        last = points.pop()
        points[-1] += last
    entries, by_count, by_sessions = np.transpose(points)
    return by_count / entries, by_sessions / entries


def distortion(curves: Mapping[str, tuple[ArrayLike, ArrayLike]], title: str | None = None) -> "Figure":
    """Draw sessions against counts for each model: {label: (counts, sessions)}, as `sessions_by_count` gives them.

    Every curve lies between the two limits, which are drawn as well: n = y, as Poisson factorization of raw counts
    reads them, and n = 1, as that of binarized ones.
    """
    if not curves:
        raise ValueError("there is no curve to draw: give at least one")
    pairs = {name: [np.asarray(one, dtype=np.float64) for one in pair] for name, pair in curves.items()}
    largest = max(float(counts.max()) for counts, _ in pairs.values())
    with styled():
        figure, (axes,) = panels(1, 5.2, 3.7)
        for (counts, sessions), look in zip(pairs.values(), lines(pairs), strict=True):
            axes.plot(counts, sessions, **look | {"markersize": 3.5})
        for end, text in ((largest, "n = y"), (1.0, "n = 1")):
            axes.plot([1.0, largest], [1.0, end], color=FAINT, linewidth=0.8, zorder=1)
            axes.annotate(text, (largest, end), (5, 0), textcoords="offset points", va="center", color=FAINT)
        axes.set(xscale="log", yscale="log", xlabel="count y", ylabel="expected sessions E[n]", title=title or "")
        axes.set(xlim=(0.9, 1.6 * largest), ylim=(0.9, 1.3 * largest))
        whole_numbers(axes.xaxis, axes.yaxis)
        axes.legend()
    return figure
