"""Gamma posteriors, row by row: their means, their geometric means, and their share of the bound."""

import math

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.elementary import digamma_and_log_gamma_tails, fast_exp, fast_exp_single, fast_log
from dcpf.kernels.jit import kernel, summing_step

# Column sums are made in blocks of this many rows, so that they do not depend on the number of threads.
BLOCK = 128
_WHOLE = 64  # numbers whose logarithms are taken together: a logarithm for 8, in vectors of 8 without a remainder
_STIRLING = 0.9189385332046727 - 8.0  # log(2 pi) / 2, and s - z of Stirling's formula at z = s + 8


@kernel
def gamma_moments(
    start: int,
    stop: int,
    shape: NDArray[np.floating],
    row_rate: NDArray[np.float64],
    column_rate: NDArray[np.float64],
    shape_prior: float,
    geometric: NDArray[np.floating],
    sums: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Fill in what the rest of an iteration needs of w_uk ~ Gamma(shape_uk, b_u + s_k), for blocks of rows.

    geometric = exp(E[log w]), with zeros beyond the columns of the shape, and of
    sums = (block_means, row_means, row_bounds)
    block_means[block] = sum of E[w_u] over the block's rows, row_means[u] = sum_k E[w_uk],
    row_bounds[u] = sum_k E[log p(w_uk)] + H[q(w_uk)].

    Equivalent to, with rate = b[:, None] + s and a the prior's shape:
        geometric = exp(digamma(shape)) / rate
        row_bounds = sum((a - shape) * digamma(shape) + gammaln(shape) + shape - a * log(rate)
                         - b * shape / rate + a * log(b) - gammaln(a))
    """
    block_means, row_means, row_bounds = sums
    rows, n = shape.shape
    padded = _WHOLE * ((n + _WHOLE - 1) // _WHOLE)  # with ones at the end, whose logarithm is 0
    mean, digamma, tail, inverse = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    z, rising, rate = np.ones(padded), np.ones(padded), np.ones(padded)
    highest = 0.0
    for k in range(n):
        highest = max(highest, column_rate[k])
    constant = n * (_STIRLING - math.lgamma(shape_prior))
    for block in range(start, stop):
        for u in range(block * BLOCK, min((block + 1) * BLOCK, rows)):
            b = row_rate[u]
            for k in range(n):
                # Gamma(s) and Psi(s) from z = s + 8, where their series hold: with q = s (s + 7),
                # s (s + 1) ... (s + 7) = q (q + 6) (q + 10) (q + 12).
                s = np.float64(shape[u, k])
                q = s * (s + 7.0)
                low, high = q * (q + 6.0), (q + 10.0) * (q + 12.0)
                z[k], rising[k], rate[k] = s + 8.0, low * high, b + column_rate[k]
                digamma[k] = (2.0 * s + 7.0) * ((2.0 * q + 6.0) * high + (2.0 * q + 22.0) * low)
            for k in range(n):
                # One division serves three
                product = z[k] * rate[k]
                all_three = 1.0 / (product * rising[k])
                inverse[k] = all_three * z[k] * rising[k]
                slope = digamma[k] * all_three * product
                digamma[k], tail[k] = digamma_and_log_gamma_tails(all_three * rate[k] * rising[k])
                digamma[k] -= slope  # Psi(s) - log(z)
            for k in range(n):
                mean[k] = shape[u, k] * inverse[k]
                block_means[block, k] += mean[k]
            for k in range(n):
                geometric[u, k] = z[k] * fast_exp(digamma[k]) * inverse[k]
            for k in range(n, geometric.shape[1]):
                geometric[u, k] = 0.0
            row_means[u], bound, shapes = row_totals(shape[u], mean, digamma, tail, shape_prior, b)
            # What is left of the bound are logarithms with constant factors: (a + 7.5) log z from log Gamma(s)
            # and (a - s) Psi(s) together, -log rising, -a log rate.
            moderate = shapes < 1e4 and b < 1e37 and b > 1e-37 and highest < 1e37
            together = 8 if moderate else 2  # the product of so many stays within a float64
            bound -= log_of_product(rising, together) + shape_prior * log_of_product(rate, together)
            bound += (shape_prior + 7.5) * log_of_product(z, together)
            row_bounds[u] = bound + constant + n * shape_prior * math.log(b)


# Constants of gamma_moments_single: one that is not a float32 would turn the whole into float64.
_ZERO, _HALF, _ONE, _TWO, _SIX, _SEVEN, _EIGHT, _TEN, _12, _22 = (
    np.float32(x) for x in (0.0, 0.5, 1.0, 2.0, 6.0, 7.0, 8.0, 10.0, 12.0, 22.0)
)
_12TH, _120TH, _252ND, _360TH, _1260TH = (np.float32(1.0 / n) for n in (12, 120, 252, 360, 1260))


@kernel
def gamma_moments_single(
    start: int,
    stop: int,
    shape: NDArray[np.float32],
    row_rate: NDArray[np.float64],
    column_rate: NDArray[np.float64],
    shape_prior: float,
    geometric: NDArray[np.float32],
    sums: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """The same as gamma_moments for shapes in float32, whose arithmetic it does in float32: three times as quick.

    Column sums are added in float64. A geometric mean is good to a part in 10^6 for shapes from 0.1 on.
    """
    block_means, row_means, row_bounds = sums
    rows, n = shape.shape
    padded = _WHOLE * ((n + _WHOLE - 1) // _WHOLE)  # with ones at the end, whose logarithm is 0
    a = np.float32(shape_prior)
    column = column_rate.astype(np.float32)
    mean, digamma, part = np.empty(n, np.float32), np.empty(n, np.float32), np.empty(n, np.float32)
    inverse, rising, ratio = np.empty(n, np.float32), np.empty(padded, np.float32), np.empty(padded, np.float32)
    for k in range(n, padded):
        rising[k], ratio[k] = _ONE, _ONE
    constant = n * (_STIRLING - math.lgamma(shape_prior))
    for block in range(start, stop):
        for u in range(block * BLOCK, min((block + 1) * BLOCK, rows)):
            b = np.float32(row_rate[u])
            for k in range(n):
                # As in gamma_moments, with z = s + 8 and q = s (s + 7); what would overflow is divided by z at once:
                # rising = s (s + 1) ... (s + 7) / z^7.5
                s = shape[u, k]
                z, q = s + _EIGHT, s * (s + _SEVEN)
                zi = _ONE / z
                w = zi * zi
                low, high = q * (q + _SIX), (q + _TEN) * (q + _12)
                slope = (_TWO * s + _SEVEN) * ((_TWO * q + _SIX) / low + (_TWO * q + _22) / high)
                digamma[k] = -_HALF * zi - w * (_12TH - w * (_120TH - w * _252ND)) - slope
                rising[k] = ((q * w) * ((q + _SIX) * w)) * (((q + _TEN) * w) * ((q + _12) * w)) * math.sqrt(z)
                part[k] = zi * (_12TH - w * (_360TH - w * _1260TH)) + (a - s) * digamma[k]
            for k in range(n):
                inverse[k] = _ONE / (b + column[k])
                mean[k] = shape[u, k] * inverse[k]
                ratio[k] = (shape[u, k] + _EIGHT) * inverse[k]
            for k in range(n):
                block_means[block, k] += np.float64(mean[k])
            for k in range(n):
                geometric[u, k] = ratio[k] * fast_exp_single(digamma[k])
            for k in range(n, geometric.shape[1]):
                geometric[u, k] = _ZERO
            total, bound = single_totals(mean, part)
            row_means[u] = total
            bound += shape_prior * log_of_singles(ratio) - log_of_singles(rising) - row_rate[u] * total
            row_bounds[u] = bound + constant + n * shape_prior * math.log(row_rate[u])


@summing_step
def log_of_singles(x: NDArray[np.float32]) -> float:
    """Equivalent to sum(log(x)) of a multiple of 8 numbers from 1e-19 to 1e19, whose products of 2 are float32s."""
    n = len(x) // 8
    total = 0.0
    for k in range(n):
        low = np.float64(x[k] * x[n + k]) * np.float64(x[2 * n + k] * x[3 * n + k])
        high = np.float64(x[4 * n + k] * x[5 * n + k]) * np.float64(x[6 * n + k] * x[7 * n + k])
        total += fast_log(low * high)
    return total


@summing_step
def single_totals(mean: NDArray[np.float32], part: NDArray[np.float32]) -> tuple[float, float]:
    """(sum(mean), sum(part)) of numbers in float32, summed in float64."""
    total, bound = 0.0, 0.0
    for k in range(len(mean)):
        total += np.float64(mean[k])
        bound += np.float64(part[k])
    return total, bound


@kernel
def gamma_means(
    start: int,
    stop: int,
    shape: NDArray[np.floating],
    row_rate: NDArray[np.float64],
    column_rate: NDArray[np.float64],
    block_means: NDArray[np.float64],
) -> None:
    """The sums of E[w_u] = shape_u / (b_u + s) over blocks of rows, in the precision of the shapes."""
    rows, n = shape.shape
    column = column_rate.astype(shape.dtype)
    for block in range(start, stop):
        for u in range(block * BLOCK, min((block + 1) * BLOCK, rows)):
            b = shape.dtype.type(row_rate[u])
            for k in range(n):
                block_means[block, k] += np.float64(shape[u, k] / (b + column[k]))


@summing_step
def row_totals(
    shape: NDArray[np.floating],
    mean: NDArray[np.float64],
    digamma: NDArray[np.float64],
    tail: NDArray[np.float64],
    shape_prior: float,
    b: float,
) -> tuple[float, float, float]:
    """(sum(mean), sum(tail + (shape_prior - shape) * digamma - b * mean), sum(shape))"""
    total, bound, shapes = 0.0, 0.0, 0.0
    for k in range(len(shape)):
        s = np.float64(shape[k])
        total += mean[k]
        bound += tail[k] + (shape_prior - s) * digamma[k]
        shapes += s
    return total, bound - b * total, shapes


@summing_step
def log_of_product(x: NDArray[np.float64], together: int) -> float:
    """Equivalent to sum(log(x)), with one logarithm for each `together` (2 or 8) of a multiple of 8 numbers."""
    n = len(x) // together
    total = 0.0
    if together == 2:
        for k in range(n):
            total += fast_log(x[k] * x[n + k])
    else:
        for k in range(n):
            low = (x[k] * x[n + k]) * (x[2 * n + k] * x[3 * n + k])
            high = (x[4 * n + k] * x[5 * n + k]) * (x[6 * n + k] * x[7 * n + k])
            total += fast_log(low * high)
    return total
