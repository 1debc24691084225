"""Parquet: one file, or all files of a folder, in slices of rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from dcpf.counts import InvalidCounts
from dcpf.counts.codes import Kind
from dcpf.counts.columns import Columns
from dcpf.counts.rows import BadRows, RowRef, Rows
from dcpf.counts.tables import id_column, kind_of_column
from dcpf.readers.source import Progress
from dcpf.readers.text import ColumnFinder

ROWS_AT_A_TIME = 1_000_000

ENDINGS = (".parquet", ".parq", ".pq")


def files_of(folder: Path) -> list[Path]:
    """The Parquet files of a folder, by name."""
    found = sorted(
        one for one in folder.iterdir() if one.suffix.lower() in ENDINGS and one.is_file() and one.name[0] not in "._"
    )
    if not found:
        raise InvalidCounts(f"{folder}: no Parquet file in this folder (a name that ends in {' or '.join(ENDINGS)})")
    return found


class ParquetTable:
    """A table in one or more Parquet files with the same columns."""

    def __init__(self, paths: list[Path], finder: ColumnFinder) -> None:
        self._paths = paths
        names, self._types = _schema(paths[0])
        self.columns: Columns = finder.by_name(names, str(paths[0]))
        self._names = {role: names[at] for role, at in self.columns.at.items()}

    def kind(self, role: str) -> Kind:
        """Whether ids in this role are integers or strings."""
        name = self._names[role]
        return kind_of_column(self._types[name], f"{self._paths[0]}: column {name!r}")

    def rows(self, bad: BadRows, progress: Progress | None) -> Iterator[Rows]:
        """The rows; ids are Int64 or String, other columns as they are in the file."""
        sizes = [path.stat().st_size for path in self._paths]
        before = 0
        for part, path in enumerate(self._paths):
            done = sum(sizes[:part])
            height = self._height(path)
            for start in range(0, height, ROWS_AT_A_TIME):
                yield self._slice(path, start, before)
                if progress is not None:
                    read = min(start + ROWS_AT_A_TIME, height)
                    progress(done + sizes[part] * read // height, sum(sizes))
            before += height

    def _height(self, path: Path) -> int:
        names, _ = _schema(path)
        for name in self._names.values():
            if name not in names:
                raise InvalidCounts(
                    f"{path}: no column {name!r}, which {self._paths[0].name} has; found {', '.join(names)}"
                )
        with _errors(path):
            return int(_scan(path).select(pl.len()).collect().item())

    def _slice(self, path: Path, start: int, before: int) -> Rows:
        with _errors(path):
            wanted = _scan(path).select(pl.col(name).alias(role) for role, name in self._names.items())
            frame = wanted.slice(start, ROWS_AT_A_TIME).collect()
        for role in ("user", "item"):
            if role in self._names:
                where = f"{path}: column {self._names[role]!r}"
                frame = frame.with_columns(id_column(frame[role], self.kind(role), where))
        return Rows(frame, lambda row: RowRef(before + start + row, f"{path}, row {start + row}"))


def _scan(path: Path) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def _schema(path: Path) -> tuple[list[str], dict[str, pl.DataType]]:
    with _errors(path):
        schema = _scan(path).collect_schema()
    return list(schema), dict(schema)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        raise InvalidCounts(f"{path}: broken Parquet file ({why}); copy or download it again") from None
