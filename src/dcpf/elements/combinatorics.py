"""Stirling numbers of the three kinds and ratios of gamma functions, in log space, for arguments of any size."""

from collections.abc import Callable
from functools import cache
from typing import TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, loggamma, psi

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]
AnyArray = TypeVar("AnyArray", Floats, Complex)

_TABLE = 256  # up to here by the recurrence


def log_stirling1(y: ArrayLike, n: ArrayLike) -> Floats:
    """Log of the number of ways to arrange y things into n cycles (unsigned, first kind), 1 <= n <= y.

    Recurrence s(y + 1, n) = y s(y, n) + s(y, n - 1); for large y the coefficient of r^n in
    r (r + 1) ... (r + y - 1) = Gamma(y + r) / Gamma(r).
    """
    return _by_size(_first_kind_table, _log_stirling1_large, y, n)


def log_stirling2(y: ArrayLike, n: ArrayLike) -> Floats:
    """Log of the number of ways to part y things into n non-empty sets (second kind), 1 <= n <= y.

    Recurrence S(y + 1, n) = n S(y, n) + S(y, n - 1); for large y the coefficient of z^y in
    (y! / n!) (exp(z) - 1)^n.
    """
    return _by_size(_second_kind_table, _log_stirling2_large, y, n)


def log_lah(y: ArrayLike, n: ArrayLike) -> Floats:
    """Log of the number of ways to part y things into n non-empty lists (third kind), C(y-1, n-1) y! / n!."""
    y, n = np.asarray(y, dtype=np.float64), np.asarray(n, dtype=np.float64)
    return cast(Floats, gammaln(y) - gammaln(n) - gammaln(y - n + 1.0) + gammaln(y + 1.0) - gammaln(n + 1.0))


def log_rising(x: Floats, m: Floats) -> Floats:
    """log(Gamma(x + m) / Gamma(x)) for x > 0 and x + m > 0, without the cancellation of two large log-gammas.

    Equivalent to gammaln(x + m) - gammaln(x) in exact arithmetic.
    """
    z = x + m
    large = (x >= 16.0) & (z >= 16.0)  # elsewhere at most one of the two is large, or neither
    a, b = np.where(large, x, 16.0), np.where(large, z, 16.0)
    m = np.where(large, m, 0.0)
    by_series = (a - 0.5) * np.log1p(m / a) + m * (np.log(b) - 1.0) + _stirling_tail(b) - _stirling_tail(a)
    return np.where(large, by_series, gammaln(z) - gammaln(x))


def _by_size(
    table: Callable[[], Floats], large: Callable[[Floats, Floats], Floats], y: ArrayLike, n: ArrayLike
) -> Floats:
    y, n = np.broadcast_arrays(np.asarray(y, dtype=np.float64), np.asarray(n, dtype=np.float64))
    out = np.where(n == y, 0.0, -np.inf)  # one way to have as many groups as things
    small = (n >= 1) & (n < y) & (y <= _TABLE)
    if small.any():
        out[small] = table()[y[small].astype(np.int64), n[small].astype(np.int64)]
    big = (n >= 1) & (n < y) & ~small
    if big.any():
        out[big] = large(y[big], n[big])
    return out


@cache
def _first_kind_table() -> Floats:
    return _recurrence(lambda y, n: np.full_like(n, np.log(y)))


@cache
def _second_kind_table() -> Floats:
    return _recurrence(lambda y, n: np.log(n))


def _recurrence(log_factor: Callable[[float, Floats], Floats]) -> Floats:
    """T(y + 1, n) = factor(y, n) T(y, n) + T(y, n - 1), in log space, from T(1, 1) = 1."""
    table = np.full((_TABLE + 1, _TABLE + 1), -np.inf)
    table[1, 1] = 0.0
    n = np.arange(1.0, _TABLE + 1.0)
    for y in range(1, _TABLE):
        table[y + 1, 1:] = np.logaddexp(log_factor(float(y), n) + table[y, 1:], table[y, :-1])
    return table


def _log_stirling1_large(y: Floats, n: Floats) -> Floats:
    out = gammaln(y)  # one cycle
    near = (n > 1.0) & (64.0 * (psi(y + 64.0) - psi(64.0)) > n)  # the saddle point r is below 64
    far = (n > 1.0) & ~near
    if near.any():
        out[near] = _log_stirling1_near(y[near], n[near])
    if far.any():
        out[far] = _log_stirling1_far(y[far], n[far])
    return out


