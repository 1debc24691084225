"""Text with delimiters as rows, block after block, and what is wrong with lines that cannot be used.

A block is parsed by polars if its quotes, delimiters and line ends show that every line is well formed. Otherwise it
goes line by line through the csv module, which tells which line is not.
"""

import codecs
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcpf.counts import InvalidCounts
from dcpf.counts.rows import BadRows, RowRef, Rows
from dcpf.text import plural

BLOCK = 2**24  # bytes read at a time; a block of line ends alone takes some tens of times as much in memory
LONGEST_RECORD = 2**17  # bytes; a quote that is not closed must not swallow the file

_SHOWN = 120  # characters of a bad line that an error shows
_NEWLINE, _RETURN, _QUOTE = b"\n"[0], b"\r"[0], b'"'[0]


@dataclass(frozen=True)
class TextLayout:
    """How the lines of a file are to be read."""

    name: str  # of the file, for errors
    delimiter: str
    width: int  # fields of a line
    columns: dict[str, int]  # position by role, of the columns to read

    def ref(self, line: int) -> RowRef:
        """A line, for errors."""
        return RowRef(line, f"{self.name}:{line}")


class TextRows:
    """Reads a stream as rows of the wanted columns, every value a string."""

    def __init__(self, layout: TextLayout, bad: BadRows) -> None:
        self._layout = layout
        self._bad = bad

    def read(self, stream: IO[bytes], line: int) -> Iterator[Rows]:
        """The rows of the rest of the stream, which begins on this line of the file."""
        rest = b""
        while True:
            more = stream.read(BLOCK)
            block = rest + more
            taken, rows = self._take(block, line, last=not more)
            if rows is not None:
                yield rows
            if not more:
                return
            line += block.count(b"\n", 0, taken)
            rest = block[taken:]

    def _take(self, block: bytes, line: int, *, last: bool) -> tuple[int, Rows | None]:
        """How many bytes of the block whole lines take, and their rows."""
        structure = structure_of(block, self._layout.delimiter, last=last)
        if structure is not None and structure.has_width(self._layout.width):
            whole = block if structure.size == len(block) else block[: structure.size]
            rows = self._parse(whole, structure, line)
            if rows is not None:
                return len(whole), rows
        return self._take_line_by_line(block, line, last=last)

    def _parse(self, block: bytes, structure: "Structure", line: int) -> Rows | None:
        """Rows parsed by polars; None if the lines need a closer look."""
        layout = self._layout
        if b"\0" in block or block.startswith(codecs.BOM_UTF8) or not _is_utf8(block):
            return None
        frame = pl.read_csv(
            block,
            has_header=False,
            separator=layout.delimiter,
            quote_char='"' if structure.has_quotes else None,
            schema={str(j): pl.String for j in range(layout.width)},
            columns=sorted(layout.columns.values()),
        ).fill_null("")
        if frame.height != len(structure.ends):
            return None

        def ref(row: int) -> RowRef:
            begin = int(structure.ends[row - 1]) + 1 if row else 0
            return layout.ref(line + block.count(b"\n", 0, begin))

        return Rows(frame.select(pl.col(str(at)).alias(role) for role, at in layout.columns.items()), ref)

    def _take_line_by_line(self, block: bytes, line: int, *, last: bool) -> tuple[int, Rows | None]:
        layout = self._layout
        records = Records(block, layout.delimiter, last=last)
        kept: list[list[str]] = []
        lines: list[int] = []
        for record in records:
            wrong, kind = record.wrong, "broken text"
            if wrong is None and len(record.fields) != layout.width:
                fields = plural(len(record.fields), "field")
                wrong, kind = f"{fields} where {layout.width} are expected", "too few or too many fields"
                records.resume_after_first_line(record)
            if wrong is None:
                kept.append([record.fields[at] for at in layout.columns.values()])
                lines.append(line + record.line)
            else:
                why = f"{wrong}: {_shown(record.text)}"
                self._bad.add(layout.ref(line + record.line), why, kinds={kind: 1})
        if records.taken == 0 and not last and len(block) > max(BLOCK, LONGEST_RECORD):
            raise InvalidCounts(
                f"{layout.ref(line).shown}: no line end within {len(block):,} bytes; is this a table?"
            )
        if not kept:
            return records.taken, None
        frame = pl.DataFrame(kept, schema=dict.fromkeys(layout.columns, pl.String), orient="row")
        return records.taken, Rows(frame, lambda row: layout.ref(lines[row]))


def _is_utf8(block: bytes) -> bool:
    if block.isascii():
        return True
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _shown(text: bytes) -> str:
    line = text.decode(errors="backslashreplace").rstrip("\r\n")
    return repr(line if len(line) <= _SHOWN else line[:_SHOWN] + "...")


@dataclass(frozen=True)
class Record:
    """One row of the text."""

    fields: list[str]
    line: int  # where it starts, from 0
    text: bytes  # of its first line
    wrong: str | None  # what is wrong with it, if anything


