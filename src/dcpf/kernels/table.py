"""The posterior of the number of sessions, as a table over counts and log rates.

For one count y, log Z_y is a smooth function of t = log r, and its derivative is E[n]. It is kept as a
polynomial of degree 7 on each interval [k step, (k + 1) step): the one that meets log Z and its first three
derivatives at both ends. Eight coefficients are one line of a processor's cache, E[n] is exactly the
derivative of what is used for log Z, and the cost does not depend on the count.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.jit import kernel

POINTS = 8  # tabulated counts that are combined for a count in between


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


@kernel
def look_up(
    table: Table, codes: NDArray[np.int32], t: NDArray[np.float64], mean: NDArray[np.float64]
) -> tuple[float, float, float, float, float]:
    """mean[e] = E[n] of each count at its log rate t[e]; beyond the table, its value at the table's end.

    Returns the sums over the entries of log Z, E[n] and E[m], and the lowest and highest t that was looked up.
    """
    slopes, intercepts, first, points, weights, step, start, polynomials, shape_polynomials = table
    intervals = polynomials.shape[1]
    learns_shape = shape_polynomials.shape[0] > 0
    log_evidence, sessions, shapes = 0.0, 0.0, 0.0
    lowest, highest = np.inf, -np.inf
    for e in range(len(codes)):
        code = codes[e]
        log_z = intercepts[code] + slopes[code] * t[e]
        n = slopes[code]
        if points[code] > 0:
            lowest, highest = min(lowest, t[e]), max(highest, t[e])
            x = t[e] / step
            k = math.floor(x) - start
            if k < 0:
                k, x = 0, 0.0
            elif k >= intervals:
                k, x = intervals - 1, 1.0
            else:
                x -= math.floor(x)
            rise = 0.0
            for j in range(points[code]):
                i = first[code] + j
                weight = weights[code, j]
                value = polynomials[i, k, 7]
                slope = value
                for power in range(6, 0, -1):
                    value = value * x + polynomials[i, k, power]
                    slope = slope * x + value
                log_z += weight * (value * x + polynomials[i, k, 0])
                rise += weight * slope
                if learns_shape:
                    value = shape_polynomials[i, k, 7]
                    for power in range(6, -1, -1):
                        value = value * x + shape_polynomials[i, k, power]
                    shapes += weight * value
            n += rise / step
        log_evidence += log_z
        sessions += n
        mean[e] = n
    return log_evidence, sessions, shapes, lowest, highest


def hermite_polynomials(values: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    """Coefficients in x = (t - t_k) / step of the degree-7 polynomials through (f, f', f'', f''') at the nodes.

    `values` is (counts, nodes, 4), with derivatives in t; the answer is (counts, nodes - 1, 8).
    """
    scaled = values * np.array([1.0, step, step**2 / 2.0, step**3 / 6.0])  # Taylor coefficients in x
    left, right = scaled[:, :-1], scaled[:, 1:]
    out = np.empty((*left.shape[:2], 8))
    out[..., :4] = left
    # The upper four make value and derivatives at x = 1 come out right.
    f = right[..., 0] - left.sum(axis=-1)
    d1 = right[..., 1] - (left[..., 1] + 2.0 * left[..., 2] + 3.0 * left[..., 3])
    d2 = right[..., 2] - (left[..., 2] + 3.0 * left[..., 3])
    d3 = right[..., 3] - left[..., 3]
    out[..., 4] = 35.0 * f - 15.0 * d1 + 5.0 * d2 - d3
    out[..., 5] = -84.0 * f + 39.0 * d1 - 14.0 * d2 + 3.0 * d3
    out[..., 6] = 70.0 * f - 34.0 * d1 + 13.0 * d2 - 3.0 * d3
    out[..., 7] = -20.0 * f + 10.0 * d1 - 4.0 * d2 + d3
    return out
