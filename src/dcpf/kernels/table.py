"""The posterior of the number of sessions, as a table over counts and log rates.

For one count y, log Z_y is a smooth function of t = log r, and its derivative is E[n]. It is kept as a
polynomial of degree 7 on each interval [k step, (k + 1) step): the one that meets log Z and its first three
derivatives at both ends. Eight coefficients are one line of a processor's cache, E[n] is exactly the
derivative of what is used for log Z, and the cost does not depend on the count.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.jit import kernel, summing_kernel
from dcpf.kernels.vectors import TOGETHER, line_at, mixed_line

POINTS = TOGETHER  # tabulated counts that are combined for a count in between


class Table(NamedTuple):
    """What the sweep knows of the element. `code` numbers the distinct counts of the data.

    log Z_y(t) = intercept[code] + slope[code] t + sum_j weights[code, j] P[first[code] + j](t)
    with points[code] terms in the sum: 0 where log Z is a straight line (y = 1 and both limits), 1 for a
    count with polynomials of its own, POINTS for a large count that is interpolated from tabulated ones.
    """

    slope: NDArray[np.float64]
    intercept: NDArray[np.float64]
    first: NDArray[np.int32]
    points: NDArray[np.int32]
    weights: NDArray[np.float64]
    step: float  # the length of an interval of log rates
    start: int  # the lowest interval
    polynomials: NDArray[np.float64]  # (tabulated counts, intervals, 8): log Z
    shape_polynomials: NDArray[np.float64]  # the same for d log Z / d log(shape); empty when no shape is learned


@summing_kernel
def look_up(
    table: Table, codes: NDArray[np.int32], t: NDArray[np.float64], mean: NDArray[np.float64]
) -> tuple[float, float, float, float, float]:
    """mean[e] = E[n] of each count at its log rate t[e]; beyond the table, its value at the table's end.

    Returns the sums over the entries of log Z, E[n] and E[m], and the lowest and highest t that was looked up.
    """
    intervals = table.polynomials.shape[1]
    learns_shape = table.shape_polynomials.shape[0] > 0
    per_interval = 1.0 / table.step
    log_evidence, sessions, shapes = 0.0, 0.0, 0.0
    lowest, highest = np.inf, -np.inf
    large = 0
    for e in range(len(codes)):
        code = codes[e]
        n = table.slope[code]
        log_evidence += table.intercept[code] + n * t[e]
        if table.points[code] > 0:
            lowest, highest = min(lowest, t[e]), max(highest, t[e])
        if table.points[code] == 1:
            k, x = place_of(t[e] * per_interval, table.start, intervals)
            i = table.first[code]
            p = line_at(table.polynomials, i * intervals + k)
            log_evidence += value_at(p, x)
            n += slope_at(p, x) * per_interval
            if learns_shape:
                shapes += value_at(line_at(table.shape_polynomials, i * intervals + k), x)
        elif table.points[code] > 1:
            large += 1
        sessions += n
        mean[e] = n
    if large > 0:  # in a loop of its own, beside which the one above would be slower
        more = look_up_large(table, codes, t, mean)
        log_evidence, sessions, shapes = log_evidence + more[0], sessions + more[1], shapes + more[2]
    return log_evidence, sessions, shapes, lowest, highest


@kernel
def look_up_large(
    table: Table, codes: NDArray[np.int32], t: NDArray[np.float64], mean: NDArray[np.float64]
) -> tuple[float, float, float]:
    """What `look_up` has left out: the counts whose polynomials are made up of those of tabulated ones."""
    intervals = table.polynomials.shape[1]
    learns_shape = table.shape_polynomials.shape[0] > 0
    per_interval = 1.0 / table.step
    log_evidence, sessions, shapes = 0.0, 0.0, 0.0
    for e in range(len(codes)):
        code = codes[e]
        if table.points[code] > 1:
            k, x = place_of(t[e] * per_interval, table.start, intervals)
            first = table.first[code] * intervals + k
            p = mixed_line(table.weights, code, table.polynomials, first, intervals)
            rise = slope_at(p, x) * per_interval
            log_evidence += value_at(p, x)
            sessions += rise
            mean[e] += rise
            if learns_shape:
                shapes += value_at(mixed_line(table.weights, code, table.shape_polynomials, first, intervals), x)
    return log_evidence, sessions, shapes


@summing_kernel
def place_of(x: float, start: int, intervals: int) -> tuple[int, float]:
    """Which interval a log rate of x steps lies in, and where in it, from 0 to 1."""
    whole = math.floor(x)
    k = whole - start
    if k < 0:
        return 0, 0.0
    if k >= intervals:
        return intervals - 1, 1.0
    return k, x - whole


# Both in Estrin's order: coefficients in pairs, pairs of these, which need not wait for each other


@summing_kernel
def value_at(p: Any, x: float) -> float:
    """Equivalent to sum(p[j] * x**j) for eight coefficients."""
    x2 = x * x
    low: float = (p[0] + p[1] * x) + (p[2] + p[3] * x) * x2
    high: float = (p[4] + p[5] * x) + (p[6] + p[7] * x) * x2
    return low + high * (x2 * x2)


@summing_kernel
def slope_at(p: Any, x: float) -> float:
    """Equivalent to sum(j * p[j] * x**(j - 1)) for eight coefficients."""
    x2 = x * x
    low: float = (p[1] + 2.0 * p[2] * x) + (3.0 * p[3] + 4.0 * p[4] * x) * x2
    high: float = (5.0 * p[5] + 6.0 * p[6] * x) + 7.0 * p[7] * x2
    return low + high * (x2 * x2)


@kernel
def hermite_polynomials(
    start: int, stop: int, values: NDArray[np.float64], step: float, out: NDArray[np.float64]
) -> None:
    """Coefficients in x = (t - t_k) / step of the degree-7 polynomials through f and three derivatives at the nodes.

    `values` is (counts, nodes, 4), with derivatives in t; `out` is (counts, nodes - 1, 8).
    """
    c1, c2, c3 = step, step * step / 2.0, step * step * step / 6.0  # from derivatives to Taylor coefficients in x
    for i in range(start, stop):
        for k in range(out.shape[1]):
            a0, a1, a2, a3 = values[i, k, 0], c1 * values[i, k, 1], c2 * values[i, k, 2], c3 * values[i, k, 3]
            # What the lower four coefficients leave to be made up at x = 1, of each Taylor coefficient there
            f = values[i, k + 1, 0] - (a0 + a1 + a2 + a3)
            d1 = c1 * values[i, k + 1, 1] - (a1 + 2.0 * a2 + 3.0 * a3)
            d2 = c2 * values[i, k + 1, 2] - (a2 + 3.0 * a3)
            d3 = c3 * values[i, k + 1, 3] - a3
            out[i, k, 0], out[i, k, 1], out[i, k, 2], out[i, k, 3] = a0, a1, a2, a3
            out[i, k, 4] = 35.0 * f - 15.0 * d1 + 5.0 * d2 - d3
            out[i, k, 5] = -84.0 * f + 39.0 * d1 - 14.0 * d2 + 3.0 * d3
            out[i, k, 6] = 70.0 * f - 34.0 * d1 + 13.0 * d2 - 3.0 * d3
            out[i, k, 7] = -20.0 * f + 10.0 * d1 - 4.0 * d2 + d3
