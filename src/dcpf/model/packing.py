"""Take values apart into named arrays and a tree for JSON, and put them together again: model files, checkpoints.

The tree names the class of each value that is not plain. Only registered classes, elements and parts are ever built
from a file, and each field must hold what its annotation says.
"""

import dataclasses
import functools
import math
import reprlib
import types
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf import elements, parts, store
from dcpf.counts import Ids, Strings
from dcpf.elements import Element, Totals
from dcpf.inference.gammas import GammaPosterior
from dcpf.model.fitted import Facts, FittedModel
from dcpf.ranking.rates import Link

Arrays = dict[str, NDArray[Any]]

_CLASSES: dict[str, type[Any]] = {kind.__name__: kind for kind in (Facts, FittedModel, GammaPosterior, Link, Totals)}


def register(kind: type[Any]) -> type[Any]:
    """Let `pack` and `unpack` handle a dataclass of another package."""
    _CLASSES[kind.__name__] = kind
    return kind


def pack(value: Any) -> tuple[Arrays, Any]:
    """Arrays by name, and the tree that refers to them."""
    arrays: Arrays = {}
    return arrays, _packed(value, "", arrays)


def unpack(arrays: Mapping[str, NDArray[Any]], tree: Any) -> Any:
    """The value that `pack` took apart. Raises ValueError, TypeError or KeyError for anything else."""
    if not isinstance(tree, dict):
        return tree

    def inner(name: str) -> Any:
        return unpack(arrays, tree[name])

    def inner_dict(name: str) -> dict[str, Any]:
        return {key: unpack(arrays, each) for key, each in tree[name].items()}

    match tree["is"]:
        case "float":
            return float(tree["value"])
        case "array":
            return arrays[tree["name"]]
        case "csr":
            return _matrix(inner("data"), inner("indices"), inner("indptr"), tuple(tree["shape"]))
        case "element":
            return _element(tree["name"], inner_dict("parameters"))
        case "strings":
            return _strings(inner("offsets"), inner("utf8"))
        case "ids":
            return _ids(inner("values"), inner("order"))
        case "tuple" | "list" as kind:
            values = [unpack(arrays, each) for each in tree["values"]]
            return tuple(values) if kind == "tuple" else values
        case "dict":
            return inner_dict("values")
        case "part":
            return _made(_part_kind(tree["name"]), inner_dict("fields"))
        case name:
            return _made(_CLASSES[name], inner_dict("fields"))


def _packed(value: Any, name: str, arrays: Arrays) -> Any:
    def inner(values: Mapping[str, Any]) -> dict[str, Any]:
        return {key: _packed(each, f"{name}.{key}".lstrip("."), arrays) for key, each in values.items()}

    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"is": "float", "value": str(value)}
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"is": "array", "name": name}
    if isinstance(value, sparse.csr_array):
        data = value.data.astype(np.int32) if value.data.dtype.kind == "i" else value.data
        narrow = {"indptr": value.indptr.astype(np.int64), "indices": value.indices.astype(np.int32), "data": data}
        return {"is": "csr", "shape": [int(size) for size in value.shape], **inner(narrow)}
    if isinstance(value, Element):
        return {"is": "element", "name": value.name, "parameters": inner(value.parameters)}
    if isinstance(value, Strings):
        return {"is": "strings", **inner({"offsets": value.offsets, "utf8": value.utf8})}
    if isinstance(value, Ids):
        return {"is": "ids", **inner({"values": value.values, "order": value.order})}
    if isinstance(value, parts.Part):
        return {"is": "part", "name": value.name, "fields": inner(_fields(value))}
    if type(value).__name__ in _CLASSES:
        return {"is": type(value).__name__, "fields": inner(_fields(value))}
    if isinstance(value, Mapping):
        return {"is": "dict", "values": inner(value)}
    if isinstance(value, tuple | list):
        values = inner({str(j): each for j, each in enumerate(value)})
        return {"is": "tuple" if isinstance(value, tuple) else "list", "values": list(values.values())}
    raise TypeError(f"a model cannot hold {value!r}")


