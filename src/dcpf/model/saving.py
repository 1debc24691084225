"""A model as named arrays and plain values, and back: what `store` puts into a file."""

import dataclasses
import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from dcpf import store
from dcpf.counts import Ids, Strings
from dcpf.elements import Totals
from dcpf.inference.excitation import Excitation, packed
from dcpf.inference.settings import Settings
from dcpf.inference.updates import Gammas
from dcpf.model.checkpoint import remove_checkpoint
from dcpf.model.fitted import Fitted, check_whole
from dcpf.model.plain import element_from_plain, element_to_plain, pair, parameters_to_plain

if TYPE_CHECKING:
    from dcpf.model.estimator import DCPF

Arrays = Mapping[str, NDArray[Any]]
Path = str | os.PathLike[str]

_NUMBERS = ("weight", "scale", "share", "growth", "discount")  # of excitation
_MAY_BE_0 = ("growth", "discount")  # and are in models of before


class Saving(Fitted):
    """Models go to files."""

    checkpoint: Path | None

    def save(self, path: Path, *, history: bool = True) -> None:
        """Write the model to one .safetensors file. An old file is replaced only when the new one is complete.

        `history=False` leaves the training counts out: then `recommend` needs `history=` or `exclude_seen=False`.
        Not kept are `callback`, `checkpoint`, an `init` of arrays, and a `random_state` that is not a number. The
        checkpoint of a fit that has ended is removed: the model has all that was in it.
        """
        check_is_fitted(self)
        arrays: dict[str, NDArray[Any]] = {"bounds": self.bounds_}
        for side, gammas in (("W", self.user_posterior_), ("H", self.item_posterior_)):
            arrays |= {f"{side}.{field.name}": getattr(gammas, field.name) for field in dataclasses.fields(gammas)}
        arrays |= _ids_to_arrays("users", self.users_) | _ids_to_arrays("items", self.items_)
        if self.names_ is not None:
            arrays |= _strings_to_arrays("names", self.names_)
        if history and self.history_ is not None:
            arrays |= _counts_to_arrays(self.history_)
        if (excitation := self.excitation_) is not None:
            arrays |= _excitation_to_arrays(excitation)
        if self._stream_ is not None:
            totals, passes = self._stream_
            arrays |= {"stream": np.array([*totals, passes])}
        store.write(path, arrays, self._description())
        if self.checkpoint is not None:
            remove_checkpoint(self.checkpoint, self.bounds_)

    def _description(self) -> dict[str, Any]:
        """Everything about the model that is not an array."""
        return {
            "element": element_to_plain(self.element_),
            "parameters": parameters_to_plain(self.get_params(deep=False)),  # type: ignore[attr-defined]
            "settings": dataclasses.asdict(self._settings_) | {"shape_prior": list(self._settings_.shape_prior)},
            "typical_rates": list(self._typical_rates),
            "data": self._data_,
        } | self._facts_of_excitation()

    def _facts_of_excitation(self) -> dict[str, Any]:
        if (excitation := self.excitation_) is None:
            return {}
        return {"excitation": {name: getattr(excitation, name) for name in _NUMBERS}}

    def _restore(self, arrays: Arrays, description: Mapping[str, Any]) -> None:
        """Become the model that these arrays and this description tell of."""
        _check_types(arrays)
        settings = dict(description["settings"])
        self._settings_ = Settings(**settings | {"shape_prior": _two_numbers(settings["shape_prior"])})
        learn = (self._settings_.learn_element, self._settings_.learn_rates)
        _check(all(isinstance(one, bool) for one in learn), f"learn_element and learn_rates are {learn}")
        check_whole(n_neighbors=self._settings_.n_neighbors, least=0)
        _check(isinstance(self._settings_.neighbor_prior, float), "neighbor_prior is no number")
        self._typical_rates = _two_numbers(description["typical_rates"])
        self._data_ = description["data"]
        self.element_ = element_from_plain(description["element"])
        self.bounds_ = arrays["bounds"]
        self.n_iter_ = len(self.bounds_)
        self.users_, self.items_ = _ids_from_arrays("users", arrays), _ids_from_arrays("items", arrays)
        self.names_ = _strings_from_arrays("names", arrays) if "names.utf8" in arrays else None
        self.history_ = _counts_from_arrays(arrays, (len(self.users_), len(self.items_)))
        W, H = _gammas_from_arrays("W", arrays, len(self.users_)), _gammas_from_arrays("H", arrays, len(self.items_))
        _check(W.shape.shape[1] == H.shape.shape[1] and W.shape.dtype == H.shape.dtype, "W and H do not match")
        _check(self.names_ is None or len(self.names_) == len(self.items_), "not a name for each item")
        self._keep(W, H)
        if "excitation" in description:
            self._excitation = _excitation_from_arrays(arrays, description["excitation"], len(self.items_))
        if "stream" in arrays:
            *totals, passes = arrays["stream"].tolist()
            self._stream_ = Totals(*totals), passes


