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
    package: str = "dcpf"  # whose version its results depend on

    def new(self, settings: Settings, seed: int) -> Any:
        """An unfitted one with these settings."""
        seeded = {"random_state": seed} if "random_state" in self.make().get_params() else {}
        return self.make(**seeded | settings)


def _factorizations(element: str) -> tuple[Settings, ...]:
    sizes = itertools.product((50, 100, 200), (0.3, 1.0))
    return tuple(
        {"element": element, "n_neighbors": 0, "n_components": K, "shape_prior": alpha} for K, alpha in sizes
    )


# The default comes first.
_EXCITED: tuple[Settings, ...] = (
    {"neighbor_prior": 40.0, "n_components": 50},
    {"neighbor_prior": 20.0, "n_components": 50},
    {"neighbor_prior": 80.0, "n_components": 50},
    {"neighbor_prior": 10.0, "n_components": 50},
    {"neighbor_prior": 40.0, "n_components": 0},
    {"neighbor_prior": 40.0, "n_components": 20},
    {"neighbor_prior": 40.0, "n_components": 50, "n_neighbors": 500},
    {"neighbor_prior": 160.0, "n_components": 50},
)

_OURS = {
    "shifted-nb": "dcPF factors, shifted NB",
    "logarithmic": "dcPF factors, logarithmic",
    "binary": "PF, binary counts",
    "raw": "PF, raw counts",
}

CONTENDERS: dict[str, Contender] = {
    "dcpf": Contender("dcpf", "dcpf, with excitation", DCPF, _EXCITED, ours=True),
    **{
        element: Contender(element, label, DCPF, _factorizations(element), ours=True)
        for element, label in _OURS.items()
    },
    **{
        name: Contender(name, one.label, one.make, tuple(one.grid), package=one.package)
        for name, one in METHODS.items()
    },
}
"""All of them by name. The first is what the others are compared with."""
