"""Model files: one .safetensors file each, written whole, and never a pickle."""

import math
import os
import reprlib
from dataclasses import replace
from typing import Any

import numpy as np

from dcpf import store
from dcpf.model.fitted import Facts, FittedModel
from dcpf.model.packing import pack, unpack

Path = str | os.PathLike[str]

_SIZES = ("users", "items", "entries", "total", "largest")


def save(model: FittedModel, path: Path, *, history: bool = True) -> None:
    """See `FittedModel.save`."""
    arrays, tree = pack(model if history else replace(model, history=None))
    store.write(path, arrays, {"model": tree})


def load(path: Path) -> FittedModel:
    """The model in a file that `save` has written. It is mapped into memory: factors are read when they are used."""
    arrays, meta = store.read(path)
    try:
        model = unpack(arrays, meta["model"])
        check(model)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError, RecursionError) as error:
        if isinstance(error, store.ModelFormatError):
            raise store.ModelFormatError(f"{os.fspath(path)}: {error}") from None
        why = " ".join(str(error).split())[:200]
        raise store.ModelFormatError(
            f"{os.fspath(path)}: a dcpf file, but not a whole model ({why}); restore a copy of it, or save it again"
        ) from error
    found: FittedModel = model
    return found


def check(model: Any) -> None:
    """Raise ValueError if this cannot be a model. Means of factors are not read for that: see `store.verify`."""
    if not isinstance(model, FittedModel):
        raise ValueError("no model")
    users, items = len(model.users), len(model.items)
    names = {part.name for part in model.parts}
    if not names or not len(names) == len(model.parts) == len(model.weights):
        raise ValueError("parts and weights do not match")
    if not all(0.0 < weight < math.inf for weight in model.weights):
        raise ValueError(f"weights are {model.weights}")
    if model.names is not None and len(model.names) != items:
        raise ValueError("not a name for each item")
    history = model.history
    if history is not None:
        if history.shape != (users, items) or history.dtype != np.int32:
            raise ValueError("the training counts have another shape or type")
        if history.nnz and int(history.data.min()) <= 0:
            raise ValueError("the training counts are not positive")
    _check_facts(model.facts)
    for part in model.parts:
        part.check(users, items)


def _check_facts(facts: Facts) -> None:
    sizes, mean = [facts.data[name] for name in _SIZES], facts.sessions_per_count
    if not all(type(size) is int and 0 <= size < 2**63 for size in sizes):
        raise ValueError(f"the sizes of the training data are {reprlib.repr(sizes)}")
    if not isinstance(facts.data["checksum"], str):
        raise ValueError("the training data have no checksum")
    if facts.bounds.ndim != 1 or not np.isfinite(facts.bounds).all():
        raise ValueError("the bounds are no list of finite numbers")
    if mean is not None and not 0.0 < mean < math.inf:
        raise ValueError(f"{mean:g} sessions per count")