def load(path: Path) -> "DCPF":
    """The model in a file that `DCPF.save` has written. It is mapped into memory: factors are read when used."""
    from dcpf.model.estimator import DCPF

    arrays, description = store.read(path)
    try:
        parameters = {"n_neighbors": 0} | description["parameters"]  # of a time before there were any
        element = parameters["element"]
        if not isinstance(element, str):
            parameters = parameters | {"element": element_from_plain(element)}
        model = DCPF(**parameters | {"shape_prior": pair(parameters["shape_prior"])})
        model._restore(arrays, description)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        if isinstance(error, store.ModelFormatError):
            raise store.ModelFormatError(f"{os.fspath(path)}: {error}") from None
        why = " ".join(str(error).split())[:200]
        raise store.ModelFormatError(
            f"{os.fspath(path)}: a dcpf file, but not a whole model ({why}); restore a copy of it, or save it again"
        ) from error
    return model


def _check(holds: bool, wrong: str) -> None:
    if not holds:
        raise ValueError(wrong)


_TYPES = {  # of the arrays whose name ends so: how many axes, and which kinds of numbers
    "bounds": (1, ("float64",)),
    "stream": (1, ("float64",)),
    ".shape": (2, ("float32", "float64")),
    "_rate": (1, ("float64",)),
    ".offsets": (1, ("int64",)),
    ".utf8": (1, ("uint8",)),
    ".integers": (1, ("int64",)),
    ".order": (1, ("int64",)),
    ".indptr": (1, ("int64",)),
    ".indices": (1, ("int32",)),
    ".data": (1, ("int32",)),
}


def _check_types(arrays: Arrays) -> None:
    """Refuse arrays of other types or axes than compiled loops rely on."""
    for name, array in arrays.items():
        axes, types = next((wanted for end, wanted in _TYPES.items() if name.endswith(end)), (array.ndim, ()))
        fits = array.ndim == axes and (not types or str(array.dtype) in types)
        _check(fits, f"{name[:80]} has {array.ndim} axes and the type {array.dtype}")


def _two_numbers(given: Any) -> tuple[float, float]:
    first, second = (float(one) for one in given)
    _check(0.0 < first < math.inf and 0.0 < second < math.inf, f"{first:g} and {second:g} cannot be rates or shapes")
    return first, second


def _gammas_from_arrays(side: str, arrays: Arrays, rows: int) -> Gammas:
    shape, row_rate, column_rate = (arrays[f"{side}.{field.name}"] for field in dataclasses.fields(Gammas))
    fits = shape.shape == (rows, len(column_rate)) and row_rate.shape == (rows,) and shape.dtype.kind == "f"
    _check(fits, f"{side} has the wrong shape or type for {rows:,} ids")
    return Gammas(shape, row_rate, column_rate)


def _excitation_to_arrays(excitation: Excitation) -> dict[str, NDArray[Any]]:
    strength = excitation.strength
    return {
        "excitation.indptr": strength.indptr.astype(np.int64),
        "excitation.sources": strength.indices.astype(np.int32),
        "excitation.strength": strength.data,
        "excitation.mass": excitation.mass,
    }


