"""Typed columns that hold ids: integers stay integers, strings stay strings, and what is neither is refused."""

import polars as pl

from dcpf.counts.checks import InvalidCounts
from dcpf.counts.encode import Kind

_WAYS_OUT = {
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
    what = (
        "floats"
        if dtype.is_float() or dtype.is_decimal()
        else "dates"
        if dtype.is_temporal()
        else {"Boolean": "truth values", "Binary": "bytes"}.get(str(dtype), str(dtype))
    )
    raise InvalidCounts(f"{where} holds {what}, which are no ids; {_WAYS_OUT.get(what, _WAYS_OUT['truth values'])}")


def id_column(column: pl.Series, kind: Kind, where: str) -> pl.Series:
    """The column as Int64 or as String."""
    if kind_of_column(column.dtype, where) != kind and column.dtype != pl.Null:
        raise InvalidCounts(f"{where} holds {column.dtype} after {kind}s; convert it to one type")
    if kind == "string":
        return column.cast(pl.String)
    narrowed = column.cast(pl.Int64, strict=False)
    if narrowed.null_count() > column.null_count():
        large = column.filter(narrowed.is_null() & column.is_not_null())[0]
        raise InvalidCounts(
            f"{where} holds {large}, which has more than 64 bits with its sign; give such ids as strings"
        )
    return narrowed
