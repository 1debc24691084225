"""The lines of an original file as rows, each checked to be what the data set has there."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, cast

import numpy as np
import polars as pl

from dcpf.counts import InvalidCounts
from dcpf.counts.rows import BadRows, RowRef, Rows
from dcpf.readers.paper.dataset import DataSet, Progress
from dcpf.readers.paper.opening import opened
from dcpf.readers.text_rows import TextLayout, TextRows


class FewBadRows(BadRows):
    """Passes over a few damaged lines, which an original may have. The first line has to be right, though."""

    def __init__(self, most: int, hint: str) -> None:
        super().__init__(skip=True, hint=hint)
        self._most = most

    def add(self, row: RowRef, why: str, number: int = 1, kinds: Mapping[str, int] | None = None) -> None:
        """There are so many; this is the first."""
        super().add(row, why, number)
        if row.number == 1 or self.number > self._most:
            more = f" (and {self.number - 1:,} more lines at fault)" if self.number > 1 else ""
            raise InvalidCounts(f"{row.shown}: {why}{self.hint}{more}")


class OriginalLines:
    """Reads tab-separated lines without a header. Afterwards, `number` tells how many there were."""

    def __init__(self, data: DataSet, columns: Mapping[str, int], width: int, disguise: bytes | None = None) -> None:
        self._data = data
        self._columns = dict(columns)
        self._width = width
        self._disguise = disguise
        self.number = 0

    def rows(
        self, path: Path, patterns: Mapping[str, str], bad: BadRows, progress: Progress | None
    ) -> Iterator[Rows]:
        """The rows, block after block. A value that is not of its column's pattern makes its line a bad one."""
        with opened(path, self._data) as original:
            original.disguise = self._disguise
            layout = TextLayout(original.shown, "\t", self._width, self._columns)
            passed_over = 0
            for rows in TextRows(layout, bad).read(cast(IO[bytes], original), 1):
                self.number += rows.frame.height + bad.number - passed_over
                yield _checked(rows, patterns, bad)
                passed_over = bad.number
                original.tell(progress)
            self.number += bad.number - passed_over
            self._data.check_end(original.shown, self.number, ended=original.ended)


def kept(rows: Rows, good: pl.Series) -> Rows:
    """Only the rows where this is true."""
    if good.all():
        return rows
    places = np.flatnonzero(good.to_numpy())
    return Rows(rows.frame.filter(good), lambda row: rows.ref(int(places[row])))


def _checked(rows: Rows, patterns: Mapping[str, str], bad: BadRows) -> Rows:
    fits = {column: rows.frame[column].str.contains(pattern) for column, pattern in patterns.items()}
    good = pl.Series(np.logical_and.reduce([one.to_numpy() for one in fits.values()]))
    if not good.all():
        first = int((~good).arg_max() or 0)
        column = next(column for column, fit in fits.items() if not fit[first])
        bad.add(rows.ref(first), f"the {column} is {rows.frame[column][first]!r}", int((~good).sum()))
    return kept(rows, good)