class Records(Iterator[Record]):
    """The records of a block. Quotes count only at the start of a field; blank lines are skipped."""

    def __init__(self, block: bytes, delimiter: str, *, last: bool) -> None:
        self._lines = io.BytesIO(block).readlines()
        if not last and self._lines and not self._lines[-1].endswith(b"\n"):
            self._lines.pop()  # it continues after the block
        self._last = last
        self._delimiter = delimiter
        self._next = 0
        self.taken = 0  # bytes of the records given so far

    def __next__(self) -> Record:
        while self._next < len(self._lines):
            first = self._next
            record = self._read(first)
            if record is None:
                break
            self.taken += sum(map(len, self._lines[first : self._next]))
            if record.fields or record.wrong is not None:
                return record
        raise StopIteration

    def resume_after_first_line(self, record: Record) -> None:
        """Read on from the second line of this record, which must be the last given."""
        self.taken -= sum(map(len, self._lines[record.line + 1 : self._next]))
        self._next = record.line + 1

    def _read(self, first: int) -> Record | None:
        """The record that starts on this line, or None if it continues after the block."""
        text = self._lines[first]
        reader = csv.reader(self._decoded(first), delimiter=self._delimiter, strict=True)
        fields: list[str] = []
        wrong: str | None = None
        try:
            fields = next(reader)
        except UnicodeDecodeError as error:
            wrong = f"not UTF-8 (byte 0x{error.object[error.start]:02x}), convert it (iconv -f latin1 -t utf-8, say)"
        except csv.Error as error:
            cut_off = "unexpected end" in str(error)
            if cut_off and not self._last and sum(map(len, self._lines[first:])) <= LONGEST_RECORD:
                return None
            wrong = "a quote is opened and not closed" if cut_off or "field limit" in str(error) else str(error)
        if wrong is None and b"\0" in text:
            wrong = "a byte 0 in the text"
        self._next = first + (reader.line_num if wrong is None else 1)
        return Record(fields, first, text, wrong)

    def _decoded(self, first: int) -> Iterator[str]:
        size = 0
        for j in range(first, len(self._lines)):
            size += len(self._lines[j])
            if size > LONGEST_RECORD and j > first:
                return
            yield self._lines[j].decode()


@dataclass(frozen=True)
class Structure:
    """Positions of line ends and delimiters in a block, without those within quotes."""

    ends: NDArray[np.int64]
    delimiters: NDArray[np.int64]  # up to the last line end
    size: int  # bytes up to and with the last line end
    has_quotes: bool

    def has_width(self, width: int) -> bool:
        """Whether every line has this many fields, at least 2."""
        each = width - 1
        if len(self.ends) == 0 or len(self.delimiters) != each * len(self.ends):
            return False
        by_line = self.delimiters.reshape(len(self.ends), each)
        return bool((by_line[:, -1] < self.ends).all() and (by_line[1:, 0] > self.ends[:-1]).all())


def structure_of(block: bytes, delimiter: str, *, last: bool) -> Structure | None:
    """The structure of the whole lines of a block, or None if its quotes and returns do not follow RFC 4180.

    The last block of a file ends the last line, with or without a line end.
    """
    text = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero(text == _NEWLINE)
    delimiters = np.flatnonzero(text == ord(delimiter))
    quotes = np.flatnonzero(text == _QUOTE) if b'"' in block else np.empty(0, dtype=np.int64)
    if len(quotes):
        ends, delimiters = _outside(ends, quotes), _outside(delimiters, quotes)
    if last and len(block) and (len(ends) == 0 or ends[-1] != len(block) - 1):
        ends = np.append(ends, len(block))
    if len(ends) == 0:
        return None
    size = min(int(ends[-1]) + 1, len(block))
    quotes = quotes[: np.searchsorted(quotes, size)]
    if len(quotes) % 2 or not _are_regular(text[:size], quotes, ord(delimiter)):
        return None
    if b"\r" in block and not _returns_end_lines(text[:size], quotes):
        return None
    return Structure(ends, delimiters[: np.searchsorted(delimiters, size)], size, len(quotes) > 0)


def _outside(positions: NDArray[np.int64], quotes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The positions that are not within quotes: an even number of quotes precedes them."""
    even: NDArray[np.bool_] = np.searchsorted(quotes, positions) % 2 == 0
    return positions[even]


def _are_regular(text: NDArray[np.uint8], quotes: NDArray[np.int64], delimiter: int) -> bool:
    """Whether quotes open at the start of a field and close at its end, apart from doubled quotes within."""
    opening, closing = quotes[::2], quotes[1::2]
    before = text[np.maximum(opening - 1, 0)]
    opens = (opening == 0) | np.isin(before, (delimiter, _NEWLINE))
    opens[1:] |= opening[1:] == closing[:-1] + 1
    after = text[np.minimum(closing + 1, len(text) - 1)]
    closes = (closing == len(text) - 1) | np.isin(after, (delimiter, _NEWLINE, _RETURN))
    closes[:-1] |= opening[1:] == closing[:-1] + 1
    return bool(opens.all() and closes.all())


def _returns_end_lines(text: NDArray[np.uint8], quotes: NDArray[np.int64]) -> bool:
    returns = np.flatnonzero(text == _RETURN)
    returns = _outside(returns, quotes) if len(quotes) else returns
    following = text[np.minimum(returns + 1, len(text) - 1)]
    return bool((following == _NEWLINE).all())
