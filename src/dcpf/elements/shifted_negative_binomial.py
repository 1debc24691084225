"""The shifted negative binomial element: a second parameter for the length of the tail."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from dcpf.elements.combinatorics import log_rising
from dcpf.elements.element import Element, Floats, Totals, no_repeats
from dcpf.kernels.threads import Threads

_SMALLEST, _LARGEST = 1e-4, 1e6  # outside this range the law hardly changes, but its table grows out of hand


@dataclass(frozen=True)
class ShiftedNegativeBinomial(Element):
    """x - 1 ~ NB(a, p): P(x) = Gamma(x-1+a) / (Gamma(a) (x-1)!) (1-p)^a p^(x-1). f(z) = z (1 - z)^-a.

    a = 1 is the geometric; the smaller a, the longer the tail at the same mean.
    """

    name: ClassVar[str] = "shifted-negative-binomial"
    aliases: ClassVar[tuple[str, ...]] = ("shifted-nb", "snb")
    has_shape: ClassVar[bool] = True
    ranges: ClassVar[dict[str, tuple[float, float]]] = {"a": (_SMALLEST, _LARGEST)}

    p: float
    a: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _SMALLEST <= self.a <= _LARGEST:
            raise ValueError(
                f"ShiftedNegativeBinomial: a must lie between {_SMALLEST:g} and {_LARGEST:g}, found {self.a!r}"
            )

    @classmethod
    def default(cls) -> Self:
        """Learning starts at the geometric with p = 0.5."""
        return cls(p=0.5, a=1.0)

    @property
    def c(self) -> float:
        """log p - a log(1 - p)."""
        if self.p in (0.0, 1.0):
            return -math.inf if self.p == 0.0 else math.inf
        return math.log(self.p) - self.a * math.log1p(-self.p)

    def log_h(self, y: ArrayLike, n: ArrayLike) -> Floats:
        """log Gamma(y - n + n a) / (Gamma(n a) (y - n)!)."""
        return log_h(y, n, self.a)

    @property
    def mean(self) -> float:
        """1 + a p / (1 - p)."""
        return 1.0 + self.a * self.p / (1.0 - self.p) if self.p < 1.0 else math.inf

    @property
    def variance(self) -> float:
        """a p / (1 - p)^2."""
        return self.a * self.p / (1.0 - self.p) ** 2 if self.p < 1.0 else math.inf

    @property
    def count_step(self) -> float:
        """Smooth in log y, less so where a is far from 1."""
        return count_step(self.a)

    @property
    def rate_step(self) -> float:
        """Finer for small a: E[n] then changes abruptly from 1 to y at some rate."""
        return float(0.375 * min(1.0, (2.0 * self.a) ** 0.45))

    def sample(self, sessions: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """n shifted negative binomials add up to n + NB(n a, p)."""
        self._check_proper()
        return sample(sessions, self.a, self.p, rng)

    def refit(self, totals: Totals) -> Self:
        """a <- sum E[m] / (L sum E[n]) with the old p, L = -log(1 - p); then p solves sum y = sum E[n] E[x]."""
        if self.limit is not None:
            return self
        if no_repeats(totals):
            return replace(self, p=0.0)
        a = totals.shape / (-math.log1p(-self.p) * totals.sessions)
        a = min(max(a, _SMALLEST), _LARGEST)  # a clipped step still raises the bound
        repeats = totals.counts - totals.sessions
        return replace(self, p=repeats / (repeats + a * totals.sessions), a=a)

    def _expected_excess(self, y: int, log_rates: Floats) -> Floats:
        """By the sum of all terms, or of those around the largest."""
        return self._cumulants_of(y, log_rates)[:, 1]

    def cumulants(
        self, counts: NDArray[np.int64], log_rates: Floats, threads: Threads | None = None
    ) -> NDArray[np.float64]:
        """Compiled, since a table is made anew in each iteration in which the shape moves."""
        return cumulants(counts, log_rates, self.a, threads)


def log_h(y: ArrayLike, n: ArrayLike, a: float) -> Floats:
    """log Gamma(y - n + n a) / (Gamma(n a) (y - n)!), -inf where n > y."""
    y, n = np.broadcast_arrays(np.asarray(y, dtype=np.float64), np.asarray(n, dtype=np.float64))
    possible = (n >= 1.0) & (n <= y)
    y, n = np.where(possible, y, 1.0), np.where(possible, n, 1.0)
    return np.where(possible, log_rising(y - n + 1.0, n * a - 1.0) - gammaln(n * a), -np.inf)


def count_step(a: float) -> float:
    """The spacing in log y that makes interpolation good to 1e-8, found by trial: 0.1 from a = 0.25 to 1.2."""
    fineness = max(0.75 * math.log2(0.25 / a), 0.9 * math.log2(a / 1.2), 0.0)
    return float(0.1 * 2.0 ** (-0.5 * math.ceil(2.0 * fineness)))


def sample(sessions: ArrayLike, a: float, p: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """n + NB(n a, p), 0 where n = 0."""
    n = np.asarray(sessions, dtype=np.int64)
    if p == 0.0:
        return n.copy()
    repeats = rng.poisson(rng.gamma(n * a, p / (1.0 - p)))
    return n + np.asarray(repeats, dtype=np.int64)


def cumulants(counts: NDArray[np.int64], log_rates: Floats, a: float, threads: Threads | None) -> Floats:
    """Element.cumulants for h(y, n) = Gamma(y - n + n a) / (Gamma(n a) (y - n)!)."""
    from dcpf.kernels.shifted_negative_binomial import KEPT, small_cumulants, wide_cumulants  # imports numba

    threads = threads or Threads(1)
    out = np.empty((len(counts), len(log_rates), 8))
    work = np.concatenate([[0], np.cumsum(np.minimum(counts, KEPT))])
    threads.run(small_cumulants, work, counts, log_rates, a, out)
    left = np.isnan(out[..., 0]).sum(axis=1)
    if left.any():  # a second kernel, so that only data with large counts compile it
        threads.run(wide_cumulants, np.concatenate([[0], np.cumsum(left)]), counts, log_rates, a, out)
    return out
