"""Poisson factorization of raw and of binarized counts: the limits of every element, without parameters."""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcpf.elements.element import Element, Floats, Totals


@dataclass(frozen=True)
class Raw(Element):
    """Every session is one play: Poisson factorization of the counts as they are."""

    name: ClassVar[str] = "raw"

    p: float = field(default=0.0, init=False, repr=False)

    @classmethod
    def default(cls) -> Self:
        """There is nothing to learn."""
        return cls()

    @property
    def parameters(self) -> dict[str, float]:
        """None."""
        return {}

    @property
    def c(self) -> float:
        """Minus infinity."""
        return -math.inf

    def log_h(self, y: ArrayLike, n: ArrayLike) -> Floats:
        """0 at n = y, -inf elsewhere."""
        return np.where(np.equal(y, n), 0.0, -np.inf)

    @property
    def mean(self) -> float:
        """1."""
        return 1.0

    @property
    def variance(self) -> float:
        """0."""
        return 0.0

    def sample(self, sessions: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """The number of sessions itself."""
        return np.array(sessions, dtype=np.int64)

    def refit(self, totals: Totals) -> Self:
        """There is nothing to learn."""
        return self


@dataclass(frozen=True)
class Binary(Raw):
    """Every count is one session, however large: Poisson factorization of 1[y > 0]. Improper as a law of y."""

    name: ClassVar[str] = "binary"

    p: float = field(default=1.0, init=False, repr=False)

    @property
    def c(self) -> float:
        """Infinity."""
        return math.inf

    def log_h(self, y: ArrayLike, n: ArrayLike) -> Floats:
        """0 at n = 1, -inf elsewhere."""
        return np.where(np.equal(n, 1) & np.greater_equal(y, 1), 0.0, -np.inf)

    @property
    def mean(self) -> float:
        """Infinity."""
        return math.inf

    @property
    def variance(self) -> float:
        """Infinity."""
        return math.inf

    def sample(self, sessions: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """1 where there is a session, 0 elsewhere: a binarized count."""
        return np.minimum(np.asarray(sessions, dtype=np.int64), 1)
