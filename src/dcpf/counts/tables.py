"""Tables in memory, of any library that narwhals knows, to Counts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dcpf.counts.columns import THE_TABLE, Column, Columns, choose, choose_by_position

if TYPE_CHECKING:
    import polars as pl

    from dcpf.counts.counts import Counts
    from dcpf.counts.encode import Kind

ROWS_AT_A_TIME = 1_000_000

_NO_TABLES = ("numpy", "scipy", "builtins", "dcpf", "array")


def is_table(X: Any) -> bool:
    """Whether X is a table in memory: of pandas, polars, pyarrow, or another that narwhals knows."""
    if type(X).__module__.partition(".")[0] in _NO_TABLES:
        return False
    from narwhals.dependencies import is_into_dataframe

    return bool(is_into_dataframe(X))


def from_table(
    table: Any,
    *,
    user_column: Column | None = None,
    item_column: Column | None = None,
    count_column: Column | None = None,
    time_column: Column | None = None,
    round_counts: bool = False,
) -> "Counts":
    """Counts from a table with a row for each user and item, or for each event.

    Columns are recognised by their usual names, or given by name or number. Without a count column each row counts 1.
    """
    from dcpf.counts.collect import BadRows, Collector, Place, Rows

    names, columns = columns_of(table)
    given = {"user": user_column, "item": item_column, "count": count_column, "time": time_column}
    chosen = _choose(names, given)
    sources = {role: _source(columns[at], str(names[at]), role) for role, at in chosen.at.items()}
    collector = Collector(
        THE_TABLE,
        (sources["user"].kind, sources["item"].kind),
        BadRows(),
        round_counts=round_counts,
        time_was_asked_for=time_column is not None,
    )
    for start in range(0, len(columns[chosen.at["user"]]), ROWS_AT_A_TIME):

        def place(row: int, start: int = start) -> Place:
            return Place(start + row, f"row {start + row} of the table")

        collector.add(Rows(_frame(sources, start), place))
    return collector.finish((*chosen.notes, *(note for source in sources.values() for note in source.notes)))


@dataclass(frozen=True)
class _Source:
    """A column of the table, and how a piece of it becomes a column of polars."""

    column: Any
    read: "Callable[[Any], pl.Series]"
    kind: "Kind" = "string"
    notes: list[str] = field(default_factory=list)


def columns_of(table: Any) -> tuple[list[Any], list[Any]]:
    """The names and the columns (narwhals series) of a table."""
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    from dcpf.counts.checks import InvalidCounts

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


def _choose(names: list[Any], given: dict[str, Column | None]) -> Columns:
    if names == list(range(len(names))):  # a pandas table that was never given names
        return choose_by_position(len(names), given, THE_TABLE)
    return choose([str(name) for name in names], given, THE_TABLE)


def _frame(sources: dict[str, _Source], start: int) -> "pl.DataFrame":
    import polars as pl

    stop = start + ROWS_AT_A_TIME
    return pl.DataFrame({role: source.read(source.column[start:stop]) for role, source in sources.items()})


def _source(column: Any, name: str, role: str) -> _Source:
    import narwhals as nw

    from dcpf.counts.objects import ids_of, kind_of_ids, texts_of

    are_objects = column.dtype in (nw.Object, nw.Unknown) or (column.dtype == nw.Categorical and _is_pandas(column))
    if not are_objects:
        return _Source(column, to_polars) if role in ("count", "time") else _of_ids(column, name)
    if role in ("count", "time"):
        return _Source(column, lambda piece: texts_of(piece.to_list()))
    kind, notes = kind_of_ids(column.to_list(), name)
    return _Source(column, lambda piece: ids_of(piece.to_list(), kind), kind, notes)


def _of_ids(column: Any, name: str) -> _Source:
    from dcpf.counts.id_columns import id_column, kind_of_column

    kind = kind_of_column(to_polars(column[:0]).dtype, f"the table: column {name!r}")
    return _Source(column, lambda piece: id_column(to_polars(piece), kind, f"the table: column {name!r}"), kind)


def _is_pandas(column: Any) -> bool:
    return bool(column.implementation.is_pandas_like())


def to_polars(column: Any) -> "pl.Series":
    """A column of any library as one of polars."""
    import narwhals as nw
    import polars as pl

    from dcpf.counts.objects import is_missing, strings_of

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
        return strings_of(None if is_missing(one) else one for one in column.to_list())
    if column.is_null().any():
        kept = [None if is_missing(one) else one for one in column.to_list()]
        return pl.Series(kept, dtype=_polars_type(column.dtype))
    values = column.to_numpy()
    return pl.Series(values.astype("float32") if values.dtype == "float16" else values)


def _polars_type(dtype: Any) -> Any:
    import narwhals as nw
    import polars as pl

    if dtype.is_integer():
        return pl.UInt64 if dtype == nw.UInt64 else pl.Int64
    return pl.Float64 if dtype.is_float() else None
