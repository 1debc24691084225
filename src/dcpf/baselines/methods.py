"""The baselines by name, each with a grid of parameters to choose from."""

from dataclasses import dataclass
from typing import Any

from dcpf.baselines.base import Popularity
from dcpf.baselines.ease import Ease
from dcpf.baselines.hpf import HPF
from dcpf.baselines.implicit_models import ImplicitALS, ImplicitBPR
from dcpf.baselines.neighbors import ItemKNN


@dataclass(frozen=True)
class Competitor:
    """A method with `fit` and `recommend`, and a grid of its main parameters, a good choice first."""

    name: str
    label: str  # for tables
    make: type[Any]
    grid: tuple[dict[str, Any], ...]
    package: str = "dcpf"  # the package whose version its results depend on

    def new(self, parameters: dict[str, Any], seed: int) -> Any:
        """An unfitted model with these parameters."""
        seeded = {"random_state": seed} if "random_state" in self.make().get_params() else {}
        return self.make(**seeded | parameters)


# Values around the best ones on plays, invoices, check-ins and words of 1,500 to 4,400 users.
_METHODS = (
    Competitor("popularity", "popularity", Popularity, ({},)),
    Competitor(
        "ease",
        "EASE",
        Ease,
        (
            {"weighting": "binary", "regularization": 200.0},
            {"weighting": "log", "regularization": 200.0},
            {"weighting": "binary", "regularization": 500.0},
            {"weighting": "log", "regularization": 1000.0},
            {"weighting": "binary", "regularization": 100.0},
            {"weighting": "log", "regularization": 100.0},
            {"weighting": "binary", "regularization": 1000.0},
            {"weighting": "log", "regularization": 4000.0},
        ),
    ),
    Competitor(
        "item-knn",
        "item-kNN",
        ItemKNN,
        (
            {"weighting": "binary", "n_neighbors": 100, "shrinkage": 20.0},
            {"weighting": "log", "n_neighbors": 100, "shrinkage": 20.0},
            {"weighting": "binary", "n_neighbors": 20, "shrinkage": 0.0},
            {"weighting": "log", "n_neighbors": 20, "shrinkage": 0.0},
            {"weighting": "binary", "n_neighbors": 300, "shrinkage": 20.0},
            {"weighting": "log", "n_neighbors": 300, "shrinkage": 20.0},
            {"weighting": "binary", "n_neighbors": 10, "shrinkage": 0.0},
            {"weighting": "log", "n_neighbors": 100, "shrinkage": 0.0},
        ),
    ),
    Competitor(
        "implicit-als",
        "implicit ALS",
        ImplicitALS,
        (
            {"weighting": "log", "factors": 200, "alpha": 10.0, "regularization": 50.0},
            {"weighting": "binary", "factors": 200, "alpha": 10.0, "regularization": 50.0},
            {"weighting": "log", "factors": 200, "alpha": 5.0, "regularization": 25.0},
            {"weighting": "log", "factors": 200, "alpha": 5.0, "regularization": 50.0},
            {"weighting": "raw", "factors": 200, "alpha": 2.0, "regularization": 25.0},
            {"weighting": "log", "factors": 200, "alpha": 2.0, "regularization": 20.0},
            {"weighting": "log", "factors": 200, "alpha": 10.0, "regularization": 100.0},
            {"weighting": "log", "factors": 100, "alpha": 10.0, "regularization": 50.0},
        ),
        "implicit",
    ),
    Competitor(
        "implicit-bpr",
        "implicit BPR",
        ImplicitBPR,
        (
            {"learning_rate": 0.01, "regularization": 0.01},
            {"learning_rate": 0.01, "regularization": 0.02},
            {"learning_rate": 0.03, "regularization": 0.03},
            {"learning_rate": 0.1, "regularization": 0.03},
            {"learning_rate": 0.005, "regularization": 0.01},
            {"learning_rate": 0.01, "regularization": 0.01, "factors": 50},
            {"learning_rate": 0.01, "regularization": 0.01, "factors": 200},
        ),
        "implicit",
    ),
    Competitor(
        "hpf",
        "hpfrec HPF",
        HPF,
        (
            {"factors": 30, "shape_prior": 0.3},
            {"factors": 100, "shape_prior": 0.3},
            {"factors": 30, "shape_prior": 0.1},
        ),
        "hpfrec",
    ),
)

METHODS: dict[str, Competitor] = {method.name: method for method in _METHODS}
"""All baselines by name."""
