"""Whether the sizes that a Parquet file claims can be: checked before polars makes room for them.

polars takes them at their word, and memory that cannot be had ends the process. The names of fields are those of
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from collections.abc import Collection
from pathlib import Path
from typing import IO, Any

from dcpf.readers.thrift import Reader

_MAGIC = b"PAR1"
_ROWS_OF_ANY, _ROWS_PER_BYTE = 10**7, 100  # of a table that is taken at its word
_PAGE_OF_ANY, _MOST_UNPACKED = 2**27, 1000  # bytes of a page, and in a packed one if it is larger
_LARGEST_FOOTER, _LARGEST_PAGE_HEADER = 10**9, 2**20

# fields by number
_ROW_GROUPS, _COLUMNS, _NUM_ROWS, _META_DATA = 4, 1, 3, 3
_PATH, _COMPRESSED, _DATA_PAGE_OFFSET, _DICTIONARY_PAGE_OFFSET = 3, 7, 9, 11
_PAGE_TYPE, _PAGE_UNPACKED, _PAGE_PACKED, _NUM_VALUES = 1, 2, 3, 1
_OF_DICTIONARY = 2
_DETAILS = {0: 5, _OF_DICTIONARY: 7, 3: 8}  # the field with more of a page of this type


def check_sizes(path: Path, columns: Collection[str]) -> None:
    """Refuse, with a ValueError, sizes of these columns, or of the whole, that cannot be."""
    size = path.stat().st_size
    with path.open("rb") as file:
        try:
            for group in _footer(file, size).get(_ROW_GROUPS, []):
                _check_group(file, size, group, columns)
        except (IndexError, KeyError, TypeError, AttributeError):  # fields that are missing, or of another kind
            raise ValueError("its description of itself is broken") from None


def _footer(file: IO[bytes], size: int) -> dict[int, Any]:
    file.seek(max(size - 8, 0))
    end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != _MAGIC or length > min(size - 8, _LARGEST_FOOTER):
        raise ValueError("its end is missing")
    file.seek(size - 8 - length)
    footer = Reader(file.read(length)).struct()
    rows = sum(group[_NUM_ROWS] for group in footer.get(_ROW_GROUPS, []))
    _check(rows <= _ROWS_OF_ANY + _ROWS_PER_BYTE * size, f"it claims {rows:,} rows in {size:,} bytes")
    return footer


def _check_group(file: IO[bytes], size: int, group: dict[int, Any], columns: Collection[str]) -> None:
    rows = group[_NUM_ROWS]
    _check(rows >= 0, f"it claims {rows:,} rows")
    for column in group[_COLUMNS]:
        chunk = column[_META_DATA]
        if len(chunk[_PATH]) == 1 and chunk[_PATH][0].decode(errors="replace") in columns:
            begin = chunk[_DATA_PAGE_OFFSET]
            if 0 < chunk.get(_DICTIONARY_PAGE_OFFSET, 0) < begin:
                begin = chunk[_DICTIONARY_PAGE_OFFSET]
            end = begin + chunk[_COMPRESSED]
            _check(0 <= begin <= end <= size, f"a column claims the bytes {begin:,} to {end:,} of {size:,}")
            _check_pages(file, begin, end, rows)


def _check_pages(file: IO[bytes], begin: int, end: int, rows: int) -> None:
    """The pages of a column chunk, each behind its header."""
    found = 0
    while found < rows:
        header, length = _page_header(file, begin, end)
        packed, unpacked = header[_PAGE_PACKED], header[_PAGE_UNPACKED]
        begin += length + packed
        _check(packed >= 0 and begin <= end, f"a page claims {packed:,} bytes")
        _check(
            0 <= unpacked <= max(_PAGE_OF_ANY, _MOST_UNPACKED * packed), f"a page claims {unpacked:,} bytes unpacked"
        )
        values = header[_DETAILS[header[_PAGE_TYPE]]][_NUM_VALUES]
        _check(0 <= values <= rows, f"a page claims {values:,} values of {rows:,}")
        found += values if header[_PAGE_TYPE] != _OF_DICTIONARY else 0
    _check(found == rows, f"a column claims {found:,} values of {rows:,}")


def _page_header(file: IO[bytes], begin: int, end: int) -> tuple[dict[int, Any], int]:
    """The fields, and how many bytes they take: some tens, or many if there are statistics of long strings."""
    room = 2**10
    while True:
        file.seek(begin)
        reader = Reader(file.read(min(room, end - begin)))
        try:
            return reader.struct(), reader.place
        except IndexError:
            if room >= min(_LARGEST_PAGE_HEADER, end - begin):
                raise
        room *= 8


def _check(holds: bool, wrong: str) -> None:
    if not holds:
        raise ValueError(wrong)
