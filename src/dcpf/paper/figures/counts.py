"""Figures about counts: the distributions of elements, counts that models draw, and what counts are worth."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcpf.elements import Element, Geometric, Logarithmic, Raw, ShiftedNegativeBinomial, ZeroTruncatedPoisson
from dcpf.evaluation.predictive import Check
from dcpf.model import DCPF, FittedModel
from dcpf.model.fitted import fitted_of
from dcpf.paper.figures.style import FAINT, INK, label, lines, panels, styled, whole_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

TASTE_PROFILE: tuple[Element, ...] = (
    Logarithmic(p=0.803),
    ZeroTruncatedPoisson(p=1.95),
    Geometric(p=0.6),
    ShiftedNegativeBinomial(p=0.873, a=0.2),
)
"""The elements that the paper learned from Taste Profile (its Table 3)."""

_FIRST_WIDE_BIN = 10  # each count below has its own bin; from here on, there are ten bins to a factor of ten
_ENOUGH = 20  # entries for a mean


def element_laws(elements: Iterable[Element] = TASTE_PROFILE, rate: float = 1.0, largest: int = 10) -> "Figure":
    """Figure 1 of the paper: the p.m.f. of one session for each element, and of a count at this rate of sessions.

    Both are exact, up to the largest count. The counts are compared with the Poisson distribution of the sessions.
    """
    shown = list(elements)
    names = [label(element) for element in shown]
    looks = lines(names)
    counts = np.arange(largest + 1)
    with styled():
        from matplotlib.ticker import MaxNLocator

        figure, (left, right) = panels(2, 7.2, 2.9)
        for element, name, look in zip(shown, names, looks, strict=True):
            parameters = ", ".join(f"{key} = {value:.3g}" for key, value in element.parameters.items())
            text = f"{name} ({parameters})" if parameters else name
            left.plot(counts[1:], element.pmf(counts[1:]), **look | {"label": text})
            right.plot(counts, element.marginal_pmf(rate, largest), **look)
        poisson: dict[str, Any] = lines(["PFraw"])[0] | {"label": "Poisson"}
        right.plot(counts, Raw().marginal_pmf(rate, largest), **poisson)
        left.legend()
        right.legend(handles=right.lines[-1:])  # the left legend has the others
        left.set(title="Plays in one session", xlabel="plays x", ylabel="P(x)")
        sessions = f"{rate:g} session{'' if rate == 1 else 's'}"
        right.set(title=f"Plays in all, {sessions} expected", xlabel="count y", ylabel="P(y)")
        for axes in (left, right):
            axes.set_ylim(bottom=0.0)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=11))
    return figure


def predictive_check(checks: Check | Iterable[Check] | Mapping[str, Check], title: str | None = None) -> "Figure":
    """Figure 2 of the paper: how many entries have each count, in the data (points) and as models draw them (lines).

    The share of non-zeros is in parentheses. Both axes are logarithmic. Counts from 10 on are pooled in bins, each
    shown by its mean number of entries per count, because a single large count hardly ever has an entry.
    """
    named = _named(checks)
    first = next(iter(named.values()))
    if any(check.shape != first.shape or check.data_share != first.data_share for check in named.values()):
        raise ValueError("these checks are of different data: draw one figure for each data set")
    with styled():
        figure, (axes,) = panels(1, 5.2, 3.7)
        for (name, check), look in zip(named.items(), lines(named), strict=True):
            text = f"{name} ({_percent(check.model_share)})"
            points = per_count(check.counts, check.expected)
            axes.plot(*points, **look | {"label": text, "markersize": 3.2, "linewidth": 1.3, "zorder": 2})
        text = f"data ({_percent(first.data_share)})"
        axes.plot(*per_count(first.counts, first.data), "o", color=INK, markersize=4.5, label=text, zorder=3)
        axes.set(xscale="log", yscale="log", title=title or "")
        axes.set(xlabel="count (from 10 on in bins)", ylabel="entries with this count")
        axes.set_xlim(left=0.9)
        whole_numbers(axes.xaxis)
        handles, texts = axes.get_legend_handles_labels()
        axes.legend([handles[-1], *handles[:-1]], [texts[-1], *texts[:-1]], title="share of non-zeros")
    return figure


def per_count(counts: NDArray[np.int64], entries: NDArray[np.number]) -> tuple[Floats, Floats]:
    """A histogram as it is drawn, without empty bins: (position of each bin, mean number of entries per count)."""
    starts = bin_starts(int(counts[-1]))
    total = _bin_sums(counts, entries, starts)
    positions = np.sqrt(starts[:-1] * (starts[1:] - 1.0))  # midway between first and last count on a logarithmic axis
    filled = total > 0.0
    return positions[filled], (total / np.diff(starts))[filled]


def sessions_by_count(model: DCPF | FittedModel) -> tuple[Floats, Floats]:
    """(counts, E[n] behind them): how a model reads the counts that it was fitted to.

    A count means more sessions where user and item have more in common. So this is the mean over all entries with
    that count, not the element's value at one rate. Large counts are rare, and are pooled: each point is the mean
    count and the mean sessions of at least 20 entries, if there are as many.
    """
    fitted = fitted_of(model)
    if fitted.history is None:
        raise ValueError("the model was saved without its training counts: fit it again, or save it with them")
    counts, sessions = fitted.history.data, fitted.sessions().data
    starts = bin_starts(int(counts.max()))
    sums = np.stack([_bin_sums(counts, weights, starts) for weights in (np.ones(len(counts)), counts, sessions)])
    points = [np.zeros(3)]
    for in_bin in sums.T:
        if points[-1][0] >= _ENOUGH:
            points.append(np.zeros(3))
        points[-1] += in_bin
    if len(points) > 1 and points[-1][0] < _ENOUGH:
        last = points.pop()
        points[-1] += last
    entries, by_count, by_sessions = np.transpose(points)
    return by_count / entries, by_sessions / entries


def distortion(curves: Mapping[str, tuple[ArrayLike, ArrayLike]], title: str | None = None) -> "Figure":
    """Sessions against counts for each model: {label: (counts, sessions)}, as `sessions_by_count` returns them.

    Every curve lies between two limits, which are drawn as well: n = y, Poisson factorization of raw counts, and
    n = 1, Poisson factorization of binarized ones.
    """
    if not curves:
        raise ValueError("there is no curve to draw: give at least one")
    pairs = {name: [np.asarray(values, dtype=np.float64) for values in pair] for name, pair in curves.items()}
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


def bin_starts(largest: int) -> Floats:
    """The first count of each bin, up to the first beyond the largest count: 1, 2, ..., 10, then wider and wider."""
    starts = list(range(1, _FIRST_WIDE_BIN + 1))
    while starts[-1] <= largest:
        starts.append(max(starts[-1] + 1, round(starts[-1] * 10.0**0.1)))
    return np.array(starts, dtype=np.float64)


def _bin_sums(counts: NDArray[np.integer], weights: NDArray[np.number], starts: Floats) -> Floats:
    """The sum of the weights in each bin."""
    bins = np.searchsorted(starts, counts, side="right") - 1
    sums = np.bincount(bins, weights=weights.astype(np.float64), minlength=len(starts) - 1)
    return np.asarray(sums, dtype=np.float64)


def _named(checks: Check | Iterable[Check] | Mapping[str, Check]) -> dict[str, Check]:
    if isinstance(checks, Mapping):
        named = dict(checks)
    else:
        listed = [checks] if isinstance(checks, Check) else list(checks)
        named = {label(check.element): check for check in listed}
        if len(named) < len(listed):
            raise ValueError("two checks are of the same element: give them names, {name: check, ...}")
    if not named:
        raise ValueError("there is no check to draw: give at least one")
    return named


def _percent(share: float) -> str:
    return f"{100.0 * share:#.3g}%"
