"""From an element to the table that the sweep looks up."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dcpf.elements import Element
from dcpf.kernels.table import POINTS, Table, hermite_polynomials
from dcpf.kernels.threads import Threads

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Span = tuple[float, float]

_OWN = 64  # counts up to here have polynomials of their own
_MARGIN = 1.0  # how far beyond the log rates that are asked for a table reaches


class Tables:
    """The tables of one set of distinct counts: made when the element's shape or the range of rates asks for it.

    What a table says of a count at a rate depends on the element, the count and the rate alone, never on the
    other counts or on how far the table reaches.
    """

    def __init__(self, counts: Counts, threads: Threads, *, learn_shape: bool) -> None:
        self.counts = counts
        self._threads = threads
        self._learn_shape = learn_shape
        self._table: Table | None = None
        self._key: object = None
        self._layouts: dict[float | None, _Layout] = {}

    def run(self, element: Element, span: Span, attempt: Callable[[Table], Span]) -> Span:
        """Run `attempt` with a table that reaches over all log rates at which it looks a count up.

        `span` is where these are expected, and `attempt` says where they were (from infinity to minus infinity
        if there were none); if that is elsewhere, it is run again with a table that reaches there.
        """
        while True:
            table = self.covering(element, span)
            found = attempt(table)
            if found[0] > found[1]:
                return span
            if _covers(table, *found):
                return found
            span = found

    def covering(self, element: Element, span: Span) -> Table:
        """A table for the log rates of this span."""
        key = (type(element), element.limit, element.parameters.get("a"))
        if self._table is None or key != self._key or not _covers(self._table, *span):
            self._table = self._make(element, span[0] - _MARGIN, span[1] + _MARGIN)
            self._key = key
        return self._table

    def _make(self, element: Element, low: float, high: float) -> Table:
        y = self.counts.astype(np.float64)
        if element.limit is not None:
            raw = element.limit == "raw"
            return _straight_lines(y if raw else np.ones_like(y), -gammaln(y + 1.0) if raw else np.zeros_like(y))
        step = element.count_step
        if step not in self._layouts:
            self._layouts[step] = _Layout(self.counts, step)
        layout = self._layouts[step]
        spacing = element.rate_step
        start, stop = math.floor(low / spacing), math.ceil(high / spacing)
        log_rates = spacing * np.arange(start, stop + 1, dtype=np.float64)
        values = element.cumulants(layout.tabulated, log_rates, self._threads)
        learn_shape = self._learn_shape and element.has_shape
        return Table(
            slope=np.ones_like(y),
            intercept=element.log_h(y, np.ones_like(y)),
            first=layout.first,
            points=layout.points,
            weights=layout.weights,
            step=spacing,
            start=start,
            polynomials=hermite_polynomials(values[..., :4], spacing),
            shape_polynomials=hermite_polynomials(values[..., 4:], spacing) if learn_shape else np.empty((0, 0, 8)),
        )


def _covers(table: Table, low: float, high: float) -> bool:
    """Whether every looked-up log rate from low to high lies within the table."""
    if not table.points.any() or low > high:
        return True
    return table.start * table.step <= low and high <= (table.start + table.polynomials.shape[1]) * table.step


def _straight_lines(slope: Floats, intercept: Floats) -> Table:
    nothing = np.zeros(len(slope), dtype=np.int32)
    weights = np.zeros((len(slope), POINTS))
    return Table(slope, intercept, nothing, nothing, weights, 1.0, 0, np.empty((0, 0, 8)), np.empty((0, 0, 8)))


class _Layout:
    """Which counts are tabulated, and how each distinct count of the data is made up of them.

    y = 1 needs no table. Counts up to _OWN, and all where `step` is None, are tabulated themselves. The others
    are interpolated in log y between tabulated counts that lie `step` apart, by Lagrange's formula.
    """

    def __init__(self, counts: Counts, step: float | None) -> None:
        # Small steps start higher up, where neighbours on the lattice are different whole numbers.
        largest_own = math.inf if step is None else max(_OWN, math.ceil(4.0 / step))
        own = (counts > 1) & (counts <= largest_own)
        between = (counts > 1) & ~own
        n_own = int(own.sum())
        self.tabulated = counts[own]
        self.points = np.where(own, 1, np.where(between, POINTS, 0)).astype(np.int32)
        self.first = np.zeros(len(counts), dtype=np.int32)
        self.first[own] = np.arange(n_own)
        self.weights = np.zeros((len(counts), POINTS))
        self.weights[own, 0] = 1.0
        if step is None or not between.any():
            return
        origin = math.log(largest_own)
        y = counts[between].astype(np.float64)
        cell = np.floor((np.log(y) - origin) / step).astype(np.int64)
        used = np.unique(cell[:, None] + np.arange(POINTS) - (POINTS // 2 - 1))
        nodes = np.round(np.exp(origin + step * used)).astype(np.int64)
        self.tabulated = np.concatenate([self.tabulated, nodes])
        position = np.searchsorted(used, cell - (POINTS // 2 - 1))
        self.first[between] = n_own + position
        x = np.log(nodes.astype(np.float64))[position[:, None] + np.arange(POINTS)]
        self.weights[between] = _lagrange_weights(x, np.log(y))


def _lagrange_weights(nodes: Floats, x: Floats) -> Floats:
    """Row by row, the weights of the values at the nodes in the interpolating polynomial at x."""
    weights = np.ones_like(nodes)
    for i in range(POINTS):
        for j in range(POINTS):
            if j != i:
                weights[:, i] *= (x - nodes[:, j]) / (nodes[:, i] - nodes[:, j])
    return weights
