"""The interface of an element distribution: the law of the number of plays x >= 1 in one session.

Every element is a power series f(z) = f_1 z + f_2 z^2 + ... with f_1 = 1 and P(x) = f_x p^x / f(p). Then
h(y, n) = [z^y] f(z)^n, c(theta) = log f(exp(theta)), and a count y made of n sessions has
p(y | n) = exp(y theta - n c(theta)) h(y, n).

To add an element, write one file in this folder, or in any module that you import: a frozen dataclass that derives
from `Element` and has a name, c, log_h, mean, variance and a sampler. The rest is derived from these.
"""

import dataclasses
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from dcpf.kernels.threads import Threads

Floats = NDArray[np.float64]
Limit = Literal["raw", "binary"]

# Up to this count, all n = 1 .. y are summed; above, a window around the largest term.
_ALL_TERMS = 256
_REGISTRY: dict[str, type["Element"]] = {}


class Totals(NamedTuple):
    """The sums over all stored entries from which an element is re-estimated."""

    counts: float  # sum y
    sessions: float  # sum E[n]
    shape: float  # sum E[m] = sum d log Z / d log(shape), for an element that has a shape


@dataclasses.dataclass(frozen=True)
class Element(ABC):
    """An element distribution with its parameters. A parameter at an end of its range makes it a limit."""

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    p_max: ClassVar[float] = 1.0
    has_shape: ClassVar[bool] = False
    """Whether the element has a second parameter, learned from Totals.shape."""
    ranges: ClassVar[dict[str, tuple[float, float]]] = {}
    """The range of each parameter other than p that may not take every positive value."""

    p: float

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            for name in (cls.name, *cls.aliases):
                _REGISTRY[name] = cls

    def __post_init__(self) -> None:
        if not 0.0 <= self.p <= self.p_max:
            raise ValueError(
                f"{type(self).__name__}: p must lie between 0 (raw counts) and {self.p_max:g} (binarized counts), "
                f"found {self.p!r}"
            )

    # -- to be defined by each element ----------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def default(cls) -> Self:
        """The element at which learning starts when the user gives a name."""

    @property
    @abstractmethod
    def c(self) -> float:
        """The log-partition log f(p): minus infinity in the raw limit, infinity in the binary limit."""

    @abstractmethod
    def log_h(self, y: ArrayLike, n: ArrayLike) -> Floats:
        """log h(y, n) for whole numbers 1 <= n <= y."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """E[x], the plays in one session."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Var[x]."""

    @abstractmethod
    def sample(self, sessions: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw counts y given numbers of sessions n: each the sum of n elements, 0 where n = 0."""

    @property
    def count_step(self) -> float | None:
        """The spacing in log y of tabulated large counts, between which other counts are interpolated.

        None where log Z_y(r) is not smooth in log y: every distinct count then has polynomials of its own.
        """
        return None

    @property
    def rate_step(self) -> float:
        """The spacing of tabulated rates in log r. 0.375 gives nine digits where n is a sum of coin flips."""
        return 0.375

    # -- derived from the above --------------------------------------------------------------------------

    @property
    def theta(self) -> float:
        """The natural parameter, log p."""
        return math.log(self.p) if self.p > 0.0 else -math.inf

    @property
    def natural(self) -> tuple[float, float]:
        """theta and c; 0 and 0 in a limit, whose posterior does without them."""
        return (0.0, 0.0) if self.limit else (self.theta, self.c)

    @property
    def limit(self) -> Limit | None:
        """The kind of Poisson factorization at this end of the parameters' range, or None inside the range."""
        if self.c == -math.inf:
            return "raw"
        return "binary" if self.c == math.inf else None

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by name."""
        return {field.name: float(getattr(self, field.name)) for field in dataclasses.fields(self)}

    def log_pmf(self, x: ArrayLike) -> Floats:
        """log P(x) of one session; -inf where x is not one of 1, 2, 3, ..."""
        self._check_proper()
        x = np.asarray(x, dtype=np.float64)
        support = (x >= 1) & (x == np.floor(x))
        if self.limit == "raw":
            return np.where(x == 1, 0.0, -np.inf)
        safe = np.where(support, x, 1.0)
        return np.where(support, safe * self.theta - self.c + self.log_h(safe, np.ones_like(safe)), -np.inf)

    def _check_proper(self) -> None:
        if self.limit == "binary":
            raise ValueError(f"{self}: the binary limit is improper, a session has no distribution of its own there")

    def pmf(self, x: ArrayLike) -> Floats:
        """P(x) of one session."""
        return cast(Floats, np.exp(self.log_pmf(x)))

    def marginal_pmf(self, rate: float, largest: int) -> Floats:
        """P(y) for y = 0 .. largest, for sessions at this rate, by Panjer's recursion.

        g(0) = exp(-rate), g(y) = (rate / y) sum_x x f(x) g(y - x).
        """
        if not (np.ndim(rate) == 0 and 0.0 <= rate < math.inf):
            raise ValueError(f"rate must be one number >= 0, found {rate!r}")
        if not isinstance(largest, int | np.integer) or largest < 0:
            raise ValueError(f"largest must be a whole number >= 0, found {largest!r}")
        x = np.arange(1, largest + 1, dtype=np.float64)
        weighted = x * self.pmf(x)
        g = np.zeros(largest + 1)
        g[0] = 1.0  # g is scaled by exp(-log_scale) to stay within the range of a float
        log_scale = -rate
        for y in range(1, largest + 1):
            g[y] = rate / y * np.dot(weighted[:y], g[y - 1 :: -1])
            if g[y] > 1e200:
                log_scale += math.log(g[y])
                g[: y + 1] /= g[y]
        return g * math.exp(log_scale)

    def refit(self, totals: Totals) -> Self:
        """The element that maximises the bound given q(N): solve sum y = sum E[n] E[x] for p."""
        if no_repeats(totals):
            return dataclasses.replace(self, p=0.0)
        return dataclasses.replace(self, p=self._p_with_mean(totals.counts / totals.sessions))

    def extrapolate(self, before: Self, push: float) -> Self:
        """Extrapolate from `before` through this element, by `push` times the distance between them.

        Distances are those of logarithms; for p, of the log odds log(p / (p_max - p)). The answer is never a limit,
        and no parameter changes by more than a factor e.
        """
        if self.limit is not None or before.limit is not None:
            return self
        old, ends = before.parameters, {"p": self.p_max}
        moved = {
            name: _extrapolate(value, old[name], ends.get(name, math.inf), push)
            for name, value in self.parameters.items()
        }
        for name, (least, most) in self.ranges.items():
            moved[name] = min(max(moved[name], least), most)
        found = dataclasses.replace(self, **moved)
        return self if found.limit is not None else found

    def _p_with_mean(self, mean: float) -> float:
        from scipy.optimize import brentq  # takes a while to import

        def p_of(u: float) -> float:
            if math.isinf(self.p_max):
                return math.exp(u)
            return self.p_max / (1.0 + math.exp(-u))

        def excess(u: float) -> float:
            return dataclasses.replace(self, p=p_of(u)).mean - mean

        low, high = -38.0, 700.0 if math.isinf(self.p_max) else 36.0
        if excess(low) >= 0.0:
            return 0.0
        if excess(high) <= 0.0:
            return p_of(high)
        return p_of(brentq(excess, low, high, xtol=1e-14, rtol=8.9e-16))

    def cumulants(
        self, counts: NDArray[np.int64], log_rates: Floats, threads: Threads | None = None
    ) -> NDArray[np.float64]:
        """Cumulants of q(n) for each count (first axis) at each log rate t = log r, ascending (second axis).

        The last axis is log Z - (t + log h(y, 1)), E[n] - 1, Var[n] and the third cumulant of n. An element with a
        shape adds d log Z / d log(shape) and its first three derivatives in t.
        """
        del threads  # for elements with a kernel of their own
        out = np.empty((len(counts), len(log_rates), 4))
        for row, y in zip(out, counts.tolist(), strict=True):
            row[:] = self._cumulants_of(y, log_rates)
        return out

    def expected_sessions(self, counts: NDArray[np.integer], rates: Floats) -> Floats:
        """E[n] behind each count, whose sessions come at this rate: summed term by term, for a few thousand counts.

        Fits and long lists of counts look E[n] up in tables instead.
        """
        if self.limit is not None:
            return counts.astype(np.float64) if self.limit == "raw" else np.ones(len(counts))
        found = np.ones(len(counts))
        for y in np.unique(counts[counts > 1]).tolist():
            here = np.flatnonzero(counts == y)
            here = here[np.argsort(rates[here])]
            found[here] += self._expected_excess(y, np.log(rates[here]) - self.c)
        return found

    def _expected_excess(self, y: int, log_rates: Floats) -> Floats:
        """E[n] - 1 of one count at ascending log rates, without compiled code."""
        return self.cumulants(np.array([y]), log_rates)[0, :, 1]

    def _cumulants_of(self, y: int, t: Floats) -> Floats:
        """The cumulants of one count by summing the terms n t + log h(y, n) - log n!."""
        n = _all_sessions(y, len(t)) if y <= _ALL_TERMS else self._window(y, t)
        terms = n * t[:, None] + self.log_h(np.float64(y), n) - gammaln(n + 1.0)
        terms = np.where((n >= 1) & (n <= y), terms, -np.inf)
        peak = terms.max(axis=1)
        weights = np.exp(terms - peak[:, None])
        total = weights.sum(axis=1)
        weights /= total[:, None]
        stride = n[:, 1:2] - n[:, 0:1] if n.shape[1] > 1 else np.ones((len(t), 1))
        log_z = peak + np.log(total * stride[:, 0])
        mean = (weights * n).sum(axis=1)
        d = n - mean[:, None]
        line = t + float(self.log_h(np.float64(y), np.float64(1.0)))
        return np.stack([log_z - line, mean - 1.0, (weights * d**2).sum(1), (weights * d**3).sum(1)], axis=1)

    def _window(self, y: int, t: Floats) -> Floats:
        """The n to sum over for a large count: all around the largest term, or every k-th of them."""

        def slope(n: Floats) -> Floats:  # from n to n + 1; falls with n
            step = self.log_h(np.float64(y), n + 1.0) - self.log_h(np.float64(y), n)
            return step + t - np.log(n + 1.0)

        low, high = np.ones_like(t), np.full_like(t, float(y))
        while np.any(high - low > 1.0):
            middle = np.floor((low + high) / 2.0)
            rising = slope(np.minimum(middle, y - 1.0)) > 0.0
            low, high = np.where(rising, middle, low), np.where(rising, high, middle)
        at = np.clip(low, 2.0, y - 2.0)
        curvature = np.maximum(slope(at - 1.0) - slope(at), 1.0 / y**2)
        width = 1.0 / np.sqrt(curvature)
        # A sum over every k-th term is exact to exp(-2 (pi width / k)^2), once the edges are far enough away.
        stride = np.where(width < 8.0, 1.0, np.floor(width / 2.5))
        reach = int(np.ceil(np.max(10.0 * width / stride))) + 20
        return np.asarray(low[:, None] + stride[:, None] * np.arange(-reach, reach + 1.0), dtype=np.float64)


def _extrapolate(new: float, old: float, end: float, push: float) -> float:
    """Extrapolate in the logarithm or, if the range has an end, in log(new / (end - new))."""
    if math.isinf(end):
        return new * math.exp(max(-1.0, min(1.0, push * (math.log(new) - math.log(old)))))
    odds = _extrapolate(new / (end - new), old / (end - old), math.inf, push)
    return end * odds / (1.0 + odds)


def no_repeats(totals: Totals) -> bool:
    """Whether every play is a session of its own, to rounding: refitting then gives the raw limit."""
    return bool(totals.counts - totals.sessions <= 8.0 * np.finfo(np.float64).eps * totals.counts)


def _all_sessions(y: int, rows: int) -> Floats:
    return np.tile(np.arange(1.0, y + 1.0), (rows, 1))


def add_up(draws: NDArray[np.integer], sessions: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum of the draws of each entry, where entry i has the next sessions[i] draws."""
    ends = np.concatenate([[0], np.cumsum(draws)])[np.cumsum(sessions.ravel())]
    return np.diff(ends, prepend=0).reshape(sessions.shape).astype(np.int64)


def get(element: "str | Element") -> Element:
    """The default element of this name; an element is returned as it is."""
    if isinstance(element, Element):
        return element
    if not isinstance(element, str):
        raise TypeError(f"element must be a name or an element, found {element!r}")
    key = element.lower().replace("_", "-")
    if key not in _REGISTRY:
        raise ValueError(f"unknown element {element!r}: choose one of {', '.join(names())}")
    return _REGISTRY[key].default()


def names() -> list[str]:
    """The names of all elements, the limits included."""
    return sorted({cls.name for cls in _REGISTRY.values()})
