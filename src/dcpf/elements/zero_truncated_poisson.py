"""The zero-truncated Poisson element: Stirling numbers of the second kind, Touchard polynomials."""

import cmath
import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from dcpf.elements.base import Element, Floats
from dcpf.elements.stirling import log_stirling2
from dcpf.kernels.elementary import log_rising
from dcpf.kernels.jit import kernel, step
from dcpf.kernels.sums import NEGLIGIBLE, moments, weights_of_terms
from dcpf.kernels.threads import Threads

_SMALL = 64  # up to this count the sessions are enumerated
_LONGEST = 512  # no window is longer
_KEPT = 4096  # logarithms that are computed once


@dataclass(frozen=True)
class ZeroTruncatedPoisson(Element):
    """P(x) = p^x / (x! (e^p - 1)) with p > 0. f(z) = e^z - 1."""

    name: ClassVar[str] = "zero-truncated-poisson"
    aliases: ClassVar[tuple[str, ...]] = ("ztp",)
    p_max: ClassVar[float] = math.inf

    p: float

    @classmethod
    def default(cls) -> Self:
        """Learning starts at p = 1."""
        return cls(p=1.0)

    @property
    def c(self) -> float:
        """log(e^p - 1)."""
        return self.p + math.log(-math.expm1(-self.p)) if self.p > 0.0 else -math.inf

    def log_h(self, y: ArrayLike, n: ArrayLike) -> Floats:
        """log (n! / y!) S2(y, n)."""
        y, n = np.asarray(y, dtype=np.float64), np.asarray(n, dtype=np.float64)
        return gammaln(n + 1.0) - gammaln(y + 1.0) + log_stirling2(y, n)

    @property
    def mean(self) -> float:
        """p / (1 - e^-p)."""
        return self.p / -math.expm1(-self.p) if self.p > 0.0 else 1.0

    @property
    def variance(self) -> float:
        """E[x] (1 + p - E[x])."""
        if self.p == 0.0 or math.isinf(self.p):
            return self.p
        return self.mean * (1.0 + self.p - self.mean)

    def sample(self, sessions: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """One truncated Poisson a session, added up.

        The first event of a Poisson process, given that it falls within [0, p], leaves a Poisson number after it.
        """
        self._check_proper()
        n = np.asarray(sessions, dtype=np.int64)
        if self.p == 0.0:
            return n.copy()
        first = -np.log1p(rng.random(int(n.sum())) * math.expm1(-self.p))
        draws = 1 + rng.poisson(self.p - first)
        ends = np.concatenate([[0], np.cumsum(draws)])[np.cumsum(n.ravel())]
        return np.diff(ends, prepend=0).reshape(n.shape).astype(np.int64)

    def cumulants(
        self, counts: NDArray[np.int64], log_rates: Floats, threads: Threads | None = None
    ) -> NDArray[np.float64]:
        """Small counts by enumeration; large ones from whichever of three forms of Touchard's polynomial is best."""
        out = np.empty((len(counts), len(log_rates), 4))
        small = counts <= _SMALL
        if small.any():
            out[small] = super().cumulants(counts[small], log_rates)
        large = counts[~small]
        if len(large):
            found = np.empty((len(large), len(log_rates), 4))
            if threads is None:
                _cumulants(0, len(large), large, log_rates, found)
            else:
                threads.run(_cumulants, np.arange(len(large) + 1), large, log_rates, found)
            out[~small] = found
        return out


@kernel
def _cumulants(start: int, stop: int, counts: NDArray[np.int64], t: Floats, out: Floats) -> None:
    terms, k, weights = np.empty(_LONGEST), np.empty(_LONGEST), np.empty(_LONGEST)
    logs, rises = np.empty(_KEPT + 1), np.empty(_KEPT + 1)  # log k and log((k + 1) / k)
    for j in range(1, _KEPT + 1):
        logs[j], rises[j] = math.log(j), math.log1p(1.0 / j)
    for i in range(start, stop):
        y = np.float64(counts[i])
        for j in range(len(t)):
            if t[j] < math.log(y):
                _by_dobinski(y, t[j], (terms, k, weights), (logs, rises), out[i, j])
            elif t[j] < math.log(y) + math.log(1e4):
                _by_contour(y, t[j], out[i, j])
            else:
                _by_series(y, t[j], out[i, j])


@step
def _lambert(log_x: float) -> float:
    """w > 0 with w e^w = x, from log x."""
    w = log_x - math.log(log_x) if log_x > 2.0 else math.log1p(math.exp(log_x)) * 0.75
    for _ in range(30):
        step = (w + math.log(w) - log_x) * w / (1.0 + w)
        w = max(w - step, 0.1 * w)
        if abs(step) <= 1e-14 * w:
            break
    return w


@step
def _by_dobinski(
    y: float, t: float, scratch: tuple[Floats, Floats, Floats], kept: tuple[Floats, Floats], out: Floats
) -> None:
    """Dobinski's formula, r <= y: T_y(r) = e^-r sum_k k^y r^k / k!, so that n's cumulants are k's less r.

    The sum is bell-shaped around k = y / w with w e^w = y / r; where it is wide, every so-many-th term suffices.
    """
    terms, k, weights = scratch
    logs, rises = kept
    r = math.exp(t)
    w = _lambert(math.log(y) - t)
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
    peak, log_total = weights_of_terms(terms[:used], weights[:used])
    total = math.exp(log_total)
    mean, second, third = moments(weights[:used], k[:used], total)
    out[0] = at_centre + peak + log_total + math.log(stride) - r - t
    out[1] = (centre - 1.0 - r) + mean
    out[2] = second - r
    out[3] = third - r


@step
def _by_contour(y: float, t: float, out: Floats) -> None:
    """Cauchy's integral for Z = [z^y] exp(r (e^z - 1)), y < r, by the trapezoidal rule on the circle |z| = w.

    With X = r (e^z - 1) = lam + D, E[n] = <X>, Var[n] = Var(X) + <X>, third = K3(X) + 3 Var(X) + <X>.
    """
    w = _lambert(math.log(y) - t)
    width = 1.0 / math.sqrt(y * (1.0 + w))
    s0, s1, s2, s3 = 1.0, 0.0, 0.0, 0.0
    for j in range(1, 17):
        angle = 0.6 * width * j
        sine = math.sin(0.5 * angle)
        q = w * complex(-2.0 * sine * sine, math.sin(angle))
        grown = cmath.exp(q) - 1.0 if abs(q) > 0.3 else _expm1_series(q)
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
def _expm1_series(q: complex) -> complex:
    total = q
    term = q
    for j in range(2, 16):
        term = term * q / j
        total += term
    return total


@step
def _by_series(y: float, t: float, out: Floats) -> None:
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
