"""The shifted negative binomial element: a second parameter for the length of the tail."""

import contextlib
import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcpf.elements.base import Element, Floats, Totals, no_repeats
from dcpf.kernels.elementary import log_gamma_and_digamma, log_rising, trigamma
from dcpf.kernels.jit import kernel, step
from dcpf.kernels.sums import NEGLIGIBLE, joint_moments, moments, weights_of_terms
from dcpf.kernels.threads import Threads

_KEPT = 256  # terms that are computed once for a count and serve every rate
_LONGEST = 4096  # no window is longer
_SMALLEST, _LARGEST = 1e-4, 1e6  # beyond, the element is as good as one at the end, and its table is out of hand


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
        """Smooth in log y, less so where a is far from 1: halved as often as a table needs it to stay exact."""
        return count_step(self.a)

    @property
    def rate_step(self) -> float:
        """A small a makes one session and all singles the likely answers, and the change between them sudden."""
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
        a = min(max(a, _SMALLEST), _LARGEST)  # on the way to the best a, so the bound still rises
        repeats = totals.counts - totals.sessions
        return replace(self, p=repeats / (repeats + a * totals.sessions), a=a)

    def _expected_excess(self, y: int, log_rates: Floats) -> Floats:
        """By the sum of all terms, or of those around the largest."""
        return self._cumulants_of(y, log_rates)[:, 1]

    def cumulants(
        self, counts: NDArray[np.int64], log_rates: Floats, threads: Threads | None = None
    ) -> NDArray[np.float64]:
        """By a kernel of its own, since a table over a moving shape is made anew in every iteration."""
        return cumulants(counts, log_rates, self.a, threads)


def log_h(y: ArrayLike, n: ArrayLike, a: float) -> Floats:
    """log Gamma(y - n + n a) / (Gamma(n a) (y - n)!), -inf where n > y."""
    y, n = np.broadcast_arrays(np.asarray(y, dtype=np.float64), np.asarray(n, dtype=np.float64))
    out = np.empty(y.size)
    _log_h_of_pairs(np.ascontiguousarray(y).ravel(), np.ascontiguousarray(n).ravel(), a, out)
    return out.reshape(y.shape)


def count_step(a: float) -> float:
    """The spacing in log y at which interpolation is good to 1e-8, found by trial: 0.1 from a = 0.25 to 1.2."""
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
    out = np.empty((len(counts), len(log_rates), 8))
    with contextlib.ExitStack() as stack:
        threads = threads or stack.enter_context(Threads(1))
        work = np.concatenate([[0], np.cumsum(np.minimum(counts, _KEPT))])
        threads.run(_cumulants, work, counts, log_rates, a, out)
        left = np.isnan(out[..., 0]).sum(axis=1)
        if left.any():  # a second kernel, so that it is compiled only where counts are large
            threads.run(_wide_cumulants, np.concatenate([[0], np.cumsum(left)]), counts, log_rates, a, out)
    return out


@step
def _log_h(y: float, n: float, a: float) -> float:
    # Gamma(y - n + n a) / Gamma(y - n + 1), then Gamma(n a)
    return log_rising(y - n + 1.0, n * a - 1.0) - math.lgamma(n * a)


@kernel
def _log_h_of_pairs(y: Floats, n: Floats, a: float, out: Floats) -> None:
    for i in range(len(y)):
        out[i] = _log_h(y[i], n[i], a) if 1.0 <= n[i] <= y[i] else -np.inf


@step
def _term(y: float, n: float, a: float) -> tuple[float, float]:
    """(log h(y, n) - log n!, m) with m = d log h / d log a = n a (Psi(y - n + n a) - Psi(n a))."""
    log_gamma_na, digamma_na = log_gamma_and_digamma(n * a)
    log_gamma_n1, _ = log_gamma_and_digamma(n + 1.0)
    term = log_rising(y - n + 1.0, n * a - 1.0) - log_gamma_na - log_gamma_n1
    _, digamma_top = log_gamma_and_digamma(y - n + n * a)
    return term, n * a * (digamma_top - digamma_na)