def _fields(value: Any) -> dict[str, Any]:
    if isinstance(value, tuple):  # a NamedTuple
        return dict(value._asdict())  # type: ignore[attr-defined]
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _made(kind: Any, values: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    for name, value in values.items():
        if not _fits(value, hints[name]):
            raise ValueError(f"{kind.__name__}.{name} is {reprlib.repr(value)}")
    return kind(**values)


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value agrees with the annotation of its field."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, one) for one in arguments)
    if origin is np.ndarray:
        scalar = typing.get_args(arguments[1])[0]
        return isinstance(value, np.ndarray) and np.issubdtype(value.dtype, scalar)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if arguments[-1] is Ellipsis:
            arguments = arguments[:1] * len(value)
        return len(value) == len(arguments) and all(map(_fits, value, arguments))
    if hint is float:
        return isinstance(value, float) or (type(value) is int and abs(value) < 2**53)
    return isinstance(value, origin or hint) and not (hint is int and isinstance(value, bool))


def _part_kind(name: Any) -> type[parts.Part]:
    try:
        return parts.kind_of(name)
    except ValueError as error:
        raise store.ModelFormatError(str(error)) from None


def _element(name: Any, parameters: Mapping[str, Any]) -> Element:
    if name not in elements.names():
        raise store.ModelFormatError(
            f"the model has the element {reprlib.repr(name)}, which is none of {', '.join(elements.names())}; if it "
            "is one of your own, import its file first"
        )
    return dataclasses.replace(elements.get(name), **{key: float(value) for key, value in parameters.items()})


def _strings(offsets: NDArray[Any], utf8: NDArray[Any]) -> Strings:
    typed = offsets.dtype == np.int64 and utf8.dtype == np.uint8 and offsets.ndim == utf8.ndim == 1
    whole = typed and len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(utf8)
    _check(whole and bool((offsets[1:] >= offsets[:-1]).all()), "strings are not whole")
    return Strings(offsets, utf8)


def _ids(values: Any, order: Any) -> Ids:
    if order is not None:
        typed = isinstance(order, np.ndarray) and order.dtype == np.int64 and order.shape == (len(values),)
        _check(typed and bool((np.sort(order) == np.arange(len(order))).all()), "the order of ids is not whole")
    if not isinstance(values, Strings):
        typed = isinstance(values, np.ndarray) and values.dtype == np.int64 and values.ndim == 1
        _check(typed, "ids are no integers")
        ascending = values if order is None else values[order]
        _check(bool((ascending[1:] > ascending[:-1]).all()), "ids are not in their order")
    return Ids(values, order)


def _matrix(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: Any) -> sparse.csr_array:
    """A matrix that shares its data with the file. Its indices are checked, since compiled loops trust them."""
    typed = indptr.dtype == np.int64 and indices.dtype == np.int32 and data.ndim == indices.ndim == indptr.ndim == 1
    whole = typed and len(data) == len(indices) and len(indptr) == shape[0] + 1 and indptr[0] == 0
    _check(whole and indptr[-1] == len(data) and bool((np.diff(indptr) >= 0).all()), "a sparse matrix is not whole")
    _check(not len(indices) or (indices.min() >= 0 and indices.max() < shape[1]), "a sparse matrix has other columns")
    starts = indptr[1:-1][(indptr[1:-1] > 0) & (indptr[1:-1] < len(data))]
    rising = np.diff(indices) > 0
    rising[starts - 1] = True  # between rows
    _check(bool(rising.all()), "the columns of a sparse matrix are not ascending")
    index = sparse.get_index_dtype(maxval=max(*shape, len(data)))
    matrix = sparse.csr_array((data, indices.astype(index, copy=False), indptr.astype(index)), shape=shape)
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def _check(holds: bool, wrong: str) -> None:
    if not holds:
        raise ValueError(wrong)
