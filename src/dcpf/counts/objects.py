"""Columns of Python objects: what they hold, and the same as a column of one type."""

import warnings
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from dcpf.counts.checks import InvalidCounts
from dcpf.counts.encode import Kind

WAY_OUT = "ids are integers or strings: convert the column"


def kind_of_ids(objects: Sequence[Any], column: str) -> tuple[Kind, list[str]]:
    """Whether the objects become integers or strings, and what there is to say about it. What is no id is refused."""
    sorts = {of: _sort(of) for of in set(map(type, objects))}
    odd = {of: sort for of, sort in sorts.items() if sort not in ("integer", "string", "missing")}
    if odd:
        for row, one in enumerate(objects):
            if type(one) in odd and not is_missing(one):
                raise InvalidCounts(
                    f"row {row} of the table: {one!r} in column {column!r} is a {odd[type(one)]}; {WAY_OUT}, "
                    f"{'with its own choice of format' if 'date' in odd[type(one)] else 'or such values'} first"
                )
    if "string" not in sorts.values():
        _check_bits(objects, column)
        return "integer", []
    if "integer" not in sorts.values():
        return "string", []
    _check_clash(objects, sorts, column)
    note = f"column {column} mixes integers and strings: all its ids are taken as strings"
    warnings.warn(note, UserWarning, stacklevel=5)
    return "string", [note]


def ids_of(objects: Iterable[Any], kind: Kind) -> pl.Series:
    """The objects as one column of the kind that `kind_of_ids` found."""
    if kind == "integer":
        return pl.Series([None if is_missing(one) else int(one) for one in objects], dtype=pl.Int64)
    return strings_of(None if is_missing(one) else str(one) for one in objects)


def strings_of(strings: Iterable[str | None]) -> pl.Series:
    """The strings as a column. Half of a surrogate pair is no text."""
    try:
        return pl.Series(list(strings), dtype=pl.String)
    except UnicodeEncodeError as error:
        raise InvalidCounts(
            f"{error.object!r} in the table is no valid text ({error.reason}); mend it first"
        ) from None


def texts_of(objects: Iterable[Any]) -> pl.Series:
    """The objects as they are written, for counts and times."""
    return pl.Series(
        [None if one is None or _sort(type(one)) == "missing" else str(one) for one in objects], dtype=pl.String
    )


def is_missing(one: Any) -> bool:
    """Whether this stands for nothing: None, NaN, NA."""
    return _sort(type(one)) == "missing" or (isinstance(one, float) and one != one)


def _sort(kind: type) -> str:
    for sort, types in _SORTS:
        if issubclass(kind, types):
            return sort
    return "missing" if kind.__name__ in ("NAType", "NaTType") else kind.__name__


_SORTS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("missing", (type(None),)),
    ("truth value", (bool, np.bool_)),
    ("integer", (int, np.integer)),
    ("string", (str,)),
    ("float", (float, np.floating, Decimal)),
    ("bytes", (bytes,)),
)


def _check_bits(objects: Sequence[Any], column: str) -> None:
    for row, one in enumerate(objects):
        if not is_missing(one) and not -(2**63) <= one < 2**63:
            raise InvalidCounts(
                f"row {row} of the table: {one} in column {column!r} has more than 64 bits; give such ids as strings"
            )


def _check_clash(objects: Sequence[Any], sorts: dict[type, str], column: str) -> None:
    integers = {str(int(one)) for one in objects if sorts[type(one)] == "integer"}
    clash = next((one for one in objects if sorts[type(one)] == "string" and one in integers), None)
    if clash is not None:
        raise InvalidCounts(
            f"column {column!r} mixes integers and strings, and {clash} is there as both; "
            "convert the column to one type"
        )