@step
def _term_from(y: float, n: float, d: float, a: float, t: float) -> tuple[float, float]:
    """(how much larger the term of n + d is than that of n, with d t; the m of n + d), for large n and y.

    By differences, since the terms themselves have lost too many digits.
    """
    step = log_rising(y - n + n * a, d * (a - 1.0)) - log_rising(y - n + 1.0, -d)
    step -= log_rising(n * a, d * a) + log_rising(n + 1.0, d)
    na = (n + d) * a
    _, top = log_gamma_and_digamma(y - n - d + na)
    _, bottom = log_gamma_and_digamma(na)
    return step + d * t, na * (top - bottom)


@step
def _slope(y: float, n: float, a: float) -> tuple[float, float]:
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
def _mode(y: float, t: float, a: float) -> tuple[float, float]:
    """(where n t + log h(y, n) - log n! is largest, up to a tenth of the width there; that width)."""
    low, high = 1.0, y
    n = 0.5 * _KEPT  # where it matters, the mode is about here or further on
    width = 1.0
    for _ in range(200):
        slope, curvature = _slope(y, n, a)
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
def _cumulants(start: int, stop: int, counts: NDArray[np.int64], t: Floats, a: float, out: Floats) -> None:
    kept, kept_m, kept_n = np.empty(_KEPT + 1), np.empty(_KEPT + 1), np.empty(_KEPT + 1)
    for j in range(_KEPT + 1):
        kept_n[j] = j
    shifted, weights = np.empty(_KEPT + 1), np.empty(_KEPT + 1)
    for i in range(start, stop):
        y = np.float64(counts[i])
        size = min(counts[i], _KEPT)
        kept[1], kept_m[1] = _term(y, 1.0, a)
        known = 1  # terms are computed when a rate first needs them
        line = kept[1]
        mode = 1
        for k in range(len(t)):
            peak = kept[mode] + mode * t[k]
            last = mode
            while last < size:
                if last == known:
                    known += 1
                    kept[known], kept_m[known] = _term(y, np.float64(known), a)
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
                _fill(
                    shifted[first : last + 1],
                    kept_n[first : last + 1],
                    kept_m[first : last + 1],
                    weights,
                    1.0,
                    line + t[k],
                    out[i, k],
                )
                continue
            out[i, k, 0] = np.nan  # the terms that count reach beyond those kept


@kernel
def _wide_cumulants(start: int, stop: int, counts: NDArray[np.int64], t: Floats, a: float, out: Floats) -> None:
    """What _cumulants has left out: sums over every k-th term around the largest."""
    terms, m, n, weights = np.empty(_LONGEST), np.empty(_LONGEST), np.empty(_LONGEST), np.empty(_LONGEST)
    for i in range(start, stop):
        y = np.float64(counts[i])
        line, _ = _term(y, 1.0, a)
        for k in range(len(t)):
            if not np.isnan(out[i, k, 0]):
                continue
            wide_mode, width = _mode(y, t[k], a)
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
                    terms[used], m[used] = _term_from(y, centre, at - centre, a, t[k])
                    n[used] = at
                    peak = max(peak, terms[used])
                    used += 1
                    if terms[used - 1] < peak - NEGLIGIBLE:
                        break
                    at += direction * stride
            top, _ = _term(y, centre, a)
            _fill(
                terms[:used],
                n[:used],
                m[:used],
                weights,
                stride,
                line + t[k] - (top + centre * t[k]),
                out[i, k],
            )


@step
def _fill(terms: Floats, n: Floats, m: Floats, weights: Floats, stride: float, line: float, out: Floats) -> None:
    """Cumulants of n and their derivatives in log a, from terms at every `stride`-th n."""
    weights = weights[: len(terms)]
    peak, log_total = weights_of_terms(terms, weights)
    total = math.exp(log_total)
    mean, second, third = moments(weights, n, total)
    m_mean, c1, c2, c3 = joint_moments(weights, n, mean, m, total)
    out[0] = peak + log_total + math.log(stride) - line
    out[1], out[2], out[3] = mean - 1.0, second, third
    out[4], out[5], out[6], out[7] = m_mean, c1, c2, c3 - 3.0 * c1 * second
