"""The posterior of the number of sessions, as a table over counts and log rates.

For one count y, log Z_y is a smooth function of t = log r, and its derivative is E[n]. It is kept as a
polynomial of degree 7 on each interval [k step, (k + 1) step): the one that meets log Z and its first three
derivatives at both ends. Eight coefficients are one line of a processor's cache, E[n] is exactly the
derivative of what is used for log Z, and the cost does not depend on the count.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.jit import kernel, step, summing_step
from dcpf.kernels.vectors import ENTRY_BITS, TOGETHER, mixed_line, polynomials

POINTS = TOGETHER  # tabulated counts that are combined for a count in between


class Table(NamedTuple):
    """What the sweep knows of the element. `code` numbers the distinct counts of the data, which are ascending.

    log Z_y(t) is
    intercept[code] + slope[code] t for codes below `own`: that of y = 1, and all of them in a limit of the element;
    t + P[code - own](t) for a count with polynomials of its own;
    t + intercept[code] + sum_j weights[code - large, j] P[first[code - large] + j](t) for codes from `large` on:
    counts that are interpolated from POINTS tabulated ones.
    """

    slope: NDArray[np.float64]
    intercept: NDArray[np.float64]
    own: int
    large: int
    first: NDArray[np.int32]
    weights: NDArray[np.float64]
    step: float  # the length of an interval of log rates
    start: int  # the lowest interval
    polynomials: NDArray[np.float64]  # (tabulated counts, intervals, 8): log Z
    shape_polynomials: NDArray[np.float64]  # the same for d log Z / d log(shape); empty when no shape is learned


@summing_step
def look_up(
    table: Table,
    codes: NDArray[np.int32],
    t: NDArray[np.float64],
    mean: NDArray[np.float64],
    jobs: NDArray[np.int64],
) -> tuple[float, float, float, float, float]:
    """mean[e] = E[n] of each count at its log rate t[e]; beyond the table, its value at the table's end.

    Returns the sums over the entries of log Z, E[n] and E[m], and the lowest and highest t that was looked up.
    `jobs` is scratch, as long as the others, and `t` is used up.
    """
    if table.own == len(table.slope):
        return *straight_lines(table, codes, t, mean), 0.0, np.inf, -np.inf
    # E[n] = 1 and log Z = t for y = 1; other counts add to this
    log_evidence, sessions, shapes = 0.0, float(len(codes)), 0.0
    for e in range(len(codes)):
        log_evidence += t[e]
    for e in range(len(codes)):
        mean[e] = 1.0
    lowest, highest, count = put_jobs(table, codes, t, jobs)
    per_interval = 1.0 / table.step
    if count > 0:
        learns_shape = table.shape_polynomials.shape[0] > 0
        beside = table.shape_polynomials if learns_shape else table.polynomials
        values, slopes, others = polynomials(table.polynomials, beside, jobs, count, t, t)
        log_evidence, sessions = log_evidence + values, sessions + slopes * per_interval
        if learns_shape:
            shapes = others
        for job in range(count):
            entry = np.uint32(jobs[job])  # unsigned, since a negative index would count from the end: that takes time
            mean[entry] += t[entry] * per_interval
    if table.large < len(table.slope):
        more = look_up_large(table, codes, t, mean)
        log_evidence, sessions, shapes = log_evidence + more[0], sessions + more[1], shapes + more[2]
    return log_evidence, sessions, shapes, lowest, highest


@summing_step
def put_jobs(
    table: Table, codes: NDArray[np.int32], t: NDArray[np.float64], jobs: NDArray[np.int64]
) -> tuple[float, float, int]:
    """The jobs of counts with polynomials of their own, whose t becomes a place in an interval.

    Returns the lowest and highest t that is looked up, and how many jobs there are.
    """
    per_interval, intervals = 1.0 / table.step, table.polynomials.shape[1]
    lowest, highest, others, count = np.inf, -np.inf, 0, 0
    for e in range(len(codes)):
        others += (codes[e] < table.own) | (codes[e] >= table.large)
    if others == 0:  # as in most rows of a fit: then these loops become vectors
        for e in range(len(codes)):
            lowest, highest = min(lowest, t[e]), max(highest, t[e])
        for e in range(len(codes)):
            k, t[e] = place_of(t[e] * per_interval, table.start, intervals)
            jobs[e] = ((codes[e] - table.own) * intervals + k) << ENTRY_BITS | e
        return lowest, highest, len(codes)
    for e in range(len(codes)):
        if codes[e] >= table.own:
            lowest, highest = min(lowest, t[e]), max(highest, t[e])
            if codes[e] < table.large:
                k, t[e] = place_of(t[e] * per_interval, table.start, intervals)
                jobs[count] = ((codes[e] - table.own) * intervals + k) << ENTRY_BITS | e
                count += 1
    return lowest, highest, count


@step
def straight_lines(
    table: Table, codes: NDArray[np.int32], t: NDArray[np.float64], mean: NDArray[np.float64]
) -> tuple[float, float]:
    """What `look_up` finds where no count needs a polynomial."""
    log_evidence, sessions = 0.0, 0.0
    for e in range(len(codes)):
        mean[e] = table.slope[codes[e]]
    for e in range(len(codes)):
        log_evidence += table.intercept[codes[e]] + mean[e] * t[e]
        sessions += mean[e]
    return log_evidence, sessions


@step
def look_up_large(
    table: Table, codes: NDArray[np.int32], t: NDArray[np.float64], mean: NDArray[np.float64]
) -> tuple[float, float, float]:
    """What `look_up` has left out: the counts whose polynomials are made up of those of tabulated ones."""
    intervals = table.polynomials.shape[1]
    learns_shape = table.shape_polynomials.shape[0] > 0
    per_interval = 1.0 / table.step
    log_evidence, sessions, shapes = 0.0, 0.0, 0.0
    for e in range(len(codes)):
        if codes[e] >= table.large:
            code = codes[e] - table.large
            k, x = place_of(t[e] * per_interval, table.start, intervals)
            first = table.first[code] * intervals + k
            p = mixed_line(table.weights, code, table.polynomials, first, intervals)
            rise = slope_at(p, x) * per_interval
            log_evidence += table.intercept[codes[e]] + value_at(p, x)
            sessions += rise
            mean[e] += rise
            if learns_shape:
                shapes += value_at(mixed_line(table.weights, code, table.shape_polynomials, first, intervals), x)
    return log_evidence, sessions, shapes


@summing_step
def place_of(x: float, start: int, intervals: int) -> tuple[int, float]:
    """Which interval a log rate of x steps lies in, and where in it, from 0 to 1."""
    whole = np.floor(x)
    k = int(whole) - start
    inside = x - whole if k < intervals else 1.0
    return min(max(k, 0), intervals - 1), inside if k >= 0 else 0.0


# Both in Estrin's order: coefficients in pairs, pairs of these, which need not wait for each other


@summing_step
def value_at(p: Any, x: float) -> float:
    """Equivalent to sum(p[j] * x**j) for eight coefficients."""
    x2 = x * x
    low: float = (p[0] + p[1] * x) + (p[2] + p[3] * x) * x2
    high: float = (p[4] + p[5] * x) + (p[6] + p[7] * x) * x2
    return low + high * (x2 * x2)


@summing_step
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
