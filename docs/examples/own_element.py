"""An element of your own: one class. It is known by its name from the moment that it is defined."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlogy

import dcpf
from dcpf.elements import Element, ShiftedNegativeBinomial


@dataclass(frozen=True)
class OneAndPoisson(Element):
    """x - 1 ~ Poisson(p): one play, then a Poisson number of repeats. f(z) = z e^z."""

    name: ClassVar[str] = "one-and-poisson"
    p_max: ClassVar[float] = math.inf

    p: float

    @classmethod
    def default(cls) -> Self:
        return cls(p=1.0)

    @property
    def c(self) -> float:
        return math.log(self.p) + self.p if self.p > 0.0 else -math.inf

    def log_h(self, y: ArrayLike, n: ArrayLike) -> NDArray[np.float64]:
        y, n = np.asarray(y, dtype=np.float64), np.asarray(n, dtype=np.float64)
        inside = (n >= 1.0) & (n <= y)
        repeats = np.where(inside, y - n, 0.0)
        return np.where(inside, xlogy(repeats, np.maximum(n, 1.0)) - gammaln(repeats + 1.0), -np.inf)

    @property
    def mean(self) -> float:
        return 1.0 + self.p

    @property
    def variance(self) -> float:
        return self.p

    def sample(self, sessions: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        self._check_proper()
        n = np.asarray(sessions, dtype=np.int64)
        return n + rng.poisson(n * self.p)


train, test = dcpf.read_counts("plays.csv").split(test_fraction=0.2, seed=0)
for element in ("one-and-poisson", ShiftedNegativeBinomial.default()):
    model = dcpf.DCPF(n_components=10, element=element, n_neighbors=0, random_state=0).fit(train)
    found = dcpf.log_likelihood(model, test)
    print(model.element_, f"{found.counts_per_entry:.3f} nats for each test count")
