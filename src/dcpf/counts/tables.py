"""Tables in memory, of any library that narwhals knows, to Counts.

Columns of ids keep their type: integers stay integers, strings stay strings, and what is neither is refused.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from narwhals.exceptions import DuplicateError

from dcpf.counts.checks import InvalidCounts
from dcpf.counts.codes import Kind
from dcpf.counts.columns import THE_TABLE, Column, CountColumns
from dcpf.counts.counts import Counts
from dcpf.counts.rows import BadRows, CountsBuilder, RowRef, Rows

ROWS_AT_A_TIME = 1_000_000


def from_table(
    table: Any,
    *,
    user_column: Column | None = None,
    item_column: Column | None = None,
    count_column: Column | None = None,
    time_column: Column | None = None,
    round_counts: bool = False,
) -> Counts:
    """Counts from a table with a row for each user and item, or for each event.

    Columns are recognised by their usual names, or given by name or number. Without a count column each row counts 1.
    """
    names, columns = columns_of(table)
    finder = CountColumns({"user": user_column, "item": item_column, "count": count_column, "time": time_column})
    unnamed = names == list(range(len(names)))  # a pandas table that was never given names
    names = [str(name) for name in names]
    chosen = finder.by_position(len(names), THE_TABLE) if unnamed else finder.by_name(names, THE_TABLE)
    sources = {
        role: _id_source(columns[at], names[at]) if role in ("user", "item") else _value_source(columns[at])
        for role, at in chosen.at.items()
    }
    builder = CountsBuilder(
        THE_TABLE,
        (sources["user"].kind, sources["item"].kind),
        BadRows(),
        round_counts=round_counts,
        time_was_asked_for=time_column is not None,
    )
    for start in range(0, len(columns[chosen.at["user"]]), ROWS_AT_A_TIME):
        part = slice(start, start + ROWS_AT_A_TIME)

        def ref(row: int, start: int = start) -> RowRef:
            return RowRef(start + row, f"row {start + row} of the table")

        frame = pl.DataFrame({role: source.read(source.column[part]) for role, source in sources.items()})
        builder.add(Rows(frame, ref))
    return builder.finish((*chosen.notes, *(source.note for source in sources.values() if source.note)))


def columns_of(table: Any) -> tuple[list[Any], list[Any]]:
    """The names and the columns (narwhals series) of a table."""
    try:
        frame = nw.from_native(table, eager_only=True)
        return list(frame.columns), list(frame.iter_columns())
    except TypeError:
        lazy = "; .collect() it first" if hasattr(table, "collect") else ""
        raise TypeError(
            f"counts come from a table of pandas, polars or pyarrow, found {type(table).__module__}."
            f"{type(table).__qualname__}{lazy}"
        ) from None
    except DuplicateError as error:
        raise InvalidCounts(f"the table: {' '.join(str(error).split())}; rename them") from None


@dataclass(frozen=True)
class _Source:
    """A column of the table, and how a part of it becomes a column of polars."""

    column: Any
    read: Callable[[Any], pl.Series]
    kind: Kind = "string"
    note: str = ""


def _value_source(column: Any) -> _Source:
    """A column of counts or times."""
    if not _has_objects(column):
        return _Source(column, to_polars)
    return _Source(column, lambda part: _texts_of_objects(part.to_list()))


def _id_source(column: Any, name: str) -> _Source:
    """A column of ids."""
    if not _has_objects(column):
        where = f"the table: column {name!r}"
        kind = kind_of_column(to_polars(column[:0]).dtype, where)
        return _Source(column, lambda part: id_column(to_polars(part), kind, where), kind)
    kind, note = _kind_of_objects(column.to_list(), name)
    return _Source(column, lambda part: _ids_of_objects(part.to_list(), kind), kind, note)


def _has_objects(column: Any) -> bool:
    """Whether this is a column of Python objects, of any types."""
    categories_of_pandas = column.dtype == nw.Categorical and column.implementation.is_pandas_like()
    return column.dtype in (nw.Object, nw.Unknown) or bool(categories_of_pandas)


def to_polars(column: Any) -> pl.Series:
    """A column of any library as one of polars."""
    if column.implementation.is_polars():
        native = column.to_native()
        return native if isinstance(native, pl.Series) else pl.Series(native)
    if column.implementation.is_pyarrow():
        taken = pl.from_arrow(column.to_native())
        return taken if isinstance(taken, pl.Series) else taken.to_series()
    if column.dtype == nw.Datetime:
        if column.dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return pl.Series(column.to_numpy().astype("datetime64[us]"))
    if column.dtype == nw.String:
        return _strings([None if _is_missing(one) else one for one in column.to_list()])
    if column.is_null().any():
        kept = [None if _is_missing(one) else one for one in column.to_list()]
        return pl.Series(kept, dtype=_polars_type(column.dtype))
    values = column.to_numpy()
    return pl.Series(values.astype("float32") if values.dtype == "float16" else values)


def _polars_type(dtype: Any) -> Any:
    if dtype.is_integer():
        return pl.UInt64 if dtype == nw.UInt64 else pl.Int64
    return pl.Float64 if dtype.is_float() else None


# Typed columns of ids

_NO_IDS = {
    "floats": "ids are integers or strings: fill the gaps and convert it to integers (or to strings) first",
    "truth values": "ids are integers or strings: convert it first",
    "dates": "convert it to strings first, in the format of your choice",
    "bytes": "convert it to strings first",
}


def kind_of_column(dtype: pl.DataType, where: str) -> Kind:
    """Whether ids of this type are integers or strings."""
    if dtype.is_integer():
        return "integer"
    if dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        return "string"
    what = {"Boolean": "truth values", "Binary": "bytes"}.get(str(dtype), str(dtype))
    if dtype.is_float() or dtype.is_decimal():
        what = "floats"
    elif dtype.is_temporal():
        what = "dates"
    raise InvalidCounts(f"{where} holds {what}, which are no ids; {_NO_IDS.get(what, _NO_IDS['truth values'])}")


def id_column(column: pl.Series, kind: Kind, where: str) -> pl.Series:
    """The column as Int64 or as String."""
    if column.dtype != pl.Null and kind_of_column(column.dtype, where) != kind:
        raise InvalidCounts(f"{where} holds {column.dtype} after {kind}s; convert it to one type")
    if kind == "string":
        return column.cast(pl.String)
    integers = column.cast(pl.Int64, strict=False)
    if integers.null_count() > column.null_count():
        large = column.filter(integers.is_null() & column.is_not_null())[0]
        raise InvalidCounts(
            f"{where} holds {large}, which has more than 64 bits with its sign; give such ids as strings"
        )
    return integers


# Columns of Python objects

_TYPES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("missing", (type(None),)),
    ("truth value", (bool, np.bool_)),
    ("integer", (int, np.integer)),
    ("string", (str,)),
    ("float", (float, np.floating, Decimal)),
    ("bytes", (bytes,)),
)


def _type_name(kind: type) -> str:
    for name, types in _TYPES:
        if issubclass(kind, types):
            return name
    return "missing" if kind.__name__ in ("NAType", "NaTType") else kind.__name__


def _is_missing(one: Any) -> bool:
    """Whether this stands for a missing value: None, NaN, NA."""
    return _type_name(type(one)) == "missing" or (isinstance(one, float) and one != one)


def _kind_of_objects(objects: Sequence[Any], column: str) -> tuple[Kind, str]:
    """Whether the objects become integers or strings, and a note if both are there."""
    types = {kind: _type_name(kind) for kind in set(map(type, objects))}
    _check_ids(objects, types, column)
    if "string" not in types.values():
        return "integer", ""
    if "integer" not in types.values():
        return "string", ""
    integers = {str(int(one)) for one in objects if types[type(one)] == "integer"}
    clash = next((one for one in objects if types[type(one)] == "string" and one in integers), None)
    if clash is not None:
        raise InvalidCounts(
            f"column {column!r} mixes integers and strings, and {clash} occurs as both; "
            "convert the column to one type"
        )
    note = f"column {column} mixes integers and strings: all its ids are taken as strings"
    warnings.warn(note, UserWarning, stacklevel=5)
    return "string", note


def _check_ids(objects: Sequence[Any], types: dict[type, str], column: str) -> None:
    """Refuse the first object that can be no id."""
    only_integers = "string" not in types.values()
    if not only_integers and set(types.values()) <= {"integer", "string", "missing"}:
        return
    for row, one in enumerate(objects):
        name = types[type(one)]
        if name in ("string", "missing") or _is_missing(one):
            continue
        where = f"row {row} of the table: {one!r} in column {column!r}"
        if name != "integer":
            what = "in a format of your choice" if "date" in name else "or such values"
            raise InvalidCounts(
                f"{where} is a {name}; ids are integers or strings: convert the column, {what}, first"
            )
        if only_integers and not -(2**63) <= one < 2**63:
            raise InvalidCounts(f"{where} has more than 64 bits; give such ids as strings")


def _ids_of_objects(objects: Sequence[Any], kind: Kind) -> pl.Series:
    if kind == "integer":
        return pl.Series([None if _is_missing(one) else int(one) for one in objects], dtype=pl.Int64)
    return _strings([None if _is_missing(one) else str(one) for one in objects])


def _texts_of_objects(objects: Sequence[Any]) -> pl.Series:
    """The objects as they are written; NaN stays a number that is none."""
    return _strings([None if _type_name(type(one)) == "missing" else str(one) for one in objects])


def _strings(strings: Iterable[str | None]) -> pl.Series:
    """A column of strings. Half of a surrogate pair is no text."""
    try:
        return pl.Series(list(strings), dtype=pl.String)
    except UnicodeEncodeError as error:
        raise InvalidCounts(
            f"{error.object!r} in the table is no valid text ({error.reason}); correct it first"
        ) from None
