"""What is passed as counts or as a parameter, checked before any work. A matrix of counts is canonical afterwards."""

import reprlib
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.text import plural, shape_words

LARGEST_COUNT = 2**31 - 1

Seed = int | np.random.Generator

_NO_TABLES = ("numpy", "scipy", "builtins", "dcpf", "array")
_AT_A_TIME = 2**22

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 80


class InvalidCounts(ValueError):  # noqa: N818 - the name says it
    """The data cannot be counts of interactions. The message names the place, the value and the way out."""


def count_matrix(X: Any, *, allow_empty: bool = False) -> sparse.csr_array:
    """A users x items matrix of whole numbers >= 1 in canonical form. X itself is not changed.

    Takes any scipy sparse array or matrix, or anything that numpy makes a two-dimensional array of numbers from.
    Stored zeros count as absent, repeated entries are summed. A matrix without any entry is refused unless
    `allow_empty`.
    """
    coo = _sparse_entries(X) if sparse.issparse(X) else _dense_entries(X)
    _check_shape(coo.shape)
    data = _whole_numbers(coo.data, coo.row, coo.col)
    index = sparse.get_index_dtype(maxval=max(*coo.shape, coo.nnz))  # X may have a longer one
    places = (coo.row.astype(index, copy=False), coo.col.astype(index, copy=False))
    matrix = sparse.csr_array((data, places), shape=coo.shape)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    if matrix.nnz == 0:
        if allow_empty:
            return matrix
        raise InvalidCounts(
            f"no interactions: all {coo.shape[0]:,} x {coo.shape[1]:,} counts are 0; at least one must be positive"
        )
    if matrix.data.max() > LARGEST_COUNT:  # only sums of repeated entries can be
        place = matrix.tocoo()
        _refuse("Counts too large", place.data > LARGEST_COUNT, place.data, place.row, place.col)
    return matrix


def report(X: Any, matrix: sparse.csr_array) -> str:
    """One line on the counts made of X: their size, sums of repeated pairs, users and items without counts."""
    stored = X.data if getattr(X, "format", None) in ("csr", "csc", "coo") else matrix.data
    given = int(np.count_nonzero(stored))
    users = int((np.diff(matrix.indptr) == 0).sum())
    items = int(matrix.shape[1] - len(occurring(matrix.indices)))
    parts = [f"{shape_words(*matrix.shape, matrix.nnz)} up to {matrix.data.max():,}"]
    if given > matrix.nnz:
        parts.append(f"{plural(given - matrix.nnz, 'repeated pair')} summed")
    if users or items:
        parts.append(f"{plural(users, 'user')} and {plural(items, 'item')} without any")
    return "; ".join(parts)


def check_sums(matrix: sparse.csr_array, users: Sequence[Any], items: Sequence[Any], where: str = "") -> None:
    """Refuse counts that have become too large by being summed."""
    if matrix.data.max(initial=0) <= LARGEST_COUNT:
        return
    entry = int(np.argmax(matrix.data > LARGEST_COUNT))
    user = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
    pair = f"user {shown(users[user])}, item {shown(items[int(matrix.indices[entry])])}"
    raise InvalidCounts(
        f"{where}the counts of {pair} sum to {matrix.data[entry]}, which is too large; "
        f"{_WAYS_OUT['Counts too large']}"
    )


def shown(value: object) -> str:
    """A value for an error message, shortened if it is long."""
    return _short.repr(value)


def is_table(X: Any) -> bool:
    """Whether X is a table in memory: of pandas, polars, pyarrow, or another library that narwhals knows."""
    if type(X).__module__.partition(".")[0] in _NO_TABLES:
        return False
    from narwhals.dependencies import is_into_dataframe

    return bool(is_into_dataframe(X))


