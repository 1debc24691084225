"""The zero-truncated Poisson element: Stirling numbers of the second kind, Touchard polynomials."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from dcpf.elements.combinatorics import log_stirling2
from dcpf.elements.element import Element, Floats, add_up
from dcpf.kernels.threads import Threads

_SMALL = 64  # up to this count the sessions are enumerated


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
        """Draw one truncated Poisson variable per session and add them up.

        Given that a Poisson process on [0, p] has an event, draw the time of the first; the number of events after
        it is Poisson.
        """
        self._check_proper()
        n = np.asarray(sessions, dtype=np.int64)
        if self.p == 0.0:
            return n.copy()
        first = -np.log1p(rng.random(int(n.sum())) * math.expm1(-self.p))
        return add_up(1 + rng.poisson(self.p - first), n)

    def cumulants(
        self, counts: NDArray[np.int64], log_rates: Floats, threads: Threads | None = None
    ) -> NDArray[np.float64]:
        """Small counts by enumeration, large ones by Touchard's polynomials."""
        small = counts <= _SMALL
        if small.all():
            return super().cumulants(counts, log_rates)
        from dcpf.kernels.zero_truncated_poisson import large_cumulants  # imports numba

        out, large = np.empty((len(counts), len(log_rates), 4)), counts[~small]
        if small.any():
            out[small] = super().cumulants(counts[small], log_rates)
        of_large = np.empty((len(large), len(log_rates), 4))
        (threads or Threads(1)).run(large_cumulants, len(large), large, log_rates, of_large)
        out[~small] = of_large
        return out