def _excitation_from_arrays(arrays: Arrays, numbers: Mapping[str, Any], items: int) -> Excitation:
    sources, strength, mass = (arrays[f"excitation.{name}"] for name in ("sources", "strength", "mass"))
    types = [array.dtype.name for array in (sources, strength, mass)] == ["int32", "float32", "float64"]
    fits = types and strength.shape == sources.shape and mass.shape == (items,)
    _check(fits, f"the excitation has the wrong shape or type for {items:,} items")
    if "excitation.indptr" in arrays:
        matrix = _matrix_from_arrays(strength, sources, arrays["excitation.indptr"], (items, items), "strengths")
    else:  # of a time when lists were filled up, to be of one length
        _check(sources.ndim == 2 and len(sources) == items, "the strengths are not whole")
        _check(not sources.size or 0 <= sources.min() <= sources.max() <= items, "the excitation has unknown items")
        matrix = packed(sources.copy(), strength.copy())
    excitation = Excitation(matrix, mass, **numbers)
    numbers = {name: getattr(excitation, name) for name in _NUMBERS}
    sound = all(isinstance(one, float) and 0.0 <= one < math.inf for one in numbers.values())
    positive = sound and all(number > 0.0 for name, number in numbers.items() if name not in _MAY_BE_0)
    _check(positive and excitation.discount <= 1.0, f"the excitation has {numbers}")
    return excitation


def _strings_to_arrays(name: str, strings: Strings) -> dict[str, NDArray[Any]]:
    return {f"{name}.offsets": strings.offsets, f"{name}.utf8": strings.utf8}


def _strings_from_arrays(name: str, arrays: Arrays) -> Strings:
    offsets, utf8 = arrays[f"{name}.offsets"], arrays[f"{name}.utf8"]
    whole = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(utf8)
    _check(whole and bool((offsets[1:] >= offsets[:-1]).all()), f"the strings of {name} are not whole")
    return Strings(offsets, utf8)


def _ids_to_arrays(name: str, ids: Ids) -> dict[str, NDArray[Any]]:
    arrays = {} if ids.order is None else {f"{name}.order": ids.order}
    if isinstance(ids.values, Strings):
        return arrays | _strings_to_arrays(name, ids.values)
    return arrays | {f"{name}.integers": ids.values}


def _ids_from_arrays(name: str, arrays: Arrays) -> Ids:
    integers, order = arrays.get(f"{name}.integers"), arrays.get(f"{name}.order")
    values = _strings_from_arrays(name, arrays) if integers is None else integers
    whole = order is None or (len(order) == len(values) and bool((np.sort(order) == np.arange(len(order))).all()))
    _check(whole, f"the order of {name} is not whole")
    return Ids(values, order)


def _counts_to_arrays(matrix: sparse.csr_array) -> dict[str, NDArray[Any]]:
    """Counts fit into 32 bits, and so do the numbers of items."""
    return {
        "history.indptr": matrix.indptr.astype(np.int64),
        "history.indices": matrix.indices.astype(np.int32),
        "history.data": matrix.data.astype(np.int32),
    }


def _counts_from_arrays(arrays: Arrays, shape: tuple[int, int]) -> sparse.csr_array | None:
    if "history.indptr" not in arrays:
        return None
    data, indices, indptr = (arrays[f"history.{name}"] for name in ("data", "indices", "indptr"))
    matrix = _matrix_from_arrays(data, indices, indptr, shape, "training counts")
    _check(len(data) == 0 or int(data.min()) > 0, "a training count is not positive")
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def _matrix_from_arrays(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int], what: str
) -> sparse.csr_array:
    """A matrix that shares the first two with the file, with indices that are as long as need be."""
    whole = len(indptr) > 0 and len(data) == len(indices) == indptr[-1] == indptr.max() and indptr.min() >= 0
    _check(whole, f"the {what} are not whole")
    index = sparse.get_index_dtype(maxval=max(*shape, len(data)))
    matrix = sparse.csr_array((data, indices.astype(index, copy=False), indptr.astype(index)), shape=shape)
    matrix.check_format(full_check=True)
    return matrix
