"""Who takes part in the leaderboard, each with the settings from which it may choose."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dcpf.baselines.methods import METHODS
from dcpf.model import DCPF

Settings = dict[str, Any]


@dataclass(frozen=True)
class Contender:
    """A recommender with `fit` and `recommend`, and what is tried of its main parameters."""

    name: str
    label: str
    make: Callable[..., Any]
    grid: tuple[Settings, ...]
    ours: bool = False

    def new(self, settings: Settings, seed: int) -> Any:
        """An unfitted one with these settings."""
        seeded = {"random_state": seed} if "random_state" in self.make().get_params() else {}
        return self.make(**seeded | settings)


def _factorizations(element: str) -> tuple[Settings, ...]:
    sizes = itertools.product((50, 100, 200), (0.3, 1.0))
    return tuple({"element": element, "n_components": K, "shape_prior": alpha} for K, alpha in sizes)


_OURS = {
    "shifted-nb": "dcPF, shifted NB",
    "logarithmic": "dcPF, logarithmic",
    "binary": "PF, binary counts",
    "raw": "PF, raw counts",
}

CONTENDERS: dict[str, Contender] = {
    **{
        element: Contender(element, label, DCPF, _factorizations(element), ours=True)
        for element, label in _OURS.items()
    },
    **{name: Contender(name, one.label, one.make, tuple(one.grid)) for name, one in METHODS.items()},
}
"""All of them by name. The first is what the others are compared with."""
