"""Gamma posteriors, row by row: their means, geometric means and share of the bound, and extrapolated shapes.

Arithmetic is in the precision of the shapes, sums are in float64. A float64 constant would turn float32 arithmetic
into float64, so each precision has kernels of its own, made from one source.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.compile import kernel, summing_step
from dcpf.kernels.special import fast_exp, fast_exp_single, fast_log, fast_log_single

# Column sums are made in blocks of this many rows, so that their bits do not depend on the number of threads.
BLOCK = 128
_STIRLING = 0.9189385332046727 - 8.0  # log(2 pi) / 2, and s - z of Stirling's formula at z = s + 8

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]


class GammaKernels(NamedTuple):
    """The kernels of one precision."""

    moments: Callable[..., None]
    extrapolate: Callable[..., None]


def _kernels(number: Any, exp: Callable[..., Any], log: Callable[..., Any]) -> GammaKernels:
    half, one, two, six, seven, eight = (number(x) for x in (0.5, 1, 2, 6, 7, 8))
    ten, twelve, twenty_two = number(10), number(12), number(22)
    # The series of Psi(z) - log(z) + 1 / (2 z), and of what Stirling's formula leaves out of log Gamma(z)
    digamma_series = (1 / 12, 1 / 120, 1 / 252, 1 / 240, 1 / 132, 691 / 32760, 1 / 12)
    log_gamma_series = (1 / 12, 1 / 360, 1 / 1260, 1 / 1680, 1 / 1188, 691 / 360360, 1 / 156)
    d1, d2, d3, d4, d5, d6, d7 = (number(x) for x in digamma_series)
    g1, g2, g3, g4, g5, g6, g7 = (number(x) for x in log_gamma_series)

    @kernel
    def moments(
        start: int,
        stop: int,
        shape: Floats,
        row_rate: Doubles,
        column_rate: Doubles,
        shape_prior: float,
        geometric: Floats,
        sums: tuple[Doubles, Doubles, Doubles],
    ) -> None:
        """Means, geometric means and the bound of w_uk ~ Gamma(shape_uk, b_u + s_k), for blocks of rows.

        geometric = exp(E[log w]), sums = (block_means, row_means, row_bounds):
        block_means[block] = sum of E[w_u] over the block's rows, row_means[u] = sum_k E[w_uk],
        row_bounds[u] = sum_k E[log p(w_uk)] + H[q(w_uk)].

        Equivalent to, with rate = b[:, None] + s and a the prior's shape:
            geometric = exp(digamma(shape)) / rate
            row_bounds = sum((a - shape) * digamma(shape) + gammaln(shape) + shape - a * log(rate)
                             - b * shape / rate + a * log(b) - gammaln(a))
        """
        block_means, row_means, row_bounds = sums
        rows, n = shape.shape
        padded = (n + 63) & -64  # with ones at the end, whose logarithm is 0
        a, column = number(shape_prior), column_rate.astype(shape.dtype)
        mean, digamma = np.empty(n, shape.dtype), np.empty(n, shape.dtype)
        part, inverse = np.empty(n, shape.dtype), np.empty(n, shape.dtype)
        rising, ratio = np.ones(padded, shape.dtype), np.ones(padded, shape.dtype)
        constant = n * (_STIRLING - math.lgamma(shape_prior))
        for block in range(start, stop):
            for u in range(block * BLOCK, min((block + 1) * BLOCK, rows)):
                b = number(row_rate[u])
                for k in range(n):
                    # Gamma(s) and Psi(s) from z = s + 8, where their series hold: with q = s (s + 7),
                    # s (s + 1) ... (s + 7) = q (q + 6) (q + 10) (q + 12), divided by z^7.5 lest it overflow.
                    s = shape[u, k]
                    z, q = s + eight, s * (s + seven)
                    zi = one / z
                    w = zi * zi
                    low, high = q * (q + six), (q + ten) * (q + twelve)
                    slope = (two * s + seven) * ((two * q + six) / low + (two * q + twenty_two) / high)
                    tail = d1 - w * (d2 - w * (d3 - w * (d4 - w * (d5 - w * (d6 - w * d7)))))
                    digamma[k] = -half * zi - w * tail - slope  # Psi(s) - log(z)
                    rising[k] = ((q * w) * ((q + six) * w)) * (((q + ten) * w) * ((q + twelve) * w)) * math.sqrt(z)
                    tail = g1 - w * (g2 - w * (g3 - w * (g4 - w * (g5 - w * (g6 - w * g7)))))
                    part[k] = zi * tail + (a - s) * digamma[k]
                for k in range(n):
                    inverse[k] = one / (b + column[k])
                    mean[k] = shape[u, k] * inverse[k]
                    ratio[k] = (shape[u, k] + eight) * inverse[k]
                for k in range(n):
                    block_means[block, k] += np.float64(mean[k])
                for k in range(n):
                    geometric[u, k] = ratio[k] * exp(digamma[k])
                row_means[u] = total(mean)
                # The bound also has the logarithms a log(z / rate) - log(rising) and a log(b)
                bound = total(part) + shape_prior * sum_of_logs(ratio) - sum_of_logs(rising)
                bound += constant + n * shape_prior * math.log(row_rate[u]) - row_rate[u] * row_means[u]
                row_bounds[u] = bound

    @kernel
    def extrapolate(start: int, stop: int, new: Floats, old: Floats, out: Floats, push: float, least: float) -> None:
        """Equivalent to out = np.maximum(new * (new / old) ** push, least), for positive numbers."""
        power, smallest = number(push), number(least)
        new, old, out = (
            new[start:stop],
            old[start:stop],
            out[start:stop],
        )  # slices vectorise
        for i in range(len(out)):
            out[i] = max(new[i] * exp(power * log(new[i] / old[i])), smallest)

    return GammaKernels(moments, extrapolate)


@summing_step
def total(x: Floats) -> float:
    """Equivalent to x.sum(dtype=np.float64)."""
    s = 0.0
    for k in range(len(x)):
        s += np.float64(x[k])
    return s


@summing_step
def sum_of_logs(x: Floats) -> float:
    """Equivalent to np.log(x).sum(dtype=np.float64) for a multiple of 8 numbers from 1e-19 to 1e19.

    One logarithm serves eight numbers.
    """
    n = len(x) // 8
    s = 0.0
    for k in range(n):
        low = np.float64(x[k] * x[n + k]) * np.float64(x[2 * n + k] * x[3 * n + k])
        high = np.float64(x[4 * n + k] * x[5 * n + k]) * np.float64(x[6 * n + k] * x[7 * n + k])
        s += fast_log(low * high)
    return s


@kernel
def gamma_means(
    start: int, stop: int, shape: Floats, row_rate: Doubles, column_rate: Doubles, block_means: Doubles
) -> None:
    """The sums of E[w_u] = shape_u / (b_u + s) over blocks of rows, in the precision of the shapes."""
    rows, n = shape.shape
    column = column_rate.astype(shape.dtype)
    for block in range(start, stop):
        for u in range(block * BLOCK, min((block + 1) * BLOCK, rows)):
            b = shape.dtype.type(row_rate[u])
            for k in range(n):
                block_means[block, k] += np.float64(shape[u, k] / (b + column[k]))


_SINGLE = _kernels(np.float32, fast_exp_single, fast_log_single)
_DOUBLE = _kernels(np.float64, fast_exp, fast_log)


def gamma_kernels(dtype: np.dtype[np.floating]) -> GammaKernels:
    """The kernels for shapes of this precision."""
    return _SINGLE if dtype == np.float32 else _DOUBLE
