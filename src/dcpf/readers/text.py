"""CSV, TSV and the like, plain or compressed: finds the delimiter, the header and the columns, then reads rows."""

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Protocol

from dcpf.counts import InvalidCounts
from dcpf.counts.columns import Columns, is_number, listed
from dcpf.counts.rows import BadRows, Rows
from dcpf.readers.source import Progress, Source
from dcpf.readers.text_rows import Record, Records, TextLayout, TextRows

SNIFFED = 2**18  # bytes at the start of the file from which delimiter and header are found

_RECORDS = 50  # of these bytes
_DELIMITERS = ("\t", ",", ";", "|", " ")  # in order of preference

_DECLARED = re.compile(rb'"?sep=([\x01-\x7f])"?\r?\n', re.IGNORECASE)  # the first line, as Excel writes and reads it


class ColumnFinder(Protocol):
    """Finds the columns to read, and tells whether the first row is a header."""

    def is_header(self, first: Sequence[str], later: Sequence[Sequence[str]]) -> bool:
        """Whether the first row holds names of columns."""

    def by_name(self, names: Sequence[str], where: str) -> Columns:
        """The columns of a table with names."""

    def by_position(self, width: int, where: str) -> Columns:
        """The columns of a table without."""


class TextTable:
    """A table in a text file."""

    def __init__(
        self, source: Source, finder: ColumnFinder, *, delimiter: str | None = None, header: bool | None = None
    ) -> None:
        self._source = source
        with source.open() as (stream, _):
            start = stream.read(SNIFFED)
        self._mark = len(codecs.BOM_UTF8) if start.startswith(codecs.BOM_UTF8) else 0
        declared = _DECLARED.match(start, self._mark)
        if declared is not None:
            delimiter = delimiter or declared[1].decode()
            self._mark = declared.end()
        start, last = start[self._mark :], len(start) < SNIFFED
        name = str(source.path)
        records_by = {
            one: _records(start, one, last) for one in ([_checked(delimiter)] if delimiter else _DELIMITERS)
        }
        self._delimiter = max(records_by, key=lambda one: _fitness(records_by[one], finder))
        records = records_by[self._delimiter]
        rows = [record.fields for record in records if record.wrong is None]
        if not rows:
            wrong = next((f"{name}:{one.line + 1}: {one.wrong}" for one in records), f"{name}: only blank lines")
            raise InvalidCounts(f"{wrong}; wanted a row for each user and item")
        asked = header is not None
        if header is None:
            header = records[0].wrong is None and finder.is_header(rows[0], rows[1:])
        if header:
            self._width = len(rows[0])
            self.columns = finder.by_name([one.strip() for one in rows[0]], name)
        else:
            self._width = Counter(map(len, rows)).most_common(1)[0][0]
            self.columns = finder.by_position(self._width, name)
        self.header_doubt = "" if header or asked else _doubt(rows, self.columns.at.get("count"), name)
        self._skipped = self._mark + (_first_record(start, self._delimiter, last) if header else 0)
        self._first_line = 1 + (declared is not None) + start.count(b"\n", 0, self._skipped - self._mark)

    def rows(self, bad: BadRows, progress: Progress | None) -> Iterator[Rows]:
        """The rows of the file, block after block, every value a string."""
        layout = TextLayout(str(self._source.path), self._delimiter, self._width, self.columns.at)
        with self._source.open() as (stream, file):
            stream.read(self._skipped)
            for rows in TextRows(layout, bad).read(stream, self._first_line):
                yield rows
                if progress is not None:
                    progress(file.tell(), self._source.size)


def _doubt(rows: Sequence[Sequence[str]], count: int | None, name: str) -> str:
    """An error for rows without a header if no count is a number: the first row is a header, in all likelihood."""
    first = rows[0]
    if count is None or any(is_number(row[count]) for row in rows if len(row) > count):
        return ""
    if len(first) <= count or not first[count].strip() or any(letter.isdigit() for letter in first[count]):
        return ""
    numbers = [one for j, one in enumerate(first) if all(len(row) > j and is_number(row[j]) for row in rows[1:])]
    perhaps = f" (perhaps {listed(numbers)})" if len(numbers) == 1 else ""
    return (
        f"{name}: no header recognised; the first line is {listed(first)}. If it names the columns, choose them with "
        f"user_column=, item_column= and count_column={perhaps}. If not, column {count} should hold counts, but it "
        "has no number"
    )


def _checked(delimiter: str) -> str:
    if not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise ValueError(f"delimiter must be one character such as ',' or '\\t', found {delimiter!r}")
    return delimiter


def _records(start: bytes, delimiter: str, last: bool) -> list[Record]:
    records = Records(start, delimiter, last=last)
    return [record for record, _ in zip(records, range(_RECORDS), strict=False)]


def _fitness(records: list[Record], finder: ColumnFinder) -> tuple[bool, float, int]:
    """How well a delimiter fits: a recognised header, rows of one width, many columns."""
    widths = Counter(len(record.fields) for record in records if record.wrong is None)
    width, rows = widths.most_common(1)[0] if widths else (0, 0)
    if width < 2:
        return False, 0.0, width
    fields = [record.fields for record in records if record.wrong is None]
    return finder.is_header(fields[0], []), rows / len(records), width


def _first_record(start: bytes, delimiter: str, last: bool) -> int:
    records = Records(start, delimiter, last=last)
    next(records)
    return records.taken
