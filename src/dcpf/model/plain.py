"""Parameters and elements as plain values, which JSON can hold, and back."""

import dataclasses
import math
import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from dcpf import elements, store
from dcpf.elements import Element


def parameters_to_plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What a model file keeps of the parameters: not what concerns one run, nor what is no plain value."""
    plain = {name: value for name, value in parameters.items() if name not in ("callback", "checkpoint")}
    plain["element"] = value if isinstance(value := plain["element"], str) else element_to_plain(value)
    plain["init"] = value if isinstance(value := plain["init"], str) else "random"
    plain["dtype"] = str(np.dtype(plain["dtype"]))
    for name in ("n_components", "n_neighbors", "max_iter", "n_jobs", "random_state"):
        plain[name] = int(value) if isinstance(value := plain[name], int | np.integer) else None
    plain["tol"], plain["neighbor_prior"] = float(plain["tol"]), float(plain["neighbor_prior"])
    prior = plain["shape_prior"]
    plain["shape_prior"] = [float(one) for one in prior] if isinstance(prior, tuple | list) else float(prior)
    return plain | {
        name: bool(plain[name]) for name in ("learn_element", "learn_rates", "accelerate", "warm_start", "verbose")
    }


def pair(prior: Any) -> Any:
    """A pair, which JSON gives back as a list."""
    return tuple(prior) if isinstance(prior, list) else prior


def element_to_plain(element: Element) -> dict[str, Any]:
    """Its name and parameters. JSON has no infinity, where some elements have a limit: such a number is spelt out."""
    numbers = {name: value if math.isfinite(value) else str(value) for name, value in element.parameters.items()}
    return {"name": element.name, "parameters": numbers}


def element_from_plain(plain: Mapping[str, Any]) -> Element:
    """An element of one's own must have been imported before it can be loaded."""
    name, parameters = plain["name"], plain["parameters"]
    if name not in elements.names():
        raise store.ModelFormatError(
            f"the model has the element {reprlib.repr(name)}, which is none of {', '.join(elements.names())}; if it "
            "is one of your own, import its file first"
        )
    return dataclasses.replace(elements.get(name), **{key: float(value) for key, value in parameters.items()})
