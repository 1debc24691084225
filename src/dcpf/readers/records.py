"""The records of a block of text one by one, by the csv module, each with its line and with what is wrong with it."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_RECORD = 2**17  # bytes; a quote that is not closed must not swallow the file


@dataclass(frozen=True)
class Record:
    """One row of the text as it stands there."""

    fields: list[str]
    line: int  # on which it starts, from 0
    text: bytes  # of that line
    wrong: str | None  # what is, if anything


class Records(Iterator[Record]):
    """The records of a block. A quote is one only where a field starts with it; blank lines are passed over."""

    def __init__(self, block: bytes, delimiter: str, *, last: bool) -> None:
        self._lines = io.BytesIO(block).readlines()
        if not last and self._lines and not self._lines[-1].endswith(b"\n"):
            self._lines.pop()  # it goes on after the block
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
        """Read on from the line after the one on which this record, the last given, starts."""
        self.taken -= sum(map(len, self._lines[record.line + 1 : self._next]))
        self._next = record.line + 1

    def _read(self, first: int) -> Record | None:
        """The record that starts on this line, or None if it goes on after the block."""
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
