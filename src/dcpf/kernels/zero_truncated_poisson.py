"""Cumulants of the number of sessions n under the zero-truncated Poisson, by three forms of Touchard's polynomial.

Z = T_y(r) / y! with T_y(r) = sum_n S2(y, n) r^n. Which form is best depends on r / y.
"""

import cmath
import math

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.compile import kernel, step
from dcpf.kernels.special import log_rising
from dcpf.kernels.sums import NEGLIGIBLE, cumulants_of_terms

_LONGEST = 512  # no window is longer
_KEPT = 4096  # logarithms that are computed once

Floats = NDArray[np.float64]


@kernel
def large_cumulants(start: int, stop: int, counts: NDArray[np.int64], t: Floats, out: Floats) -> None:
    """out[i, j] = the four numbers of Element.cumulants for counts[i], of at least some tens, at t[j]."""
    terms, k, weights = np.empty(_LONGEST), np.empty(_LONGEST), np.empty(_LONGEST)
    logs, rises = np.empty(_KEPT + 1), np.empty(_KEPT + 1)  # log k and log((k + 1) / k)
    for j in range(1, _KEPT + 1):
        logs[j], rises[j] = math.log(j), math.log1p(1.0 / j)
    for i in range(start, stop):
        y = np.float64(counts[i])
        for j in range(len(t)):
            if t[j] < math.log(y):
                by_dobinski(y, t[j], (terms, k, weights), (logs, rises), out[i, j])
            elif t[j] < math.log(y) + math.log(1e4):
                by_contour(y, t[j], out[i, j])
            else:
                by_series(y, t[j], out[i, j])


@step
def lambert(log_x: float) -> float:
    """w > 0 with w e^w = x, from log x."""
    w = log_x - math.log(log_x) if log_x > 2.0 else math.log1p(math.exp(log_x)) * 0.75
    for _ in range(30):
        step = (w + math.log(w) - log_x) * w / (1.0 + w)
        w = max(w - step, 0.1 * w)
        if abs(step) <= 1e-14 * w:
            break
    return w


@step
def by_dobinski(
    y: float, t: float, scratch: tuple[Floats, Floats, Floats], kept: tuple[Floats, Floats], out: Floats
) -> None:
    """Dobinski's formula, r <= y: T_y(r) = e^-r sum_k k^y r^k / k!, so that n's cumulants are k's less r.

    The sum is bell-shaped around k = y / w with w e^w = y / r; where it is wide, every `stride`-th term suffices.
    """
    terms, k, weights = scratch
    logs, rises = kept
    r = math.exp(t)
    w = lambert(math.log(y) - t)
    width = math.sqrt(y / w / (1.0 + w))
    stride = 1.0 if width < 8.0 else math.floor(width / 2.5)
    centre = max(math.floor(y / w + 0.5), 1.0)
    at_centre = y * math.log(centre) + centre * t - math.lgamma(centre + 1.0)
    by_recurrence = stride == 1.0 and centre + 20.0 * width + 60.0 < len(logs)
    terms[0], k[0] = 0.0, 0.0
    used = 1
    peak = 0.0
    for direction in (1.0, -1.0):
        term = 0.0
        d = direction * stride
        while centre + d >= 1.0 and used < len(terms):
            if by_recurrence:
                at = int(centre + d)
                if direction > 0.0:
                    term += y * rises[at - 1] + t - logs[at]
                else:
                    term -= y * rises[at] + t - logs[at + 1]
            else:
                term = y * math.log1p(d / centre) + d * t - log_rising(centre + 1.0, d)
            terms[used], k[used] = term, d
            peak = max(peak, term)
            used += 1
            if term < peak - NEGLIGIBLE:
                break
            d += direction * stride
    log_total, mean, second, third, _, _, _, _ = cumulants_of_terms(terms[:used], k[:used], k[:used], weights)
    out[0] = at_centre + log_total + math.log(stride) - r - t
    out[1] = (centre - 1.0 - r) + mean
    out[2] = second - r
    out[3] = third - r


@step
def by_contour(y: float, t: float, out: Floats) -> None:
    """Cauchy's integral for Z = [z^y] exp(r (e^z - 1)), y < r, by the trapezoidal rule on the circle |z| = w.

    With X = r (e^z - 1) = lam + D, E[n] = <X>, Var[n] = Var(X) + <X>, third = K3(X) + 3 Var(X) + <X>.
    """
    w = lambert(math.log(y) - t)
    width = 1.0 / math.sqrt(y * (1.0 + w))
    s0, s1, s2, s3 = 1.0, 0.0, 0.0, 0.0
    for j in range(1, 17):
        angle = 0.6 * width * j
        sine = math.sin(0.5 * angle)
        q = w * complex(-2.0 * sine * sine, math.sin(angle))
        grown = cmath.exp(q) - 1.0 if abs(q) > 0.3 else expm1_series(q)
        D = y * grown / w
        weight = 2.0 * cmath.exp(D - complex(0.0, y * angle))
        s0 += weight.real
        s1 += (weight * D).real
        s2 += (weight * D * D).real
        s3 += (weight * D * D * D).real
    m1, m2, m3 = s1 / s0, s2 / s0, s3 / s0
    variance = m2 - m1 * m1
    third = m3 - 3.0 * m1 * m2 + 2.0 * m1 * m1 * m1
    lam = y * -math.expm1(-w) / w
    mean = lam + m1
    # log of (1 / 2 pi) times the integral, with exp(lam) and w^-y taken out; y! is the line's
    integral = math.log(0.6 * width * s0 / (2.0 * math.pi))
    out[0] = lam - y * math.log(w) + integral + math.lgamma(y + 1.0) - t
    out[1] = mean - 1.0
    out[2] = variance + mean
    out[3] = third + 3.0 * variance + mean


@step
def expm1_series(q: complex) -> complex:
    """exp(q) - 1 for |q| <= 0.3."""
    total = q
    term = q
    for j in range(2, 16):
        term = term * q / j
        total += term
    return total


@step
def by_series(y: float, t: float, out: Floats) -> None:
    """y << r: log Z = y t - log y! + c1 / r + c2 / r^2 + c3 / r^3 + c4 / r^4 with polynomials c of y."""
    e = math.exp(-t)
    x = y * e
    front = (y - 1.0) * x
    c1 = front * 0.5
    c2 = front * (5.0 / 12.0 * e - x / 3.0)
    c3 = front * (0.75 * e * e - 25.0 / 24.0 * e * x + 0.375 * x * x)
    c4 = front * (251.0 / 120.0 * e**3 - 153.0 / 40.0 * e * e * x + 97.0 / 40.0 * e * x * x - 8.0 / 15.0 * x**3)
    out[0] = (y - 1.0) * t + c1 + c2 + c3 + c4
    out[1] = (y - 1.0) - c1 - 2.0 * c2 - 3.0 * c3 - 4.0 * c4
    out[2] = c1 + 4.0 * c2 + 9.0 * c3 + 16.0 * c4
    out[3] = -c1 - 8.0 * c2 - 27.0 * c3 - 64.0 * c4
