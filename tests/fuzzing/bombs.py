"""Small files that unpack to a lot."""

import gzip
import io
import zipfile
from collections.abc import Callable

import numpy as np
from backports import zstd

_SIZE = 40_000_000  # bytes, unpacked

_COORDINATE = b"%%MatrixMarket matrix coordinate integer general\n"


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


def _npz() -> bytes:
    """A sound matrix, nearly all of it zeros that are stored."""
    zeros = np.zeros(10**6, dtype=np.int64)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array, times in (
            ("format", np.array(b"coo"), 1),
            ("shape", np.array([10, 10]), 1),
            ("row", zeros, 40),
            ("col", zeros, 40),
            ("data", zeros, 40),
        ):
            with archive.open(f"{name}.npy", "w") as member:
                shape = (len(array) * times,) if array.ndim else ()
                head = {"descr": array.dtype.str, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(member, head)
                for _ in range(times):
                    member.write(array.tobytes())
    return file.getvalue()


BOMBS: dict[str, Callable[[], bytes]] = {
    "newlines.gz": lambda: _gzip(b"", b"\n"),
    "commas.gz": lambda: _gzip(b"", b","),
    "quotes.gz": lambda: _gzip(b"user,item,count\n", b'"'),
    "rows.gz": lambda: _gzip(b"user,item,count\n", b"a,b,1\n"),
    "broken rows.gz": lambda: _gzip(b"user,item,count\n", b"a,b,1\nx\n"),
    "quoted rows.zst": lambda: _zstd(b"user,item,count\n", b'"a""",b ,"1"\n'),
    "a line.zst": lambda: _zstd(b"user,item,count\n", b"a"),
    "spaces.mtx.gz": lambda: _gzip(_COORDINATE, b" "),
    "comments.mtx.gz": lambda: _gzip(_COORDINATE, b"%\n"),
    "blank lines.mtx.gz": lambda: _gzip(_COORDINATE + b"2 2 1\n", b"\n"),
    "entries.mtx.gz": lambda: _gzip(_COORDINATE + b"9 9 6000000\n", b"1 1 1\n"),
    "zeros.npz": _npz,
}