def occurring(numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    """Equivalent to np.unique for whole numbers >= 0 that are not large: ten times as fast."""
    found = np.zeros(int(numbers.max(initial=0)) + 1, dtype=np.bool_)
    for start in range(0, len(numbers), _AT_A_TIME):
        found[numbers[start : start + _AT_A_TIME]] = True
    return np.flatnonzero(found)


def whole_number(name: str, value: object, *, at_least: int) -> int:
    """The value of a parameter that must be a whole number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or int(value) < at_least:
        raise ValueError(f"{name} must be a whole number >= {at_least}, found {value!r}")
    return int(value)


def generator(seed: object) -> np.random.Generator:
    """The generator itself, or a new one with this seed."""
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, bool | np.bool_) or not isinstance(seed, Integral) or int(seed) < 0:
        raise ValueError(f"seed must be a whole number >= 0 or a numpy Generator, found {seed!r}")
    return np.random.default_rng(int(seed))


def _sparse_entries(X: Any) -> sparse.coo_array:
    if X.ndim != 2:
        raise InvalidCounts(f"counts must be a users x items matrix, found a sparse array of shape {X.shape}")
    _check_type(X.dtype)
    if X.format in ("csr", "csc", "bsr"):
        X = type(X)((X.data, X.indices, X.indptr), shape=X.shape)  # shares the arrays; spare room is cut off
    for name in ("indices", "row", "col"):  # before a conversion would read out of bounds
        index = getattr(X, name, None) if X.format in ("csr", "csc", "coo") else None
        if index is not None and len(index):
            axis = {"row": 0, "col": 1, "indices": 1 if X.format == "csr" else 0}[name]
            bad = int(index.min()) if index.min() < 0 else int(index.max())
            if not 0 <= bad < X.shape[axis]:
                what = "user" if axis == 0 else "item"
                raise InvalidCounts(
                    f"the sparse matrix names {what} {bad}, but it has {X.shape[axis]:,} {what}s (0 to "
                    f"{X.shape[axis] - 1:,}); build it anew with the right shape"
                )
    if X.format in ("csr", "csc", "bsr"):
        try:
            X.check_format(full_check=True)
            if (X.indptr[1:] < X.indptr[:-1]).any():  # which scipy does not look for in a bsr matrix
                raise ValueError("its indptr falls")
        except ValueError as error:
            raise InvalidCounts(f"the sparse matrix is broken ({error}); build it anew from its triplets") from None
    return sparse.coo_array(X)


def _dense_entries(X: Any) -> sparse.coo_array:
    if np.ma.is_masked(X):
        raise InvalidCounts("counts must not be masked: X.filled(0) takes the masked ones for absent")
    if X is None or isinstance(X, str | bytes):
        hint = "" if X is None else "; dcpf.read_counts reads a file"
        raise TypeError(f"counts must be a users x items matrix of numbers, found {X!r}{hint}")
    if hasattr(X, "collect_schema") and not hasattr(X, "__array__"):
        raise TypeError("a lazy table has no rows yet: call .collect() on it first")
    array = np.asarray(X)
    _check_type(array.dtype)
    if array.ndim != 2:
        raise InvalidCounts(
            f"counts must be a two-dimensional users x items array, found shape {array.shape}"
            + (". Reshape your data: counts.reshape(1, -1) is one user" if array.ndim == 1 and array.size else "")
        )
    _check_shape(array.shape)
    row, col = np.nonzero(array)  # NaN is not 0, and so is kept and found later
    data = array[row, col]
    return sparse.coo_array((data.astype(np.float32) if data.dtype == np.float16 else data, (row, col)), array.shape)


def _check_type(dtype: np.dtype[Any]) -> None:
    if dtype.kind == "c":
        raise InvalidCounts(f"counts must be real numbers, found {dtype}. Complex data not supported")
    if dtype.kind not in "biuf":
        raise TypeError(f"counts must be numbers, found an array of type {dtype}; convert it with .astype(int)")


def _check_shape(shape: tuple[int, ...]) -> None:
    if shape[0] == 0:
        raise InvalidCounts(f"no users: found 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
    if shape[1] == 0:
        raise InvalidCounts(f"no items: found 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


def _whole_numbers(data: NDArray[Any], row: NDArray[Any], col: NDArray[Any]) -> NDArray[np.int64]:
    if data.dtype.kind == "f":
        _refuse("NaN in data", np.isnan(data), data, row, col)
        _refuse("Infinity (inf) in data", np.isinf(data), data, row, col)
    if data.dtype.kind in "fi":
        _refuse("Negative values in data", data < 0, data, row, col)
    _refuse("Counts too large", data > LARGEST_COUNT, data, row, col)
    if data.dtype.kind == "f":
        _refuse("Fractions in data", data != np.floor(data), data, row, col)
    return data.astype(np.int64)


_WAYS_OUT = {
    "NaN in data": "remove such entries or set them to 0",
    "Infinity (inf) in data": "remove such entries or cap them",
    "Negative values in data": "counts start at 0: remove such entries (returned purchases, say) or clip them",
    "Counts too large": f"the limit is 2^31-1 = {LARGEST_COUNT:,}: cap the counts or count in larger units",
    "Fractions in data": "round the counts first, or count events instead of amounts",
}


def _refuse(what: str, bad: NDArray[np.bool_], data: NDArray[Any], row: NDArray[Any], col: NDArray[Any]) -> None:
    """Raise for the first bad entry, if there is one."""
    if not bad.any():
        return None
    first = int(np.flatnonzero(bad)[0])
    others = int(bad.sum()) - 1
    more = f" (and {others:,} more like it)" if others else ""
    raise InvalidCounts(
        f"{what}: the count of user {row[first]}, item {col[first]} is {data[first]:.15g}{more}; {_WAYS_OUT[what]}"
    )
