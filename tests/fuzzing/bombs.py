"""Small text files that unpack to a lot."""

import gzip
import io
from collections.abc import Callable

from backports import zstd

_SIZE = 40_000_000  # bytes, unpacked


def _gzip(start: bytes, again: bytes) -> bytes:
    """Packed without ever being there unpacked."""
    file, piece = io.BytesIO(), again * (2**20 // len(again))
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1) as packed:
        packed.write(start)
        for _ in range(_SIZE // len(piece)):
            packed.write(piece)
    return file.getvalue()


def _zstd(start: bytes, again: bytes) -> bytes:
    file, piece = io.BytesIO(), again * (2**20 // len(again))
    with zstd.open(file, "wb") as packed:
        packed.write(start)
        for _ in range(_SIZE // len(piece)):
            packed.write(piece)
    return file.getvalue()


BOMBS: dict[str, Callable[[], bytes]] = {
    "newlines.gz": lambda: _gzip(b"", b"\n"),
    "commas.gz": lambda: _gzip(b"", b","),
    "quotes.gz": lambda: _gzip(b"user,item,count\n", b'"'),
    "rows.gz": lambda: _gzip(b"user,item,count\n", b"a,b,1\n"),
    "broken rows.gz": lambda: _gzip(b"user,item,count\n", b"a,b,1\nx\n"),
    "quoted rows.zst": lambda: _zstd(b"user,item,count\n", b'"a""",b ,"1"\n'),
    "a line.zst": lambda: _zstd(b"user,item,count\n", b"a"),
}
