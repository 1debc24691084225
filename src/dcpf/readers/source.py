"""A file to read: what kind it is, by its content and never by its name, and its bytes, decompressed."""

import gzip
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, cast

from dcpf.counts import InvalidCounts

Content = Literal["text", "parquet", "npz", "matrix-market"]
Progress = Callable[[int, int], None]  # bytes done, and their total

PEEKED = 4096  # bytes at the start that tell what it is

_GZIP = b"\x1f\x8b"
_ZSTD = (b"\x28\xb5\x2f\xfd", *(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60)))  # or a skippable frame
_ZIP = (b"PK\3\4", b"PK\5\6")
_MATRIX_MARKET = b"%%matrixmarket"
_REFUSED = {
    b"\x93NUMPY": "an array of numpy; save it as a sparse matrix with scipy.sparse.save_npz",
    b"\x89HDF": "an HDF5 file; export it as Parquet or CSV",
    b"ARROW1": "an Arrow (Feather) file; export it as Parquet or CSV",
    b"FEA1": "a Feather file; export it as Parquet or CSV",
    b"SQLite format 3": "a SQLite database; export the table as CSV",
    b"BZh": "packed by bzip2; unpack it first",
    b"\xfd7zXZ": "packed by xz; unpack it first",
    b"\xff\xfe": "text in UTF-16; convert it to UTF-8 first (iconv -f utf-16 -t utf-8)",
    b"\xfe\xff": "text in UTF-16; convert it to UTF-8 first (iconv -f utf-16 -t utf-8)",
    b"\xd0\xcf\x11\xe0": "an Excel workbook; export the sheet as CSV",
}


class Source:
    """A file: its content, its size, and its bytes, decompressed if they are packed by gzip or zstd."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = path.stat().st_size
        if not path.is_file():
            raise InvalidCounts(
                f"{path} is not a regular file (a pipe?), which is needed to read it twice; save it first"
            )
        with path.open("rb") as file:
            start = file.read(PEEKED)
        if not start:
            raise InvalidCounts(f"{path}: the file is empty; wanted a row for each user and item")
        self.packing: Literal["", "gzip", "zstd"] = (
            "gzip" if start.startswith(_GZIP) else "zstd" if start.startswith(_ZSTD) else ""
        )
        if self.packing:
            with self.open() as (stream, _):
                start = stream.read(PEEKED)
            if not start:
                raise InvalidCounts(f"{path}: the file is empty once unpacked; wanted a row for each user and item")
        self.content = self._recognise(start)

    @contextmanager
    def open(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """The unpacked bytes, and the file itself, whose position tells how much of it was read."""
        with self.path.open("rb") as file, self._errors():
            if self.packing == "gzip":
                with gzip.open(file, "rb") as stream:
                    yield cast(IO[bytes], stream), file
            elif self.packing == "zstd":
                with _zstd().open(file, "rb") as stream:
                    yield stream, file
            else:
                yield file, file

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Report damaged compression in the same way for gzip and zstd."""
        try:
            yield
        except EOFError:
            raise InvalidCounts(
                f"{self.path}: the file ends too early ({self.packing} data are cut off); copy or download it again"
            ) from None
        except (gzip.BadGzipFile, zlib.error, _zstd().ZstdError) as error:
            raise InvalidCounts(
                f"{self.path}: broken {self.packing} data ({error}); copy or download it again"
            ) from None

    def _recognise(self, start: bytes) -> Content:
        if start.startswith(b"PAR1"):
            return self._only_unpacked("parquet")
        if start.startswith(_ZIP):
            return self._only_unpacked("npz")
        if start[: len(_MATRIX_MARKET)].lower() == _MATRIX_MARKET:
            return "matrix-market"
        if start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
            raise InvalidCounts(
                f"{self.path} is a pickle, which may run any program when loaded, and is never read; "
                "save the table as Parquet or CSV"
            )
        if re.match(rb'\s*[\[{]\s*[\[{"]', start):
            raise InvalidCounts(f"{self.path} is JSON; export it as Parquet or CSV")
        what = next((what for magic, what in _REFUSED.items() if start.startswith(magic)), None)
        if what is None and start.startswith((_GZIP, *_ZSTD)):
            what = "packed twice; unpack it first"
        if what is None and b"\0" in start:
            what = "a binary file of an unknown kind; wanted CSV, TSV, Parquet, MatrixMarket or npz"
        if what is not None:
            raise InvalidCounts(f"{self.path} is {what}")
        return "text"

    def _only_unpacked(self, content: Content) -> Content:
        if self.packing:
            raise InvalidCounts(f"{self.path} is a {content} file packed by {self.packing}; unpack it first")
        return content


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
