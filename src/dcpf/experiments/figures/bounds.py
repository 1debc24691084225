"""How fast fits converge: the bound against time."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcpf.experiments.figures.style import lines, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_RISES = 100.0


def bound_against_time(
    traces: Mapping[str, tuple[ArrayLike, ArrayLike]], *, common: bool = False, title: str | None = None
) -> "Figure":
    """Draw how far the bound still is from its best, as a part of its size, against seconds.

    Each trace is (seconds, bounds), iteration by iteration. Bounds of different elements are of different size, so
    each is compared with its own best one. Traces of one model on the same data, say of several starts, may be
    compared with the best of them all (`common`). A mark on the axis is where a fit has ended.
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
    """How far each bound is below the best of the reference, as a part of its size.

    A fit that goes on would rise above what is the best now. So where the gap is less than a hundred of the last
    rises, it tells only where the fit was stopped: there it is NaN, unless nothing else is left to see.
    """
    best = float(reference.max())
    gap = (best - bounds) / abs(best)
    last_rise = abs(float(reference[-1] - reference[-2])) / abs(best)
    told = (gap > 0.0) & (gap >= _RISES * last_rise)
    return np.where(told if told.any() else gap > 0.0, gap, np.nan)


def _checked(name: str, seconds: ArrayLike, bounds: ArrayLike) -> tuple[Floats, Floats]:
    x, y = np.asarray(seconds, dtype=np.float64), np.asarray(bounds, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or len(x) < 2:
        raise ValueError(f"{name}: as many seconds as bounds are needed, at least 2, found {x.shape} and {y.shape}")
    return x, y
