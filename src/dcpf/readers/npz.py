"""Sparse matrices that scipy.sparse.save_npz wrote. Nothing is ever unpickled."""

import tokenize
import warnings
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import InvalidCounts
from dcpf.readers.content import Source

_MOST_UNPACKED = 50  # bytes in a packed one, of a matrix that is not nearly all stored zeros ...
_ROOM_OF_ANY = 10**8  # ... and that is larger than this

_PARTS = {  # of each layout, besides format and shape
    **dict.fromkeys(("csr", "csc", "bsr"), ("data", "indices", "indptr")),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
}
_SHOWN = 100  # characters of another library's words

Arrays = dict[str, NDArray[Any]]


def read_npz(source: Source) -> Any:
    """The sparse matrix of the file."""
    path = source.path
    try:
        with zipfile.ZipFile(path) as archive:
            _check_members(archive, source)
            arrays = {
                name: _array(archive, name) for name in ("format", "shape") if f"{name}.npy" in archive.namelist()
            }
            layout = _layout(arrays)
            if layout is None:
                raise InvalidCounts(f"{path}: no sparse matrix in it; write one with scipy.sparse.save_npz")
            shape = tuple(int(size) for size in arrays["shape"])
            source.check_shape(shape)
            return _matrix(layout, shape, {name: _array(archive, name) for name in _PARTS[layout]})
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError) as error:
        raise InvalidCounts(f"{path}: broken npz file ({_short(error)}); copy or download it again") from None
    except (ValueError, TypeError, IndexError, OverflowError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, InvalidCounts):
            raise
        raise InvalidCounts(
            f"{path}: not a sparse matrix of counts ({_short(error)}); write it with scipy.sparse.save_npz"
        ) from None


def _check_members(archive: zipfile.ZipFile, source: Source) -> None:
    """Refuse what is no matrix, and what claims to be larger than it can be, before room is made for it."""
    if any(name.startswith(("xl/", "[Content_Types]")) for name in archive.namelist()):
        raise InvalidCounts(f"{source.path} is an Excel workbook; export the sheet as CSV")
    for member in archive.infolist():
        if not member.filename.endswith(".npy"):
            raise InvalidCounts(
                f"{source.path} is a zip file with {member.filename[:_SHOWN]!r} in it, no matrix of save_npz; "
                "unpack it first"
            )
        promised = _promised_bytes(archive, member)
        if promised > member.file_size:
            raise InvalidCounts(
                f"{source.path}: {member.filename} promises {promised:,} bytes and has {member.file_size:,}; "
                "copy or download it again"
            )
    unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > max(_ROOM_OF_ANY, _MOST_UNPACKED * source.size):
        raise InvalidCounts(
            f"{source.path}: {unpacked:,} bytes in a file of {source.size:,}; copy or download it again, or remove "
            "stored zeros (eliminate_zeros) before it is saved"
        )


def _promised_bytes(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    with archive.open(member) as file, warnings.catch_warnings(action="ignore"):  # a header that Python 2 wrote
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        try:
            shape, _, dtype = read(file)
        except (tokenize.TokenError, SyntaxError, RecursionError, MemoryError) as error:  # its parser is Python's own
            raise ValueError(f"the header of {member.filename} cannot be read") from error
    if dtype.itemsize < 0:  # which numpy 1.26 reads
        raise ValueError(f"the values of {member.filename} have the type {dtype.str}")
    if dtype.hasobject:
        raise InvalidCounts(
            f"{archive.filename}: Python objects in it (a pickle), which are never read; write it with save_npz"
        )
    return int(np.prod([int(size) for size in shape], dtype=object)) * int(dtype.itemsize)


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with archive.open(f"{name}.npy") as file, warnings.catch_warnings(action="ignore"):
        return np.asarray(npy.read_array(file, allow_pickle=False))


def _layout(arrays: Arrays) -> str | None:
    """How the matrix is laid out; None if there is none."""
    if set(arrays) != {"format", "shape"} or arrays["format"].dtype.kind not in "SU" or arrays["format"].ndim:
        return None
    word = arrays["format"].item()
    word = word.decode("latin-1") if isinstance(word, bytes) else word
    return word if word in _PARTS and arrays["shape"].dtype.kind in "iu" and arrays["shape"].ndim == 1 else None


def _matrix(layout: str, shape: tuple[int, ...], parts: Arrays) -> Any:
    values, *places = parts.values()
    if values.dtype.kind not in "biuf":
        raise TypeError(f"its values have the type {values.dtype}")
    if layout == "bsr" and 0 in values.shape[1:]:
        raise ValueError(f"it has blocks of the shape {values.shape[1:]}")
    values = values.astype(values.dtype.newbyteorder("=") if values.dtype != np.float16 else np.float32)
    for name, place in zip(list(parts)[1:], places, strict=True):
        if place.dtype.kind not in "iu" or place.ndim != 1:
            raise TypeError(f"{name} has the type {place.dtype} and {place.ndim} axes")
    places = [place.astype(place.dtype.newbyteorder("=")) for place in places]
    make: Any = getattr(sparse, f"{layout}_array")
    return make((values, tuple(places)) if layout == "coo" else (values, *places), shape=shape)


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:_SHOWN]
