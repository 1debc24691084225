"""Text with delimiters, block after block: the fields of its lines, and what is wrong with the lines that are wrong.

A block is parsed by polars if a look at its quotes, delimiters and line ends shows that every line is as it should
be. Otherwise it goes line by line through the csv module, which tells which line is not.
"""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import polars as pl

from dcpf.counts import InvalidCounts
from dcpf.counts.collect import BadRows, Place, Rows
from dcpf.readers.records import LONGEST_RECORD, Records
from dcpf.readers.structure import Structure, structure_of
from dcpf.text import plural

BLOCK = 2**24  # bytes read at a time: of text that is all line ends, say, each takes some tens in memory

_SHOWN = 120  # characters of a bad line that an error shows


@dataclass(frozen=True)
class Layout:
    """How the lines of a file are to be read."""

    name: str  # of the file, for errors
    delimiter: str
    width: int  # fields in each line
    columns: dict[str, int]  # those wanted, by the role they have

    def place(self, line: int) -> Place:
        """How an error names a line."""
        return Place(line, f"{self.name}:{line}")


class Lines:
    """Reads the rest of a stream as rows of the wanted columns, all of them texts."""

    def __init__(self, layout: Layout, bad: BadRows) -> None:
        self._layout = layout
        self._bad = bad

    def rows(self, stream: IO[bytes], line: int) -> Iterator[Rows]:
        """The rows of what is left in the stream, which begins on this line of the file."""
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

    def _parse(self, block: bytes, structure: Structure, line: int) -> Rows | None:
        """By polars; None if its lines need a closer look."""
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

        def place(row: int) -> Place:
            begin = int(structure.ends[row - 1]) + 1 if row else 0
            return layout.place(line + block.count(b"\n", 0, begin))

        return Rows(frame.select(pl.col(str(at)).alias(role) for role, at in layout.columns.items()), place)

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
                self._bad.found(layout.place(line + record.line), why, kinds={kind: 1})
        if records.taken == 0 and not last and len(block) > max(BLOCK, LONGEST_RECORD):
            raise InvalidCounts(
                f"{layout.place(line).shown}: no line end within {len(block):,} bytes; is this a table?"
            )
        if not kept:
            return records.taken, None
        frame = pl.DataFrame(kept, schema=dict.fromkeys(layout.columns, pl.String), orient="row")
        return records.taken, Rows(frame, lambda row: layout.place(lines[row]))


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
