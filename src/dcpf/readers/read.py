"""Counts from a file of any kind; the content tells the kind."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from dcpf.counts import Counts, Id, InvalidCounts
from dcpf.counts.codes import Kind
from dcpf.counts.columns import Column, CountColumns
from dcpf.counts.rows import BadRows, CountsBuilder
from dcpf.readers.matrices import read_matrix
from dcpf.readers.names import read_names
from dcpf.readers.parquet import ParquetTable, files_of
from dcpf.readers.source import Source
from dcpf.readers.text import TextTable


def read_counts(
    path: str | os.PathLike[str],
    *,
    user_column: Column | None = None,
    item_column: Column | None = None,
    count_column: Column | None = None,
    time_column: Column | None = None,
    names: str | os.PathLike[str] | Mapping[Id, str] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    skip_bad_lines: bool = False,
    round_counts: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Counts:
    """Counts from a file: CSV or TSV (also packed by gzip or zstd), Parquet (or a folder of it), MatrixMarket, npz.

    A table has a row for each user and item, or for each event: without a count column each row counts 1. Columns
    are recognised by their usual names, or given by name or by number from 0. Repeated pairs are summed. `names` are
    the names of the items by id, or a second file with them. `Counts.notes` tells what was done to the data.

    `skip_bad_lines` skips and counts lines of a text file that cannot be used, instead of raising an error.
    `round_counts` rounds fractions to the nearest whole number, and halves to the even one. `progress` is called now
    and then with the bytes done and their total.
    """
    if not os.fspath(path):
        raise InvalidCounts("the name of the file of counts is empty (a variable that is not set?)")
    path = Path(path)
    given = {"user": user_column, "item": item_column, "count": count_column, "time": time_column}
    source = None if path.is_dir() else Source(path)
    if source is not None and source.content in ("matrix-market", "npz"):
        counts = _from_matrix(source, given, round_counts)
    else:
        table, kinds = _open_table(path, source, CountColumns(given), delimiter, header)
        hint = " (or skip such lines with skip_bad_lines=True)" if kinds[0] == "spelt" else ""
        if isinstance(table, TextTable) and table.header_doubt and not skip_bad_lines:
            raise InvalidCounts(table.header_doubt)
        bad = BadRows(skip_bad_lines and kinds[0] == "spelt", hint)
        builder = CountsBuilder(
            str(path), kinds, bad, round_counts=round_counts, time_was_asked_for=time_column is not None
        )
        for rows in table.rows(bad, progress):
            builder.add(rows)
        counts = builder.finish(table.columns.notes)
    if progress is not None and source is not None:
        progress(source.size, source.size)
    return counts if names is None else with_names(counts, names)


def _open_table(
    path: Path, source: Source | None, finder: CountColumns, delimiter: str | None, header: bool | None
) -> tuple[TextTable | ParquetTable, tuple[Kind, Kind]]:
    if source is not None and source.content == "text":
        return TextTable(source, finder, delimiter=delimiter, header=header), ("spelt", "spelt")
    table = ParquetTable([path] if source is not None else files_of(path), finder)
    return table, (table.kind("user"), table.kind("item"))


def _from_matrix(source: Source, given: Mapping[str, Column | None], round_counts: bool) -> Counts:
    named = next((role for role, one in given.items() if one is not None), None)
    if named is not None:
        raise ValueError(
            f"{source.path} holds a matrix, which has no columns to choose from; leave out {named}_column"
        )
    matrix = read_matrix(source)
    if round_counts:
        matrix = np.rint(matrix) if isinstance(matrix, np.ndarray) else matrix.rint()
    try:
        counts = Counts.from_matrix(matrix)
    except (InvalidCounts, TypeError, ValueError, MemoryError) as error:
        raise InvalidCounts(f"{source.path}: {error}") from None
    return replace(counts, notes=("a matrix without ids: users and items are numbered from 0",))


def with_names(counts: Counts, names: str | os.PathLike[str] | Mapping[Id, str]) -> Counts:
    """The same with names of items by id, or from a file with them; a note says how many were found."""
    by_id = names if isinstance(names, Mapping) else read_names(names, counts.items)
    if counts.items.are_strings:  # an id that is an integer in one file may be a string in the other
        by_id = {str(one): name for one, name in by_id.items()}
    found = int((counts.items.find_all(by_id) >= 0).sum())
    if not found:
        raise InvalidCounts(
            f"names: none of its {len(by_id):,} ids is an item of the counts, whose items are such as "
            f"{counts.items[0]!r}; ids there are such as {next(iter(by_id), None)!r}"
        )
    note = f"names for {found:,} of {len(counts.items):,} items"
    return replace(counts.with_names(by_id), notes=(*counts.notes, note))
