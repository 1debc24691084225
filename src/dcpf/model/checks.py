"""Small checks of what callers pass in, shared by the files of this room."""

import inspect
import numbers
import warnings
from typing import Any

import numpy as np
from scipy import sparse

from dcpf.counts import Counts


def check_whole(*, least: int = 1, **given: object) -> None:
    """Refuse what is not a whole number, or less than the least allowed, by its name."""
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
            raise ValueError(f"{name} must be a whole number >= {least}, found {value!r}")


def generator(random_state: Any) -> np.random.Generator:
    """The generator of a parameter `random_state`. numpy itself takes a RandomState only from 2.2 on."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state must be a whole number from 0, a Generator, a RandomState or None, found {random_state!r}"
        ) from None


def warn_caller(message: str, kind: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of dcpf that called into it."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("dcpf."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)


def has_ids(X: Any) -> bool:
    """Whether these counts name their users and items, as a `Counts` and a table do, and a matrix does not."""
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return False
    from dcpf.counts.checks import is_table

    return isinstance(X, Counts) or is_table(X)
