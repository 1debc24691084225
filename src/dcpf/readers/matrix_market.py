"""MatrixMarket files, plain or packed: a matrix of counts without ids.

scipy's own reader is not used: a file that is not as it should be can make it end the process.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import InvalidCounts
from dcpf.readers.content import Source

BLOCK = 2**22  # bytes read at a time

_LONGEST_HEADER = 2**20  # bytes of the banner, comments and sizes
_FEWEST_BYTES = {"coordinate": 4, "array": 2}  # of an entry: "1 1" or "1", and a line end
_MOST_UNPACKED = {"coordinate": 100, "array": 1100}  # bytes in a packed one; only arrays may be nearly all zeros
_SHOWN = 80  # characters of a bad line that an error shows
_NEWLINE, _BLANK = b"\n"[0], b" "[0]

Doubles = NDArray[np.float64]
Entries = tuple[NDArray[np.int32], NDArray[np.int32], Doubles]  # rows, columns and values


@dataclass(frozen=True)
class _Header:
    """What the file says of itself before the entries."""

    layout: str  # coordinate or array
    pattern: bool  # the entries have no values: each is 1
    symmetric: bool  # only one triangle is stored
    shape: tuple[int, int]
    entries: int
    lines: int  # that it takes

    @property
    def width(self) -> int:
        """Numbers on the line of an entry."""
        return 1 if self.layout == "array" else 2 if self.pattern else 3


class _BrokenError(Exception):
    """What is wrong, and on which line of the file if it is one."""

    def __init__(self, why: str, line: int | None = None) -> None:
        self.why, self.line = why, line


def read_matrix_market(source: Source) -> sparse.coo_array:
    """The matrix in a MatrixMarket file, with its values as they are; what is broken is an InvalidCounts."""
    try:
        with source.open() as (stream, _):
            header = _read_header(stream)
            source.check_shape(header.shape)
            _check_promise(header, source)
            rows, columns, values = _read_entries(stream, header)
    except _BrokenError as error:
        where = "" if error.line is None else f":{error.line}"
        raise InvalidCounts(f"{source.path}{where}: broken MatrixMarket file ({error.why}); write it anew") from None
    if header.symmetric:
        other = rows != columns
        rows, columns = np.concatenate([rows, columns[other]]), np.concatenate([columns, rows[other]])
        values = np.concatenate([values, values[other]])
    return sparse.coo_array((values, (rows, columns)), shape=header.shape)


def _read_header(stream: IO[bytes]) -> _Header:
    banner = stream.readline(1024).decode("latin-1").lower().split()
    if len(banner) != 5 or banner[1] != "matrix" or banner[2] not in _FEWEST_BYTES:
        raise _BrokenError("the first line is not '%%MatrixMarket matrix coordinate integer general' or the like", 1)
    _, _, layout, field, symmetry = banner
    fields = ("integer", "unsigned-integer", "real", "double", *(["pattern"] if layout == "coordinate" else []))
    if field not in fields or symmetry not in ("general", "symmetric"):
        raise _BrokenError(
            f"{field[:_SHOWN]} {symmetry[:_SHOWN]} where counts are integer or real, general or symmetric", 1
        )
    lines, left, line = 1, _LONGEST_HEADER, b"%"
    while line.startswith(b"%") or (line and not line.strip()):
        line = stream.readline(left)
        lines, left = lines + 1, left - len(line)
        if left <= 0:
            raise _BrokenError(f"no sizes within {_LONGEST_HEADER:,} bytes")
    sizes = [int(one) if one.isdigit() and len(one) < 20 else -1 for one in line.split()]
    if len(sizes) != (3 if layout == "coordinate" else 2) or min(sizes) < 0:
        raise _BrokenError(f"{_shown(line)} where the sizes are expected", lines)
    rows, columns = sizes[:2]
    symmetric = symmetry == "symmetric"
    if symmetric and rows != columns:
        raise _BrokenError(f"a symmetric matrix of {rows:,} x {columns:,}", lines)
    whole = rows * (rows + 1) // 2 if symmetric else rows * columns
    return _Header(layout, field == "pattern", symmetric, (rows, columns), [*sizes, whole][2], lines)


def _check_promise(header: _Header, source: Source) -> None:
    """Refuse a header that promises more than the file can hold, before room is made for it."""
    most = source.size * (_MOST_UNPACKED[header.layout] if source.packing else 1)
    if header.entries * _FEWEST_BYTES[header.layout] > most + 2:  # the last line may lack its end
        raise InvalidCounts(
            f"{source.path}: its header promises {header.entries:,} entries, and its {source.size:,} bytes cannot "
            "hold them; copy or download it again"
        )


def _read_entries(stream: IO[bytes], header: _Header) -> Entries:
    parts: list[Entries] = [(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))]
    found = 0
    for numbers, lines in _blocks(stream, header):
        if found + len(numbers) > header.entries:
            surplus = header.entries - found
            raise _BrokenError(f"more than the {header.entries:,} entries of its header", int(lines[surplus]))
        parts.append(_entries(numbers, lines, found, header))
        found += len(numbers)
    if found < header.entries:
        raise _BrokenError(f"{found:,} entries where its header promises {header.entries:,}")
    rows, columns, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    return rows, columns, values


def _entries(numbers: Doubles, lines: NDArray[np.int64], before: int, header: _Header) -> Entries:
    """The entries that these lines of numbers mean, without zeros; so many were `before`."""
    if header.layout == "array":
        kept = np.flatnonzero(numbers[:, 0])
        rows, columns = _places_in_array(before + kept, header)
        return rows, columns, numbers[kept, 0]
    places = numbers[:, :2]
    bad = ~((places >= 1) & (places <= np.array(header.shape)) & (places == np.floor(places))).all(axis=1)
    if bad.any():
        first = int(np.argmax(bad))
        users, items = header.shape
        raise _BrokenError(
            f"row {places[first, 0]:g}, column {places[first, 1]:g} of {users} x {items}", int(lines[first])
        )
    rows, columns = (places.T - 1).astype(np.int32)
    return rows, columns, np.ones(len(rows)) if header.pattern else numbers[:, 2]


def _places_in_array(numbers: NDArray[np.int64], header: _Header) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Row and column of the values with these numbers: column by column, from the diagonal on if symmetric."""
    size = header.shape[0]
    columns = numbers // max(size, 1)
    rows = numbers - columns * size
    if header.symmetric:
        starts = np.cumsum([0, *range(size, 0, -1)])
        columns = np.searchsorted(starts, numbers, side="right") - 1
        rows = columns + numbers - starts[columns]
    return rows.astype(np.int32), columns.astype(np.int32)


