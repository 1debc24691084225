"""The geometric element: Stirling numbers of the third kind, or Lah numbers."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcpf.elements import shifted_negative_binomial as snb
from dcpf.elements.element import Element, Floats, Totals, no_repeats
from dcpf.kernels.threads import Threads


@dataclass(frozen=True)
class Geometric(Element):
    """P(x) = (1 - p) p^(x-1) with 0 < p < 1. f(z) = z / (1 - z)."""

    name: ClassVar[str] = "geometric"
    aliases: ClassVar[tuple[str, ...]] = ("geo",)

    p: float

    @classmethod
    def default(cls) -> Self:
        """Learning starts at p = 0.5."""
        return cls(p=0.5)

    @property
    def c(self) -> float:
        """log(p / (1 - p))."""
        if self.p in (0.0, 1.0):
            return -math.inf if self.p == 0.0 else math.inf
        return math.log(self.p) - math.log1p(-self.p)

    def log_h(self, y: ArrayLike, n: ArrayLike) -> Floats:
        """log C(y - 1, n - 1) = log (n! / y!) Lah(y, n)."""
        return snb.log_h(y, n, 1.0)

    @property
    def mean(self) -> float:
        """1 / (1 - p)."""
        return 1.0 / (1.0 - self.p) if self.p < 1.0 else math.inf

    @property
    def variance(self) -> float:
        """p / (1 - p)^2."""
        return self.p / (1.0 - self.p) ** 2 if self.p < 1.0 else math.inf

    @property
    def count_step(self) -> float:
        """Smooth in log y at all rates."""
        return 0.125

    def sample(self, sessions: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """n geometric variables add up to n and a negative binomial."""
        self._check_proper()
        return snb.sample(sessions, 1.0, self.p, rng)

    def refit(self, totals: Totals) -> Self:
        """p = 1 - sum E[n] / sum y."""
        p = 0.0 if no_repeats(totals) else (totals.counts - totals.sessions) / totals.counts
        return replace(self, p=p)

    def cumulants(
        self, counts: NDArray[np.int64], log_rates: Floats, threads: Threads | None = None
    ) -> NDArray[np.float64]:
        """The shifted negative binomial's with a = 1."""
        return snb.cumulants(counts, log_rates, 1.0, threads)[..., :4]
