"""Sparse matrices that scipy.sparse.save_npz wrote. Nothing is ever unpickled."""

import zipfile
import zlib
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from dcpf.counts import InvalidCounts
from dcpf.readers.content import Source


def read_npz(source: Source) -> Any:
    """The sparse matrix of the file."""
    path = source.path
    try:
        _check_members(source)
        with np.load(path, allow_pickle=False) as arrays:
            if "format" not in arrays or "shape" not in arrays:
                raise InvalidCounts(f"{path}: no sparse matrix in it; write one with scipy.sparse.save_npz")
            source.check_shape(tuple(int(size) for size in arrays["shape"]))
        return sparse.load_npz(path)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError) as error:
        raise InvalidCounts(f"{path}: broken npz file ({error}); copy or download it again") from None
    except (ValueError, TypeError, NotImplementedError, MemoryError) as error:
        if isinstance(error, InvalidCounts):
            raise
        raise InvalidCounts(
            f"{path}: not a sparse matrix of counts ({error}); write it with scipy.sparse.save_npz"
        ) from None


def _check_members(source: Source) -> None:
    """Refuse an array whose header promises more than is there, before room is made for it."""
    with zipfile.ZipFile(source.path) as archive:
        for member in archive.infolist():
            if member.filename.startswith(("xl/", "[Content_Types]")):
                raise InvalidCounts(f"{source.path} is an Excel workbook; export the sheet as CSV")
            if not member.filename.endswith(".npy"):
                raise InvalidCounts(
                    f"{source.path} is a zip file with {member.filename!r} in it, no matrix of save_npz; "
                    "unpack it first"
                )
            with archive.open(member) as file:
                promised = _promised_bytes(file, str(source.path))
            if promised > member.file_size:
                raise InvalidCounts(
                    f"{source.path}: {member.filename} promises {promised:,} bytes and has {member.file_size:,}; "
                    "copy or download it again"
                )


def _promised_bytes(file: IO[bytes], where: str) -> int:
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise InvalidCounts(f"{where}: Python objects in it (a pickle), which are never read; write it with save_npz")
    return int(np.prod([int(size) for size in shape], dtype=object)) * int(dtype.itemsize)
