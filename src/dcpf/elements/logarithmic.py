"""The logarithmic element: counts are negative binomial, Stirling numbers of the first kind."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from dcpf.elements.combinatorics import log1p_minus, log_stirling1
from dcpf.elements.element import Element, Floats, add_up
from dcpf.kernels.threads import Threads

_SUMMED = 64  # terms of the finite sums that are added one by one; the others by Euler-Maclaurin


@dataclass(frozen=True)
class Logarithmic(Element):
    """P(x) = p^x / (x L) with L = -log(1 - p) and 0 < p < 1. f(z) = -log(1 - z)."""

    name: ClassVar[str] = "logarithmic"
    aliases: ClassVar[tuple[str, ...]] = ("log",)

    p: float

    @classmethod
    def default(cls) -> Self:
        """Learning starts at p = 0.5."""
        return cls(p=0.5)

    @property
    def c(self) -> float:
        """log L."""
        if self.p == 0.0:
            return -math.inf
        return math.log(-math.log1p(-self.p)) if self.p < 1.0 else math.inf

    def log_h(self, y: ArrayLike, n: ArrayLike) -> Floats:
        """log (n! / y!) s1(y, n)."""
        y, n = np.asarray(y, dtype=np.float64), np.asarray(n, dtype=np.float64)
        many = gammaln(n + 1.0) - gammaln(y + 1.0) + log_stirling1(y, n)
        one = -np.log(np.maximum(y, 1.0))  # exact at n = 1
        return np.where((n == 1.0) & (y >= 1.0), one, many)

    @property
    def mean(self) -> float:
        """p / ((1 - p) L)."""
        if self.p in (0.0, 1.0):
            return 1.0 if self.p == 0.0 else math.inf
        return self.p / ((1.0 - self.p) * -math.log1p(-self.p))

    @property
    def variance(self) -> float:
        """E[x] (1 / (1 - p) - E[x])."""
        if self.p in (0.0, 1.0):
            return 0.0 if self.p == 0.0 else math.inf
        return self.mean * (1.0 / (1.0 - self.p) - self.mean)

    @property
    def count_step(self) -> float:
        """Smooth in log y at all rates."""
        return 0.125

    def sample(self, sessions: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw one logarithmic variable per session and add them up."""
        self._check_proper()
        n = np.asarray(sessions, dtype=np.int64)
        if self.p == 0.0:
            return n.copy()
        return add_up(rng.logseries(self.p, size=int(n.sum())), n)

    def cumulants(
        self, counts: NDArray[np.int64], log_rates: Floats, threads: Threads | None = None
    ) -> NDArray[np.float64]:
        """n - 1 is a sum of independent coin flips with odds r / s, s = 1 .. y - 1, so nothing cancels.

        log Z - line = sum log(1 + r/s), E[n] - 1 = sum r/(r+s), Var[n] = sum r s/(r+s)^2,
        third cumulant = sum r s (s-r)/(r+s)^3.
        """
        r = np.exp(np.clip(log_rates, -700.0, 700.0))
        first = np.concatenate([np.zeros((1, len(r), 4)), np.cumsum(_flips(r, np.arange(1.0, _SUMMED)), axis=0)])
        out: Floats = first[np.minimum(counts, _SUMMED) - 1]
        large = counts > _SUMMED
        if large.any():
            out[large] += _flips_between(r, float(_SUMMED), counts[large].astype(np.float64)[:, None])
        return out


def _flips(r: Floats, s: Floats) -> Floats:
    """The four cumulants of a coin flip with odds r / s, as an array (s, r, 4)."""
    s = s.reshape(-1, 1)
    up, down = r / (r + s), s / (r + s)
    return np.stack([np.log1p(r / s), up, up * down, up * down * (down - up)], axis=-1)


def _flips_between(r: Floats, a: float, b: Floats) -> Floats:
    """The sum of _flips over a <= s < b by Euler-Maclaurin: an integral, and corrections at both ends.

    Each cumulant is r d/dr of the one before, and so are the integrals and the corrections.
    """
    up_b, down_a, down_b = r / (r + b), a / (r + a), b / (r + b)
    x = (b - a) / (r + a)
    i0 = b * np.log1p(r / b) - a * np.log1p(r / a) + r * np.log1p(x)
    i1 = r * np.log1p(x)
    i2 = r * (log1p_minus(x) + x * down_b)  # r (log(1 + x) - (up_a - up_b))
    i3 = i2 - r * x * up_b * (down_a + down_b)
    integrals = np.stack([i0, i1, i2, i3], axis=-1)
    return integrals + _end_correction(r, np.full_like(b, a)) - _end_correction(r, b)


def _end_correction(r: Floats, s: Floats) -> Floats:
    """F/2 - F'/12 + F'''/720 - F'''''/30240 at s, for F = log(1 + r/s) and three times r d/dr of it."""
    v = 1.0 / (r + s)
    u = r * v
    flip = u * (s * v)
    out = 0.5 * np.stack([np.log1p(r / s), u, flip, flip * (s * v - u)], axis=-1)
    for m, factor in ((1, -1.0 / 12.0), (3, 1.0 / 360.0), (5, -1.0 / 1260.0)):
        power = v**m
        out += factor * np.stack(
            [
                power - s**-m,
                -m * u * power,
                -m * u * power * (1.0 - (m + 1) * u),
                -m * u * power * (1.0 - 3 * (m + 1) * u + (m + 1) * (m + 2) * u**2),
            ],
            axis=-1,
        )
    return out
