"""Tables of the posterior of the number of sessions, made from an element."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dcpf.elements import Element
from dcpf.kernels.posterior import POINTS, PosteriorTable
from dcpf.kernels.threads import Threads

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Span = tuple[float, float]

_OWN = 64  # counts up to this one have polynomials of their own
# The margin of a table around the log rates that are asked for: less where it is made anew in each iteration
_MARGIN, _MARGIN_IF_MOVING = 3.0, 1.0
_SINGLE = 2.0  # steps are so many times longer where rates are float32: seven digits instead of nine


class PosteriorTables:
    """The current table of a set of distinct counts. A new one is made when the shape or the range of rates changes.

    The values for a count at a rate depend on the element, the count and the rate alone, never on the other counts or
    the range of the table.
    """

    def __init__(self, counts: Counts, threads: Threads, *, learn_shape: bool) -> None:
        self.counts = counts
        self._threads = threads
        self._learn_shape = learn_shape
        self._table: PosteriorTable | None = None
        self._key: object = None
        self._layouts: dict[float | None, _Layout] = {}

    def run(
        self, element: Element, span: Span, attempt: Callable[[PosteriorTable], Span], *, single: bool = False
    ) -> Span:
        """Run `attempt` with a table that covers all log rates it looks up, and return the range of these.

        `span` is the expected range, and `single` says whether rates are float32. `attempt` returns the range that it
        looked up, (inf, -inf) for none; if the table did not cover it, `attempt` runs again with a larger table. No
        table covers rates that are not finite: the results are not finite then.
        """
        while True:
            table = self.covering(element, span, single=single)
            found = attempt(table)
            if not (found[0] <= found[1] and math.isfinite(found[0]) and math.isfinite(found[1])):
                return span
            if _covers(table, *found):
                return found
            span = (min(span[0], found[0]), max(span[1], found[1]))

    def covering(self, element: Element, span: Span, *, single: bool = False) -> PosteriorTable:
        """A table that covers the log rates of this span; `single` says whether they come from float32."""
        shape = [value for name, value in element.parameters.items() if name != "p"]  # p only shifts the log rates
        key = (type(element), element.limit, shape, single)
        same = key == self._key
        if self._table is None or not same or not _covers(self._table, *span):
            self._table = self._make(element, span, single, self._table if same else None)
            self._key = key
        return self._table

    def _make(self, element: Element, span: Span, single: bool, old: PosteriorTable | None) -> PosteriorTable:
        """A new table, which takes over the polynomials of an old one for the same shape."""
        y = self.counts.astype(np.float64)
        if element.limit is not None:
            raw = element.limit == "raw"
            return _straight_lines(y if raw else np.ones_like(y), -gammaln(y + 1.0) if raw else np.zeros_like(y))
        layout = self._layout(element.count_step)
        learn_shape = self._learn_shape and element.has_shape
        margin = _MARGIN_IF_MOVING if learn_shape else _MARGIN
        step = element.rate_step * (_SINGLE if single else 1.0)
        start, stop = math.floor((span[0] - margin) / step), math.ceil((span[1] + margin) / step)
        polynomials = np.empty((len(layout.tabulated), stop - start, 8))
        shape_polynomials = np.empty_like(polynomials) if learn_shape else np.empty((0, 0, 8))
        intercept = element.log_h(y, np.ones_like(y))
        own, kept = intercept[layout.own : layout.large], range(0)
        if old is not None and not learn_shape:  # a learned shape moves in every iteration
            kept = range(max(start, old.start), min(stop, old.start + old.polynomials.shape[1]))
        missing = [range(start, kept.start), range(kept.stop, stop)] if kept else [range(start, stop)]
        if old is not None and kept:
            known = old.polynomials[:, kept.start - old.start : kept.stop - old.start]
            polynomials[:, kept.start - start : kept.stop - start] = known
        for piece in filter(len, missing):
            log_rates = step * np.arange(piece.start, piece.stop + 1, dtype=np.float64)
            values = element.cumulants(layout.tabulated, log_rates, self._threads)
            where = slice(piece.start - start, piece.stop - start)
            polynomials[:, where] = hermite_polynomials(values[..., :4], step)
            polynomials[: len(own), where, 0] += own[:, None]
            if learn_shape:
                shape_polynomials[:, where] = hermite_polynomials(values[..., 4:], step)
        return PosteriorTable(
            slope=np.ones_like(y),
            intercept=intercept,
            own=layout.own,
            large=layout.large,
            first=layout.first,
            weights=layout.weights,
            step=step,
            start=start,
            polynomials=polynomials,
            shape_polynomials=shape_polynomials,
        )

    def _layout(self, step: float | None) -> "_Layout":
        if step not in self._layouts:
            self._layouts[step] = _Layout(self.counts, step)
        return self._layouts[step]


def hermite_polynomials(values: Floats, step: float) -> Floats:
    """Coefficients in x = (t - t_k) / step of the degree-7 polynomials through f and three derivatives at the nodes.

    `values` is (counts, nodes, 4), with derivatives in t; the answer is (counts, nodes - 1, 8).
    """
    scale = step ** np.arange(4.0) / (1.0, 1.0, 2.0, 6.0)
    taylor = np.ascontiguousarray(np.moveaxis(values, -1, 0)) * scale[:, None, None]
    a0, a1, a2, a3 = taylor[:, :, :-1]
    f, d1, d2, d3 = taylor[:, :, 1:]
    # The Taylor coefficients at x = 1, less what the lower four coefficients contribute there
    f, d1, d2, d3 = f - (a0 + a1 + a2 + a3), d1 - (a1 + 2.0 * a2 + 3.0 * a3), d2 - (a2 + 3.0 * a3), d3 - a3
    higher = (
        35.0 * f - 15.0 * d1 + 5.0 * d2 - d3,
        -84.0 * f + 39.0 * d1 - 14.0 * d2 + 3.0 * d3,
        70.0 * f - 34.0 * d1 + 13.0 * d2 - 3.0 * d3,
        -20.0 * f + 10.0 * d1 - 4.0 * d2 + d3,
    )
    return np.stack([a0, a1, a2, a3, *higher], axis=-1)


def _covers(table: PosteriorTable, low: float, high: float) -> bool:
    """Whether every looked-up log rate from low to high lies within the table."""
    if table.own == len(table.slope) or low > high:
        return True
    return table.start * table.step <= low and high <= (table.start + table.polynomials.shape[1]) * table.step


def _straight_lines(slope: Floats, intercept: Floats) -> PosteriorTable:
    none, nothing, last = np.empty((0, 0, 8)), np.zeros(0, dtype=np.int32), len(slope)
    return PosteriorTable(slope, intercept, last, last, nothing, np.zeros((0, POINTS)), 1.0, 0, none, none)


class _Layout:
    """Which counts are tabulated, and how the others are interpolated between them.

    y = 1 needs no table. Counts up to _OWN are tabulated, and all counts if `step` is None. The others are
    interpolated in log y between tabulated counts `step` apart, by Lagrange's formula.
    """

    def __init__(self, counts: Counts, step: float | None) -> None:
        # Smaller steps start at larger counts, where neighbours on the lattice are distinct integers.
        largest_own = math.inf if step is None else max(_OWN, math.ceil(4.0 / step))
        self.own, self.large = np.searchsorted(counts, [1, largest_own], side="right").tolist()
        self.tabulated = counts[self.own : self.large]
        y = counts[self.large :].astype(np.float64)
        self.first, self.weights = np.zeros(len(y), dtype=np.int32), np.zeros((len(y), POINTS))
        if step is None or not len(y):
            return
        origin = math.log(largest_own)
        cell = np.floor((np.log(y) - origin) / step).astype(np.int64)
        used = np.unique(cell[:, None] + np.arange(POINTS) - (POINTS // 2 - 1))
        nodes = np.round(np.exp(origin + step * used)).astype(np.int64)
        position = np.searchsorted(used, cell - (POINTS // 2 - 1))
        self.first[:] = len(self.tabulated) + position
        self.tabulated = np.concatenate([self.tabulated, nodes])
        x = np.log(nodes.astype(np.float64))[position[:, None] + np.arange(POINTS)]
        self.weights[:] = _lagrange_weights(x, np.log(y))


def _lagrange_weights(nodes: Floats, x: Floats) -> Floats:
    """For each row, the weights that interpolate values at the nodes to x."""
    weights = np.ones_like(nodes)
    for i in range(POINTS):
        for j in range(POINTS):
            if j != i:
                weights[:, i] *= (x - nodes[:, j]) / (nodes[:, i] - nodes[:, j])
    return weights
