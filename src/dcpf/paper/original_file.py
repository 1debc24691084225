"""A published file: opened as it was downloaded, and its lines parsed and checked."""

import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

import polars as pl

from dcpf.counts import Counts, InvalidCounts
from dcpf.counts.rows import RowRef, Rows

Progress = Callable[[int, int], None]

BLOCK = 2**24  # bytes parsed at a time

_SHOWN = 120  # characters of a bad line in an error
_WEB_PAGE = (b"<!doctype", b"<html", b"<!--", b"<?xml")
_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, tarfile.TarError)


@dataclass(frozen=True)
class Original:
    """A file as it is published."""

    file: str  # its name
    page: str  # where to download it
    lines: int
    line: str  # what a line holds, for errors
    load: Callable[[Path, Progress | None], Counts]  # the whole file

    @property
    def source(self) -> str:
        """Where to get the file."""
        return f"{self.file} from {self.page}"

    @property
    def expected(self) -> str:
        """The end of an error about a line."""
        return f"; wanted {self.line}, as in {self.source}"

    def note(self, lines: int) -> str:
        """How much of the original was there."""
        return f"all {lines:,} lines" if lines == self.lines else f"{lines:,} lines; the original has {self.lines:,}"

    def check_end(self, path: Path, lines: int, last: bytes) -> None:
        """Refuse a file that was cut off within a line."""
        if not last.endswith(b"\n") and lines != self.lines:
            raise InvalidCounts(
                f"{path}:{lines}: the file ends within a line, and {self.lines:,} lines are expected; "
                f"copy it again, or download {self.source}"
            )


@contextmanager
def opened(
    path: Path, original: Original, progress: Progress | None
) -> Iterator[tuple[IO[bytes], Callable[[], None]]]:
    """The unpacked bytes of the original file at this path, and a function that reports how far they were read."""
    if path.is_dir():
        raise InvalidCounts(f"{path} is a folder; give the path of {original.file} in it")
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file; download {original.source}")
    size = path.stat().st_size
    with ExitStack() as stack:
        file = stack.enter_context(path.open("rb"))
        try:
            stream = stack.enter_context(_unpacked(file, path, original))
            start = stream.read(4096)
            if kind := _other_kind(start):
                raise InvalidCounts(f"{path} is {kind}, not the data; download {original.source}")
            stream.seek(0)
            yield stream, lambda: progress(min(file.tell(), size), size) if progress is not None else None
        except _DAMAGED as error:
            raise InvalidCounts(
                f"{path} is damaged or cut off ({error}); copy it again, or download {original.source}"
            ) from None


def _other_kind(start: bytes) -> str:
    """The kind of a file that begins like this, if it cannot be the data."""
    if not start:
        return "empty"
    if start.lstrip().lower().startswith(_WEB_PAGE):
        return "a web page"
    return "a binary file" if b"\0" in start else ""


def _unpacked(file: IO[bytes], path: Path, original: Original) -> IO[bytes]:
    """The original itself: the file, unpacked, or the member of an archive that has its name."""
    start = file.read(2)
    file.seek(0)
    is_tar = tarfile.is_tarfile(file)
    file.seek(0)
    names = []
    if start == b"PK":
        archive = zipfile.ZipFile(file)
        for name in archive.namelist():
            if PurePosixPath(name).name == original.file:
                return archive.open(name)
            names.append(name)
    elif is_tar:
        tar = tarfile.open(fileobj=file)  # noqa: SIM115
        for member in tar:
            if PurePosixPath(member.name).name == original.file:
                return cast(IO[bytes], tar.extractfile(member))
            names.append(member.name)
    else:
        return cast(IO[bytes], gzip.open(file)) if start == b"\x1f\x8b" else file
    listed = ", ".join(names[:5])
    raise InvalidCounts(f"{path}: no {original.file} in this archive, only {listed}; download {original.source}")


class MatchedLines:
    """Parses the lines of a file by a regular expression into tables: its named groups, and the number `line`."""

    def __init__(self, path: Path, original: Original, pattern: str, skip_up_to: int = 0) -> None:
        self._path = path
        self._original = original
        self._pattern = pattern
        self._skip_up_to = skip_up_to
        self._first_bad = 0
        self.bad = 0
        self.number = 0  # of lines read

    def tables(self, progress: Progress | None) -> Iterator[pl.DataFrame]:
        """Table after table. The first line must match, and no more than `skip_up_to` others may be bad."""
        with opened(self._path, self._original, progress) as (stream, report):
            rest = last = b""
            while block := stream.read(BLOCK):
                last = block
                whole, end, rest = (rest + block).rpartition(b"\n")
                if end:
                    yield self._matched(whole + end)
                    report()
            if rest:
                yield self._matched(rest)
                report()
            self._original.check_end(self._path, self.number, last)

    def notes(self) -> list[str]:
        """How many lines were there, and how many of them were skipped."""
        notes = [self._original.note(self.number)]
        if self.bad:
            lines = f"{self.bad:,} bad line{'s' if self.bad > 1 else ''}"
            notes.append(f"{lines} skipped, the first is {self._path}:{self._first_bad}")
        return notes

    def rows(self, table: pl.DataFrame) -> Rows:
        """A table, with the place of each row for errors."""
        return Rows(table, lambda row: RowRef(table["line"][row], f"{self._path}:{table['line'][row]}"))

    def _matched(self, block: bytes) -> pl.DataFrame:
        lines = _lines(block)
        table = lines.str.extract_groups(self._pattern).struct.unnest()
        good = table.to_series(0).is_not_null()
        if not _is_utf8(block):
            good &= ~lines.str.contains("\ufffd", literal=True).fill_null(False)
        table = table.with_row_index("line", self.number + 1)
        self.number += table.height
        if good.all():
            return table
        first = cast(int, (~good).arg_max())
        self.bad += int((~good).sum())
        self._first_bad = self._first_bad or table["line"][first]
        if table["line"][first] == 1 or self.bad > self._skip_up_to:
            place, shown = f"{self._path}:{table['line'][first]}", (lines[first] or "")[:_SHOWN]
            number = f" ({self.bad:,} bad lines)" if self.bad > 1 else ""
            raise InvalidCounts(f"{place}: the line is {shown!r}{self._original.expected}{number}")
        return table.filter(good)


def _lines(block: bytes) -> pl.Series:
    """The lines of a block as strings; bytes that are not UTF-8 become U+FFFD."""
    block = block.replace(b"\x01", b" ")  # no line has the delimiter, so polars splits at line ends only
    table = pl.read_csv(
        block, has_header=False, separator="\x01", quote_char=None, schema={"": pl.String}, encoding="utf8-lossy"
    )
    return table.to_series()


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True
