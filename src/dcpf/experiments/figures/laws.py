"""Figure 1 of the paper: the laws of the elements, and of the counts that they lead to."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dcpf.elements import Element, Geometric, Logarithmic, Raw, ShiftedNegativeBinomial, ZeroTruncatedPoisson
from dcpf.experiments.figures.style import label, lines, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TASTE_PROFILE: tuple[Element, ...] = (
    Logarithmic(p=0.803),
    ZeroTruncatedPoisson(p=1.95),
    Geometric(p=0.6),
    ShiftedNegativeBinomial(p=0.873, a=0.2),
)
"""What the paper has learned from the Taste Profile (its Table 3)."""


def element_laws(elements: Iterable[Element] = TASTE_PROFILE, rate: float = 1.0, largest: int = 10) -> "Figure":
    """Draw the p.m.f. of one session for each element, and of a count when sessions come at this rate.

    Both are exact, up to the largest count. Beside the counts stands the Poisson law of the sessions themselves.
    """
    shown = list(elements)
    names = [label(one) for one in shown]
    parameters = [", ".join(f"{key} = {value:.3g}" for key, value in one.parameters.items()) for one in shown]
    looks = lines(names)
    counts = np.arange(largest + 1)
    with styled():
        figure, (left, right) = panels(2, 7.2, 2.9)
        for one, name, numbers, look in zip(shown, names, parameters, looks, strict=True):
            of_sessions = one.pmf(counts[1:])
            left.plot(counts[1:], of_sessions, **look | {"label": f"{name} ({numbers})" if numbers else name})
            right.plot(counts, one.marginal_pmf(rate, largest), **look)
        poisson: dict[str, Any] = lines(["PFraw"])[0] | {"label": "Poisson"}
        right.plot(counts, Raw().marginal_pmf(rate, largest), **poisson)
        left.legend()
        right.legend(handles=right.lines[-1:])  # the others are told on the left
        _finish(left, "Plays in one session", "plays x", "P(x)")
        _finish(right, f"Plays in all, {rate:g} session{'' if rate == 1 else 's'} expected", "count y", "P(y)")
    return figure


def _finish(axes: "Axes", title: str, x: str, y: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set(title=title, xlabel=x, ylabel=y)
    axes.set_ylim(bottom=0.0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=11))
