"""Model files: one .safetensors file each, written whole, and never a pickle."""

import os
from dataclasses import replace
from typing import Any

from dcpf import store
from dcpf.model.fitted import FittedModel
from dcpf.model.packing import pack, unpack

Path = str | os.PathLike[str]


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
    """Raise ValueError where what a file says cannot be a model."""
    if not isinstance(model, FittedModel):
        raise ValueError("no model")
    users, items = len(model.users), len(model.items)
    if (
        not model.parts
        or len(model.parts) != len(model.weights)
        or len({part.name for part in model.parts}) != len(model.parts)
    ):
        raise ValueError("parts and weights do not match")
    if not all(0.0 <= weight < float("inf") for weight in model.weights):
        raise ValueError(f"weights are {model.weights}")
    if model.names is not None and len(model.names) != items:
        raise ValueError("not a name for each item")
    history = model.history
    if history is not None and (history.shape != (users, items) or (history.nnz and int(history.data.min()) <= 0)):
        raise ValueError("the training counts have another shape, or are not positive")
    for part in model.parts:
        part.check(users, items)
