"""The posterior of the number of sessions n behind a count y at rate r, read off a table over counts and log rates.

For one count y, log Z_y is a smooth function of t = log r, and its derivative is E[n]. The table keeps it as a
polynomial of degree 7 on each interval [k step, (k + 1) step): the one that meets log Z and its first three
derivatives at both ends. E[n] is exactly the derivative of what is used for log Z, and the cost does not depend on
the count.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.compile import kernel, step, summing_step
from dcpf.kernels.special import fast_log

POINTS = 8  # tabulated counts from which a count between them is interpolated

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]


class PosteriorTable(NamedTuple):
    """log Z of each distinct count of the data as a function of t. `code` numbers these counts, which are ascending.

    With P the polynomials, log Z(t) is
    intercept[code] + slope[code] t for codes below `own`: that of y = 1, and all of them in a limit of the element;
    t + P[code - own](t) for codes below `large`;
    t + intercept[code] + sum_j weights[code - large, j] P[first[code - large] + j](t) for the others, which are
    interpolated from POINTS tabulated counts.
    """

    slope: Doubles
    intercept: Doubles
    own: int
    large: int
    first: NDArray[np.int32]
    weights: Doubles
    step: float  # the length of an interval of log rates
    start: int  # the lowest interval
    polynomials: Doubles  # (tabulated counts, intervals, 8): log Z
    shape_polynomials: Doubles  # the same for d log Z / d log(shape); empty when no shape is learned


@step
def look_up(
    table: PosteriorTable, codes: NDArray[np.int32], t: Doubles, mean: Doubles
) -> tuple[float, float, float, float, float]:
    """mean[e] = E[n] of each count at its log rate t[e]; beyond the table, its value at the table's end.

    Returns the sums over the entries of log Z, E[n] and E[m], and the lowest and highest t that was looked up.
    """
    intervals, per_interval = table.polynomials.shape[1], 1.0 / table.step
    learns_shape = table.shape_polynomials.shape[0] > 0
    log_z, sessions, shapes, lowest, highest = 0.0, 0.0, 0.0, np.inf, -np.inf
    for e in range(len(codes)):
        code = codes[e]
        if code < table.own:
            mean[e] = table.slope[code]
            log_z += table.intercept[code] + table.slope[code] * t[e]
            sessions += mean[e]
            continue
        lowest, highest = min(lowest, t[e]), max(highest, t[e])
        k, x = place_of(t[e] * per_interval, table.start, intervals)
        if code < table.large:
            row = np.uint32(code - table.own)  # unsigned, since a negative index would count from the end
            value, rise = value_and_slope(table.polynomials[row, k], x)
            if learns_shape:
                shapes += value_and_slope(table.shape_polynomials[row, k], x)[0]
        else:
            value, rise = table.intercept[code], 0.0
            for j in range(POINTS):
                weight, row = table.weights[code - table.large, j], np.uint32(table.first[code - table.large] + j)
                value_j, rise_j = value_and_slope(table.polynomials[row, k], x)
                value, rise = value + weight * value_j, rise + weight * rise_j
                if learns_shape:
                    shapes += weight * value_and_slope(table.shape_polynomials[row, k], x)[0]
        log_z += value + t[e]
        mean[e] = 1.0 + rise * per_interval
        sessions += mean[e]
    return log_z, sessions, shapes, lowest, highest


@step
def place_of(x: float, start: int, intervals: int) -> tuple[np.uint32, float]:
    """Which interval a log rate of x steps lies in, and where in it, from 0 to 1."""
    whole = np.floor(x)
    k = int(whole) - start
    inside = x - whole if k < intervals else 1.0
    return np.uint32(min(max(k, 0), intervals - 1)), inside if k >= 0 else 0.0


@step
def value_and_slope(p: Any, x: float) -> tuple[float, float]:
    """Equivalent to (sum(p[j] * x**j), sum(j * p[j] * x**(j - 1))) for eight coefficients, by Horner's rule."""
    value, slope = p[7], 0.0
    for j in range(6, -1, -1):
        slope = slope * x + value
        value = value * x + p[j]
    return value, slope


@summing_step
def log_rates(rates: Floats, c: float, out: Doubles) -> None:
    """Equivalent to out = log(rates) - c; NaN where a rate is not finite, for which fast_log is not defined."""
    for j in range(len(rates)):
        out[j] = fast_log(np.float64(rates[j])) - c if rates[j] < np.inf else np.nan


@kernel
def posterior_at_rates(
    start: int,
    stop: int,
    entries: tuple[NDArray[np.int64], NDArray[np.int32]],
    rates: Doubles,
    table: PosteriorTable,
    c: float,
    out: tuple[Doubles, Doubles, Doubles],
) -> None:
    """E[n] at each entry and sum log Z of each row, given the rates; entries = (indptr, codes of the counts).

    out = (E[n] by entry, sum of log Z by row, (lowest, highest) looked-up log rate by row).
    """
    indptr, codes = entries
    mean, log_z, spans = out
    for u in range(start, stop):
        begin, end = indptr[u], indptr[u + 1]
        t = np.empty(end - begin)
        log_rates(rates[begin:end], c, t)
        log_z[u], _, _, spans[u, 0], spans[u, 1] = look_up(table, codes[begin:end], t, mean[begin:end])
