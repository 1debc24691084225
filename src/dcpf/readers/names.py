"""A second file with the names of the items, by id."""

import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from dcpf.counts import Id, Ids, InvalidCounts
from dcpf.counts.codes import as_integers
from dcpf.counts.columns import Columns, candidates, normalized
from dcpf.counts.rows import BadRows
from dcpf.readers.parquet import ParquetTable, files_of
from dcpf.readers.source import Source
from dcpf.readers.text import TextTable


def read_names(path: str | os.PathLike[str], items: Ids | None = None) -> dict[Id, str]:
    """Names by id, from a table with a column of ids and a column of names: CSV, TSV or Parquet.

    If several columns could hold the ids, the one with most of `items`, in their type, is taken. If an id occurs more
    than once, its first name is kept.
    """
    path = Path(path)
    source = None if path.is_dir() else Source(path)
    if source is not None and source.content not in ("text", "parquet"):
        raise InvalidCounts(f"{path} holds a matrix; names come from a table with columns of ids and names")
    first = _NameColumns()
    found = [_read(path, source, first)]
    found += [_read(path, source, _NameColumns(j)) for j in range(1, first.candidates)]
    if items is None or len(found) == 1:
        return found[0]
    return max(found, key=lambda names: _fitness(names, items))


def _fitness(names: dict[Id, str], items: Ids) -> tuple[bool, int]:
    """How well a column of ids fits the items: whether it has their type, and how many ids are items."""
    same_type = all(isinstance(one, str) == items.are_strings for one in names)
    return same_type, int((items.find_all(names) >= 0).sum())


def _read(path: Path, source: Source | None, finder: "_NameColumns") -> dict[Id, str]:
    table: TextTable | ParquetTable
    if source is not None and source.content == "text":
        table = TextTable(source, finder)
    else:
        table = ParquetTable([path] if source else files_of(path), finder)
    frames = [rows.frame for rows in table.rows(BadRows(), None)]
    if not frames:
        raise InvalidCounts(f"{path}: no names in it")
    return _as_dict(pl.concat(frames), spelt=isinstance(table, TextTable))


def _as_dict(frame: pl.DataFrame, *, spelt: bool) -> dict[Id, str]:
    frame = frame.drop_nulls().with_columns(pl.col("name").cast(pl.String))
    ids = frame["item"]
    if ids.dtype == pl.String and spelt:
        integers = as_integers(ids)
        ids = ids if integers is None else integers
    names: dict[Id, str] = {}
    for one, name in zip(ids.to_list(), frame["name"].to_list(), strict=True):
        names.setdefault(one, name)
    return names


class _NameColumns:
    """A column of ids, the one of this number among the candidates, and a column of names."""

    def __init__(self, which: int = 0) -> None:
        self._which = which
        self.candidates = 1

    def is_header(self, first: Sequence[str], later: Sequence[Sequence[str]]) -> bool:
        """A header names both columns, or stands above a column of integers without being one."""
        if _ids(first) and _names(first):
            return True
        numbers = [len(row) > 0 and row[0].isdecimal() for row in later]
        return bool(first) and bool(numbers) and all(numbers) and not first[0].isdecimal()

    def by_name(self, names: Sequence[str], where: str) -> Columns:
        """The columns of a table with names."""
        ids, called = _ids(names), _names(names)
        if len(names) == 2 and len(ids) + len(called) == 1:
            ids, called = ids or [1 - called[0]], called or [1 - ids[0]]
        for what, found in (("id", ids[:1]), ("name", called)):
            if len(found) != 1:
                several = ", ".join(names[j] for j in found) or "none"
                raise InvalidCounts(
                    f"{where}: wanted one column of item ids and one of their names, found {several} for the {what} "
                    f"among the columns {', '.join(names)}; call them id and name"
                )
        self.candidates = len(ids)
        return Columns({"item": ids[self._which], "name": called[0]})

    def by_position(self, width: int, where: str) -> Columns:
        """The columns of a table without."""
        if width != 2:
            raise InvalidCounts(
                f"{where}: {width} columns and no header that is recognised; call two of them id and name"
            )
        return Columns({"item": 0, "name": 1})


def _ids(names: Sequence[str]) -> list[int]:
    own = [
        j for j, name in enumerate(names) if normalized(name) in ("id", "itemid", "code", "itemcode", "key", "item")
    ]
    return own or candidates(names, "item")


def _names(names: Sequence[str]) -> list[int]:
    found = [j for j, name in enumerate(names) if normalized(name) in ("name", "title", "label", "itemname")]
    return found or [j for j, name in enumerate(names) if normalized(name).endswith(("name", "title", "label"))]
