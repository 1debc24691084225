"""CSV, TSV and the like, plain or packed: delimiter and header found, then rows, block after block."""

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from dcpf.counts import InvalidCounts
from dcpf.counts.collect import BadRows, Rows
from dcpf.counts.columns import Columns, listed
from dcpf.readers.content import Source
from dcpf.readers.count_columns import is_number
from dcpf.readers.lines import Layout, Lines
from dcpf.readers.records import Record, Records

SNIFFED = 2**18  # bytes at the start of the file from which delimiter and header are found

_LOOKED_AT = 50  # records of them
_DELIMITERS = ("\t", ",", ";", "|", " ")  # of two that do equally well, the first is taken

_TOLD = re.compile(rb'"?sep=([\x01-\x7f])"?\r?\n', re.IGNORECASE)  # the first line, as Excel writes and reads it

Progress = Callable[[int, int], None]


class Choice(Protocol):
    """How the columns are chosen that a table is read for."""

    def is_header(self, first: Sequence[str], later: Sequence[Sequence[str]]) -> bool:
        """Whether the first row holds names of columns."""

    def by_name(self, names: Sequence[str], where: str) -> Columns:
        """The columns of a table with names."""

    def by_position(self, width: int, where: str) -> Columns:
        """The columns of a table without."""


class TextTable:
    """A table in a text file."""

    def __init__(
        self, source: Source, choice: Choice, *, delimiter: str | None = None, header: bool | None = None
    ) -> None:
        self._source = source
        with source.open() as (stream, _):
            start = stream.read(SNIFFED)
        self._mark = len(codecs.BOM_UTF8) if start.startswith(codecs.BOM_UTF8) else 0
        told = _TOLD.match(start, self._mark)
        if told is not None:
            delimiter = delimiter or told[1].decode()
            self._mark = told.end()
        start, last = start[self._mark :], len(start) < SNIFFED
        name = str(source.path)
        found = {one: _records(start, one, last) for one in ([_checked(delimiter)] if delimiter else _DELIMITERS)}
        self._delimiter = max(found, key=lambda one: _fitness(found[one], choice))
        records = found[self._delimiter]
        rows = [record.fields for record in records if record.wrong is None]
        if not rows:
            wrong = next((f"{name}:{one.line + 1}: {one.wrong}" for one in records), f"{name}: only blank lines")
            raise InvalidCounts(f"{wrong}; wanted a row for each user and item")
        asked = header is not None
        if header is None:
            header = records[0].wrong is None and choice.is_header(rows[0], rows[1:])
        if header:
            self._width = len(rows[0])
            self.columns = choice.by_name([one.strip() for one in rows[0]], name)
        else:
            self._width = Counter(map(len, rows)).most_common(1)[0][0]
            self.columns = choice.by_position(self._width, name)
        self.doubt = "" if header or asked else _doubt(rows, self.columns.at.get("count"), name)
        self._skipped = self._mark + (_first_record(start, self._delimiter, last) if header else 0)
        self._first_line = 1 + (told is not None) + start.count(b"\n", 0, self._skipped - self._mark)

    def rows(self, bad: BadRows, progress: Progress | None) -> Iterator[Rows]:
        """The rows of the file, batch by batch, each cell as text."""
        layout = Layout(str(self._source.path), self._delimiter, self._width, self.columns.at)
        with self._source.open() as (stream, file):
            stream.read(self._skipped)
            for rows in Lines(layout, bad).rows(stream, self._first_line):
                yield rows
                if progress is not None:
                    progress(file.tell(), self._source.size)


def _doubt(rows: Sequence[Sequence[str]], count: int | None, name: str) -> str:
    """What to say of rows without a header whose counts are no numbers: the first is a header, in all likelihood."""
    first = rows[0]
    if count is None or any(is_number(row[count]) for row in rows if len(row) > count):
        return ""
    if len(first) <= count or not first[count].strip() or any(letter.isdigit() for letter in first[count]):
        return ""
    numbers = [one for j, one in enumerate(first) if all(len(row) > j and is_number(row[j]) for row in rows[1:])]
    known = numbers[0] if len(numbers) == 1 else "NAME"
    return (
        f"{name}: no header recognised; the first line is {listed(first)}. If these are the names "
        f"of columns, say which is which: --user-column NAME --item-column NAME --count-column {listed([known])}. If "
        f"not, column {count} should hold counts, and holds no number"
    )


def _checked(delimiter: str) -> str:
    if not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise ValueError(f"delimiter must be one character such as ',' or '\\t', found {delimiter!r}")
    return delimiter


def _records(start: bytes, delimiter: str, last: bool) -> list[Record]:
    records = Records(start, delimiter, last=last)
    return [record for record, _ in zip(records, range(_LOOKED_AT), strict=False)]


def _fitness(records: list[Record], choice: Choice) -> tuple[bool, float, int]:
    """How well a delimiter does: a header that is recognised, rows of one width, many columns."""
    widths = Counter(len(record.fields) for record in records if record.wrong is None)
    width, rows = widths.most_common(1)[0] if widths else (0, 0)
    if width < 2:
        return False, 0.0, width
    fields = [record.fields for record in records if record.wrong is None]
    return choice.is_header(fields[0], []), rows / len(records), width


def _first_record(start: bytes, delimiter: str, last: bool) -> int:
    records = Records(start, delimiter, last=last)
    next(records)
    return records.taken
