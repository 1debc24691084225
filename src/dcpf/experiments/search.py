"""Which settings are tried, and in which order.

One parameter after another is varied about the best so far. Those of excitation come first: it is learned after the
factors and given them, so that these trials share one fit of the factors. When no single change is left to try, two
changes at once are, drawn at random, and so on. The next trial depends on the scores before it and on the seed.
"""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

import numpy as np

from dcpf.model import DCPF

Space = Mapping[str, tuple[Any, ...]]

SPACE: Space = {
    "n_neighbors": (0, 50, 100, 200, 400),
    "neighbor_prior": (10.0, 20.0, 40.0, 80.0, 160.0),
    "element": ("shifted-nb", "logarithmic", "geometric", "raw", "binary"),
    "shape_prior": (0.1, 0.3, 1.0),
    "n_components": (0, 20, 50, 100, 200),
}
"""What is tried of each parameter, in the order in which they are varied."""


@dataclass(frozen=True)
class Settings:
    """Parameters of `DCPF` that are chosen. Those of a new one are its defaults."""

    n_components: int = DCPF().n_components
    element: str = str(DCPF().element)
    n_neighbors: int = DCPF().n_neighbors
    neighbor_prior: float = DCPF().neighbor_prior
    shape_prior: float = float(DCPF().shape_prior)  # type: ignore[arg-type]

    @property
    def factors(self) -> tuple[int, str, float]:
        """What the factors depend on: settings that agree in this differ in excitation alone."""
        return self.n_components, self.element, self.shape_prior

    @property
    def possible(self) -> bool:
        """Whether there is something to learn."""
        return self.n_components > 0 or self.n_neighbors > 0

    def changed(self, **parameters: Any) -> "Settings":
        """These settings with other parameters. The prior of excitation is the default where there is none."""
        new = replace(self, **parameters)
        return new if new.n_neighbors else replace(new, neighbor_prior=DEFAULT.neighbor_prior)

    def distance(self, other: "Settings") -> int:
        """In how many parameters they differ."""
        return sum(getattr(self, one.name) != getattr(other, one.name) for one in fields(self))


DEFAULT = Settings()


def space_for(shape: tuple[int, int], space: Space = SPACE) -> Space:
    """The values that make a difference for data of so many users and items; the defaults stay in any case."""
    most = {"n_components": min(shape), "n_neighbors": shape[1] - 1}
    return {
        name: tuple(one for one in values if one <= most[name] or one == getattr(DEFAULT, name))
        if name in most
        else values
        for name, values in space.items()
    }


def search(space: Space, seed: int) -> Generator[Settings, float, None]:
    """Settings to try, the default first. Send the score of each; the end is when all are tried."""
    tried: dict[Settings, float] = {DEFAULT: (yield DEFAULT)}
    rng = np.random.default_rng(seed)
    while True:
        before = len(tried)
        for name, values in space.items():
            best = best_of(tried)
            for value in values:
                one = best.changed(**{name: value})
                if one.possible and one not in tried:
                    tried[one] = yield one
        if len(tried) == before:
            left = _nearest(best_of(tried), space, tried)
            if not left:
                return
            one = left[int(rng.integers(len(left)))]
            tried[one] = yield one


def best_of(tried: Mapping[Settings, float]) -> Settings:
    """The settings with the best score, of equal ones those that were tried first."""
    return max(tried, key=lambda one: tried[one])


def _nearest(best: Settings, space: Space, tried: Iterable[Settings]) -> list[Settings]:
    """What is not tried yet and differs from the best in as few parameters as possible."""
    every = (best.changed(**dict(zip(space, values, strict=True))) for values in product(*space.values()))
    known = set(tried)
    left = [one for one in dict.fromkeys(every) if one.possible and one not in known]
    least = min((one.distance(best) for one in left), default=0)
    return [one for one in left if one.distance(best) == least]
