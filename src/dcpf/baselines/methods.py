"""The baselines by name, each with a grid of parameters to choose from."""

from typing import Any, NamedTuple

from dcpf.baselines.base import Baseline, Popularity
from dcpf.baselines.ease import Ease
from dcpf.baselines.hpf import HPF
from dcpf.baselines.implicit_models import ImplicitALS, ImplicitBPR
from dcpf.baselines.neighbors import ItemKNN


class Method(NamedTuple):
    """A label for tables, the class, the parameters to try, and the package that the method comes from."""

    label: str
    make: type[Baseline]
    grid: list[dict[str, Any]]
    package: str = "dcpf"


# Values around the best ones on plays, invoices, check-ins and words of 1,500 to 4,400 users.
# The first of each is a good choice if you try no others.
METHODS: dict[str, Method] = {
    "popularity": Method("popularity", Popularity, [{}]),
    "ease": Method(
        "EASE",
        Ease,
        [
            {"weighting": "binary", "regularization": 200.0},
            {"weighting": "log", "regularization": 200.0},
            {"weighting": "binary", "regularization": 500.0},
            {"weighting": "log", "regularization": 1000.0},
            {"weighting": "binary", "regularization": 100.0},
            {"weighting": "log", "regularization": 100.0},
            {"weighting": "binary", "regularization": 1000.0},
            {"weighting": "log", "regularization": 4000.0},
        ],
    ),
    "item-knn": Method(
        "item-kNN",
        ItemKNN,
        [
            {"weighting": "binary", "n_neighbors": 100, "shrinkage": 20.0},
            {"weighting": "log", "n_neighbors": 100, "shrinkage": 20.0},
            {"weighting": "binary", "n_neighbors": 20, "shrinkage": 0.0},
            {"weighting": "log", "n_neighbors": 20, "shrinkage": 0.0},
            {"weighting": "binary", "n_neighbors": 300, "shrinkage": 20.0},
            {"weighting": "log", "n_neighbors": 300, "shrinkage": 20.0},
            {"weighting": "binary", "n_neighbors": 10, "shrinkage": 0.0},
            {"weighting": "log", "n_neighbors": 100, "shrinkage": 0.0},
        ],
    ),
    "implicit-als": Method(
        "implicit ALS",
        ImplicitALS,
        [
            {"weighting": "log", "factors": 200, "alpha": 10.0, "regularization": 50.0},
            {"weighting": "binary", "factors": 200, "alpha": 10.0, "regularization": 50.0},
            {"weighting": "log", "factors": 200, "alpha": 5.0, "regularization": 25.0},
            {"weighting": "log", "factors": 200, "alpha": 5.0, "regularization": 50.0},
            {"weighting": "raw", "factors": 200, "alpha": 2.0, "regularization": 25.0},
            {"weighting": "log", "factors": 200, "alpha": 2.0, "regularization": 20.0},
            {"weighting": "log", "factors": 200, "alpha": 10.0, "regularization": 100.0},
            {"weighting": "log", "factors": 100, "alpha": 10.0, "regularization": 50.0},
        ],
        "implicit",
    ),
    "implicit-bpr": Method(
        "implicit BPR",
        ImplicitBPR,
        [
            {"learning_rate": 0.01, "regularization": 0.01},
            {"learning_rate": 0.01, "regularization": 0.02},
            {"learning_rate": 0.03, "regularization": 0.03},
            {"learning_rate": 0.1, "regularization": 0.03},
            {"learning_rate": 0.005, "regularization": 0.01},
            {"learning_rate": 0.01, "regularization": 0.01, "factors": 50},
            {"learning_rate": 0.01, "regularization": 0.01, "factors": 200},
        ],
        "implicit",
    ),
    "hpf": Method(
        "hpfrec HPF",
        HPF,
        [
            {"factors": 30, "shape_prior": 0.3},
            {"factors": 100, "shape_prior": 0.3},
            {"factors": 30, "shape_prior": 0.1},
        ],
        "hpfrec",
    ),
}