def _log_stirling1_near(y: Floats, n: Floats) -> Floats:
    """The coefficient of r^n in Gamma(y + r) / Gamma(r)."""

    def mean(r: Floats) -> Floats:
        return r * (psi(y + r) - psi(r))

    def log_f(x: Complex) -> Complex:
        u = x / y[:, None]
        rising = y[:, None] * log1p_minus(u) + (x - 0.5) * np.log1p(u) + x * np.log(y[:, None])
        return (
            gammaln(y)[:, None] + rising + _stirling_tail(y[:, None] + x) - _stirling_tail(y[:, None]) - loggamma(x)
        )

    r = _solve(mean, n, np.full_like(y, 1e-12), np.full_like(y, 64.0))
    return _log_coefficient(log_f, n, r, _slope(mean, r))


def _log_stirling1_far(y: Floats, n: Floats) -> Floats:
    """The same with r^y taken out, so that n close to y does not cancel: the coefficient of r^(n-y)."""

    def mean(r: Floats) -> Floats:  # n - y, by Euler-Maclaurin
        return r * log1p_minus(y / r) + 0.5 * y / (r + y) - (r / (r + y) ** 2 - 1.0 / r) / 12.0

    def log_f(x: Complex) -> Complex:
        u = y[:, None] / x
        rising = x * log1p_minus(u) + (y[:, None] - 0.5) * np.log1p(u)
        return rising + _stirling_tail(x + y[:, None]) - _stirling_tail(x)

    r = _solve(mean, n - y, np.full_like(y, 32.0), 1e3 * y * y)
    return _log_coefficient(log_f, n - y, r, _slope(mean, r))


def log1p_minus(x: AnyArray) -> AnyArray:
    """log(1 + x) - x without cancellation, real or complex: with w = x / (2 + x), log(1 + x) = 2 artanh(w)."""
    small = np.abs(x) < 0.5
    w = np.where(small, x / (2.0 + x), 0.0)
    series = sum(w ** (2 * k) / (2 * k + 1) for k in range(1, 14))
    return cast(AnyArray, np.where(small, -x * w + 2.0 * w * series, np.log1p(x) - x))


def _stirling_tail(z: AnyArray) -> AnyArray:
    """What Stirling's formula leaves out of log Gamma(z), to 1e-16 for |z| >= 16."""
    w = 1.0 / (z * z)
    return (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w / 1188)))) / z


def _slope(mean: Callable[[Floats], Floats], r: Floats) -> Floats:
    """r d/dr of the mean: the variance."""
    step = 1e-4
    return (mean(r * np.exp(step)) - mean(r * np.exp(-step))) / (2.0 * step)


def _log_stirling2_large(y: Floats, n: Floats) -> Floats:
    def mean(z: Floats) -> Floats:
        return n * z / -np.expm1(-z)

    def log_f(x: Complex) -> Complex:
        # log(exp(x) - 1), also where exp(x) overflows
        return n[:, None] * (x + np.log(-np.expm1(-x)))

    out = np.zeros_like(y)  # one set
    more = n > 1.0
    if not more.any():
        return out
    y, n = y[more], n[more]
    z = _solve(mean, y, np.full_like(y, 1e-12), 2.0 * y)
    out[more] = _log_coefficient(log_f, y, z, _slope(mean, z)) + gammaln(y + 1.0) - gammaln(n + 1.0)
    return out


def _solve(mean: Callable[[Floats], Floats], target: Floats, low: Floats, high: Floats) -> Floats:
    """Where an increasing function meets its target, by bisection on a logarithmic scale."""
    a, b = np.log(low), np.log(high)
    for _ in range(60):
        middle = 0.5 * (a + b)
        below = mean(np.exp(middle)) < target
        a, b = np.where(below, middle, a), np.where(below, b, middle)
    return cast(Floats, np.exp(0.5 * (a + b)))


def _log_coefficient(
    log_f: Callable[[Complex], Complex],
    k: Floats,
    radius: Floats,
    variance: Floats,
) -> Floats:
    """Log of the coefficient of x^k in a power series with positive coefficients, by Cauchy's integral.

    On the circle through the saddle point the integrand is bell-shaped in the angle, and the trapezoidal rule
    converges geometrically.
    """
    nodes = 64
    reach = np.minimum(np.pi, 9.0 / np.sqrt(np.maximum(variance, 1e-300)))
    angle = reach[:, None] * (2.0 * (np.arange(nodes) + 0.5) / nodes - 1.0)
    log_peak = log_f(radius[:, None].astype(np.complex128))
    logs = log_f((radius[:, None] * np.exp(1j * angle)).astype(np.complex128)) - log_peak - 1j * k[:, None] * angle
    mean = np.exp(logs).real.mean(axis=1) * reach / np.pi
    return np.asarray(log_peak[:, 0].real - k * np.log(radius) + np.log(mean), dtype=np.float64)
