"""Cumulants of the number of sessions n under the shifted negative binomial.

They are sums over the terms exp(n t + log h(y, n) - log n!), where
h(y, n) = Gamma(y - n + n a) / (Gamma(n a) (y - n)!).
"""

import math

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.compile import kernel, step
from dcpf.kernels.special import log_gamma_and_digamma, log_rising, trigamma
from dcpf.kernels.sums import NEGLIGIBLE, cumulants_of_terms

KEPT = 256  # terms of a count that are computed once, for all rates
_LONGEST = 4096  # no window is longer

Floats = NDArray[np.float64]


@step
def log_term(y: float, n: float, a: float) -> tuple[float, float]:
    """(log h(y, n) - log n!, m) with m = d log h / d log a = n a (Psi(y - n + n a) - Psi(n a))."""
    log_gamma_na, digamma_na = log_gamma_and_digamma(n * a)
    log_gamma_n1, _ = log_gamma_and_digamma(n + 1.0)
    term = log_rising(y - n + 1.0, n * a - 1.0) - log_gamma_na - log_gamma_n1
    _, digamma_top = log_gamma_and_digamma(y - n + n * a)
    return term, n * a * (digamma_top - digamma_na)


@step
def log_term_from(y: float, n: float, d: float, a: float, t: float) -> tuple[float, float]:
    """(the log term of n + d less that of n, with d t; the m of n + d), for large n and y.

    The difference is computed directly, since subtracting the terms would cancel too many digits.
    """
    step = log_rising(y - n + n * a, d * (a - 1.0)) - log_rising(y - n + 1.0, -d)
    step -= log_rising(n * a, d * a) + log_rising(n + 1.0, d)
    na = (n + d) * a
    _, top = log_gamma_and_digamma(y - n - d + na)
    _, bottom = log_gamma_and_digamma(na)
    return step + d * t, na * (top - bottom)


@step
def slope_and_curvature(y: float, n: float, a: float) -> tuple[float, float]:
    """The first two derivatives in n of log h(y, n) - log n!."""
    _, top = log_gamma_and_digamma(y - n + n * a)
    _, rest = log_gamma_and_digamma(y - n + 1.0)
    _, bottom = log_gamma_and_digamma(n * a)
    _, factorial = log_gamma_and_digamma(n + 1.0)
    slope = (a - 1.0) * top + rest - a * bottom - factorial
    curvature = (
        (a - 1.0) ** 2 * trigamma(y - n + n * a) - trigamma(y - n + 1.0) - a * a * trigamma(n * a) - trigamma(n + 1.0)
    )
    return slope, curvature


@step
def mode_and_width(y: float, t: float, a: float) -> tuple[float, float]:
    """(where n t + log h(y, n) - log n! is largest, up to a tenth of the width there; that width)."""
    low, high = 1.0, y
    n = 0.5 * KEPT  # wide sums have their mode around here or further on
    width = 1.0
    for _ in range(200):
        slope, curvature = slope_and_curvature(y, n, a)
        slope += t
        width = 1.0 / math.sqrt(max(-curvature, 1.0 / y))  # a tiny a makes the terms bend upwards close to y
        if slope > 0.0:
            low = n
        else:
            high = n
        if abs(slope) * width < 0.1 or high - low < 0.5:
            break
        # Newton's step, in log n where that is longer, kept inside the bracket
        step = slope * width * width
        n = n * math.exp(min(step / n, 3.0)) if step > 0.0 else n + step
        if not low < n < high:
            n = 0.5 * (low + high) if low > 0.25 * high else math.sqrt(low * high)
    return n, width


@kernel
def small_cumulants(start: int, stop: int, counts: NDArray[np.int64], t: Floats, a: float, out: Floats) -> None:
    """out[i, k] = the eight numbers of Element.cumulants for counts[i] at t[k]; NaN where too many terms count."""
    kept, kept_m, kept_n = np.empty(KEPT + 1), np.empty(KEPT + 1), np.empty(KEPT + 1)
    for j in range(KEPT + 1):
        kept_n[j] = j
    shifted, weights = np.empty(KEPT + 1), np.empty(KEPT + 1)
    for i in range(start, stop):
        y = np.float64(counts[i])
        size = min(counts[i], KEPT)
        kept[1], kept_m[1] = log_term(y, 1.0, a)
        known = 1  # terms are computed when a rate first needs them
        line = kept[1]
        mode = 1
        for k in range(len(t)):
            peak = kept[mode] + mode * t[k]
            last = mode
            while last < size:
                if last == known:
                    known += 1
                    kept[known], kept_m[known] = log_term(y, np.float64(known), a)
                term = kept[last + 1] + (last + 1) * t[k]
                if term < peak - NEGLIGIBLE:
                    break
                last += 1
                if term > peak:
                    peak, mode = term, last
            if last < size or size == counts[i]:
                first = mode
                while first > 1 and kept[first - 1] + (first - 1) * t[k] > peak - NEGLIGIBLE:
                    first -= 1
                for j in range(first, last + 1):
                    shifted[j] = kept[j] + j * t[k]
                fill(
                    shifted[first : last + 1],
                    kept_n[first : last + 1],
                    kept_m[first : last + 1],
                    weights,
                    1.0,
                    line + t[k],
                    out[i, k],
                )
                continue
            out[i, k, 0] = np.nan  # more than KEPT terms matter


@kernel
def wide_cumulants(start: int, stop: int, counts: NDArray[np.int64], t: Floats, a: float, out: Floats) -> None:
    """What small_cumulants has left out: sums over every k-th term around the largest."""
    terms, m, n, weights = np.empty(_LONGEST), np.empty(_LONGEST), np.empty(_LONGEST), np.empty(_LONGEST)
    for i in range(start, stop):
        y = np.float64(counts[i])
        line, _ = log_term(y, 1.0, a)
        for k in range(len(t)):
            if not np.isnan(out[i, k, 0]):
                continue
            wide_mode, width = mode_and_width(y, t[k], a)
            # Every k-th term gives the sum to exp(-2 (pi width / k)^2), if the edges at 1 and y are far away.
            stride = 1.0 if width < 8.0 else math.floor(width / 2.5)
            if y - wide_mode < 12.0 * width:
                stride = math.ceil(24.0 * width / _LONGEST)
            centre = min(max(math.floor(wide_mode), 1.0), y)
            used = 0
            peak = -np.inf
            for direction in (1.0, -1.0):
                at = centre if direction > 0.0 else centre - stride
                while 1.0 <= at <= y and used < _LONGEST:
                    terms[used], m[used] = log_term_from(y, centre, at - centre, a, t[k])
                    n[used] = at
                    peak = max(peak, terms[used])
                    used += 1
                    if terms[used - 1] < peak - NEGLIGIBLE:
                        break
                    at += direction * stride
            top, _ = log_term(y, centre, a)
            fill(
                terms[:used],
                n[:used],
                m[:used],
                weights,
                stride,
                line + t[k] - (top + centre * t[k]),
                out[i, k],
            )


@step
def fill(terms: Floats, n: Floats, m: Floats, weights: Floats, stride: float, line: float, out: Floats) -> None:
    """Cumulants of n and their derivatives in log a, from terms at every `stride`-th n."""
    log_total, mean, second, third, m_mean, c1, c2, c3 = cumulants_of_terms(terms, n, m, weights)
    out[0] = log_total + math.log(stride) - line
    out[1], out[2], out[3] = mean - 1.0, second, third
    out[4], out[5], out[6], out[7] = m_mean, c1, c2, c3 - 3.0 * c1 * second
