"""Named arrays and one JSON-able dict in one .safetensors file.

The metadata of the file has one key, `dcpf`: a JSON text with the format, its version, the version of the library,
the caller's dict (`meta`), a checksum of the arrays, and a seal, which is a checksum of the header.
"""

import errno
import hashlib
import json
import mmap
import os
import re
import reprlib
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcpf import __version__
from dcpf.store.atomic import replacing

FORMAT = "dcpf"
VERSION = 1

DTYPES = {"BOOL": np.dtype(bool), "F32": np.dtype("<f4"), "F64": np.dtype("<f8")}
DTYPES |= {f"{kind.upper()}{8 * size}": np.dtype(f"<{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)}
CODES = {dtype: code for code, dtype in DTYPES.items()}

Arrays = dict[str, NDArray[Any]]
Table = dict[str, tuple[str, tuple[int, ...]]]  # type and shape of each array, in the order of the file


class ModelFormatError(ValueError):
    """The file cannot be read as a model: it is cut short, damaged, foreign, or newer. The message says which."""


def write(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
    """Write arrays and meta to a file, whole or not at all. The same content gives the same bytes.

    Raises TypeError or ValueError for what the format cannot hold, and OSError if the file cannot be written.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    tensors = {name: _writable(name, array) for name, array in arrays.items()}
    if json.loads(json.dumps(dict(meta), allow_nan=False)) != meta:
        raise TypeError("meta would come back changed; use only dicts with string keys, lists and plain values")
    document = {"format": FORMAT, "version": VERSION, "library": __version__}
    document |= {"checksum": _checksum(tensors), "meta": dict(meta)}
    table = {name: (CODES[array.dtype], array.shape) for name, array in tensors.items()}
    text = plain_json({**document, "seal": seal(table, document)})
    with replacing(path) as draft:
        try:
            save_file(dict(tensors), draft, metadata={FORMAT: text})
        except SafetensorError as error:
            raise _write_error(path, error) from error


def read(path: str | os.PathLike[str]) -> tuple[Arrays, dict[str, Any]]:
    """Read arrays and meta of a file. The arrays are mapped: they are read from the disk when they are used.

    Changing an array changes the memory of this process, never the file. The header is checked, the content of the
    arrays is not: see `verify`. Raises ModelFormatError, or OSError if the file cannot be opened.
    """
    document, arrays = _open(path)
    return arrays, document["meta"]


def facts(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The path and size of a file, the version of its format, and the version of dcpf that wrote it."""
    document, _ = _open(path)
    size = Path(path).stat().st_size
    return {"path": os.fspath(path), "bytes": size, "format": document["version"], "dcpf": document["library"]}


def verify(path: str | os.PathLike[str]) -> None:
    """Read the whole file and compare its checksum. Raises ModelFormatError if one bit of the content differs."""
    document, arrays = _open(path)
    if _checksum(arrays) != document["checksum"]:
        raise ModelFormatError(f"{os.fspath(path)}: {_damaged('the arrays do not match the checksum')}")


def plain_json(value: Any) -> str:
    """JSON that is the same for the same content."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def seal(table: Table, document: Mapping[str, Any]) -> str:
    """Checksum of what the header says: names, types and shapes of the arrays, and the document."""
    return hashlib.sha256(plain_json([table, document]).encode()).hexdigest()


def _checksum(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Checksum of the bytes of all arrays in the order of their names, none of which is copied."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(arrays[name].reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _writable(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array as the file holds it: little-endian and in C order. It is copied only if it is not so already."""
    if not isinstance(name, str):
        raise TypeError(f"names of arrays must be strings, found {name!r}")
    if name == "__metadata__" or not name.isprintable():  # a lone surrogate is not printable, and has no UTF-8
        raise ValueError(f"an array cannot be named {name!r}; give it another name")
    array = np.asarray(array)
    dtype = array.dtype.newbyteorder("<")
    if dtype not in CODES:
        raise TypeError(f"array {name!r} has type {array.dtype}; a file holds only {', '.join(map(str, CODES))}")
    return np.asarray(array, dtype=dtype, order="C")


def _write_error(path: str | os.PathLike[str], error: Exception) -> Exception:
    """The safetensors library reports an OSError only in words."""
    number = re.search(r"os error (\d+)", str(error))
    if number:
        return OSError(int(number[1]), os.strerror(int(number[1])))
    return ValueError(f"{os.fspath(path)}: not saved: {error}; arrays and meta must fit the safetensors format")


def _open(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """The document in the metadata, checked, and the arrays as views of one mapping of the file."""
    mode = Path(path).stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "this is a folder; name a model file", os.fspath(path))
    try:
        if not stat.S_ISREG(mode):  # opening a pipe would wait forever
            raise _foreign("it is not a regular file")
        with Path(path).open("rb") as file:
            start = file.read(9)
            _check_start(start)
            table, text = _layout(path)
            if not os.path.samestat(os.fstat(file.fileno()), Path(path).stat()):
                return _open(path)  # the file was replaced in between
            document = _checked_document(table, text)
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        return document, _views(mapped, 8 + int.from_bytes(start[:8], "little"), table)
    except ModelFormatError as error:
        raise ModelFormatError(f"{os.fspath(path)}: {error}") from None


def _check_start(start: bytes) -> None:
    """Refuse a file that is not in the safetensors format: eight bytes, then a JSON object."""
    if start[8:] == b"{":
        return
    if re.match(rb"\x80[\x02-\x05]", start):
        raise _foreign("it looks like a pickle, which is never loaded")
    raise _foreign("it is not a safetensors file" if start else "it is empty")


def _layout(path: str | os.PathLike[str]) -> tuple[Table, str | None]:
    """Types and shapes of the arrays, which fill the file without gaps, and the text in the metadata."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            slices = {name: file.get_slice(name) for name in file.offset_keys()}
            table = {name: (each.get_dtype(), tuple(each.get_shape())) for name, each in slices.items()}
            return table, (file.metadata() or {}).get(FORMAT)
    except SafetensorError as error:
        why = ascii(str(error).rpartition("header: ")[2])[1:-1]  # it may hold names from the file
        raise _damaged(f"cut short, or its header is wrong ({why:.100})") from None


def _checked_document(table: Table, text: str | None) -> dict[str, Any]:
    if text is None:
        raise _foreign("it is a safetensors file of another program")
    try:
        document: dict[str, Any] = json.loads(text)
        sealed = document.pop("seal", None) == seal(table, document)
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise _damaged("its metadata is not a JSON object") from None
    if document.get("format") != FORMAT:
        raise _foreign("it is a safetensors file of another program")
    version, writer = document.get("version"), re.sub(r"[^\w.+-]", "?", str(document.get("library")))
    if type(version) is int and version > VERSION:
        raise ModelFormatError(
            f"written by dcpf {writer:.40}, format version {reprlib.repr(version)}; this is dcpf {__version__}, "
            f"which reads up to {VERSION}: upgrade dcpf"
        )
    if not sealed or not isinstance(document.get("meta"), dict):
        raise _damaged("the header does not match its checksum")
    return document


def _views(mapped: mmap.mmap, start: int, table: Table) -> Arrays:
    arrays = {}
    for name, (code, shape) in table.items():
        try:
            array: NDArray[Any] = np.ndarray(shape, DTYPES[code], mapped, start)
        except (KeyError, ValueError, OverflowError):  # allowed by the format, not by numpy
            raise _damaged(f"array {reprlib.repr(name)} has an impossible type or shape") from None
        start += array.nbytes
        arrays[name] = array if array.flags.aligned else array.copy()  # compiled loops may rely on it
    return arrays


def _damaged(what: str) -> ModelFormatError:
    """The error for a file that dcpf may have written."""
    return ModelFormatError(f"the file is damaged: {what}; restore a copy of it or save the model again")


def _foreign(what: str) -> ModelFormatError:
    """The error for a file that dcpf never wrote."""
    return ModelFormatError(f"not a dcpf model: {what}; only files saved by dcpf can be read")