def _blocks(stream: IO[bytes], header: _Header) -> Iterator[tuple[Doubles, NDArray[np.int64]]]:
    """The numbers of the lines that are not blank, and on which line of the file each of these stands."""
    rest, line = b"", header.lines + 1
    while True:
        more = stream.read(BLOCK)
        block = rest + (more or b"\n")
        whole, rest = block[: block.rfind(b"\n") + 1], block[block.rfind(b"\n") + 1 :]
        if whole:
            yield _numbers(whole, line, header.width)
            line += whole.count(b"\n")
        if not more:
            return
        if len(rest) > BLOCK:
            raise _BrokenError(f"no line end within {len(rest):,} bytes", line)


def _numbers(block: bytes, line: int, width: int) -> tuple[Doubles, NDArray[np.int64]]:
    text = np.frombuffer(block, dtype=np.uint8)
    ink = text > _BLANK
    begins = ink.copy()
    begins[1:] &= ~ink[:-1]
    ends = np.flatnonzero(text == _NEWLINE)
    words = np.diff(np.cumsum(begins)[ends], prepend=0)
    bad = np.flatnonzero((words != width) & (words != 0))
    found = None if len(bad) else _parsed(block, int(words.sum()))
    if found is not None:
        return found.reshape(-1, width), line + np.flatnonzero(words)
    texts = block.split(b"\n")
    first = int(bad[0]) if len(bad) else _first_bad(texts)
    numbers = "a number" if width == 1 else f"{width} numbers"
    raise _BrokenError(f"{_shown(texts[first])} where {numbers} should be", line + first)


def _first_bad(texts: list[bytes]) -> int:
    return next((j for j, text in enumerate(texts) if _parsed(text, len(text.split())) is None), 0)


def _parsed(text: bytes, words: int) -> Doubles | None:
    """So many numbers with blanks between them; None if it is anything else."""
    if words == 0:
        return np.empty(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # that of numpy before it became an error
            found = np.fromstring(text.decode("latin-1"), dtype=np.float64, sep=" ")
    except (ValueError, DeprecationWarning):
        return None
    return found if len(found) == words else None


def _shown(text: bytes) -> str:
    line = text.decode("latin-1").strip()
    return repr(line if len(line) <= _SHOWN else line[:_SHOWN] + "...")
