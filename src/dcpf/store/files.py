"""Arrays and a dict into a file and back."""

import errno
import hashlib
import json
import math
import mmap
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcpf import __version__
from dcpf.store.atomic import replacing
from dcpf.store.header import (
    CODES,
    DTYPES,
    FORMAT,
    METADATA,
    VERSION,
    Header,
    ModelFormatError,
    Tensor,
    damaged,
    foreign,
    parse_header,
    plain_json,
    seal,
)

Arrays = dict[str, NDArray[Any]]


def write(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
    """Put arrays and meta into the file `path`, whole or not at all; the same content gives the same bytes.

    Raises TypeError or ValueError for what the format cannot hold, and OSError if the file cannot be written.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    tensors = {name: _writable(name, array) for name, array in arrays.items()}
    text = _document(tensors, meta)
    with replacing(path) as draft:
        try:
            save_file(dict(tensors), draft, metadata={FORMAT: text})
        except SafetensorError as error:
            raise _as_os_error(path, error) from error


def read(path: str | os.PathLike[str]) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and meta of a file; the arrays come from the disk when they are used.

    To change them changes the memory of this process alone, never the file.

    The header is checked, the body is not: see `verify`. Raises ModelFormatError, or OSError if there is no file.
    """
    header, arrays = _open(path)
    return arrays, header.meta


def facts(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file is: its path, its bytes, the version of its format, and of the dcpf that wrote it."""
    header, _ = _open(path)
    size = Path(path).stat().st_size
    return {"path": os.fspath(path), "bytes": size, "format": header.version, "dcpf": header.library}


def verify(path: str | os.PathLike[str]) -> None:
    """Read the whole file and compare its checksum. Raises ModelFormatError if one bit of the content differs."""
    header, arrays = _open(path)
    if _checksum(arrays) != header.checksum:
        raise ModelFormatError(f"{os.fspath(path)}: {damaged('the arrays do not have the checksum of the header')}")


def _writable(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array as the file holds it: little-endian and in C order. A copy only where it is not so already."""
    if not isinstance(name, str):
        raise TypeError(f"names of arrays must be strings, found {name!r}")
    if name == METADATA or not name.isprintable():  # a lone surrogate is not printable, and has no UTF-8
        raise ValueError(f"an array cannot be named {name!r}; give it another name")
    array = np.asarray(array)
    dtype = array.dtype.newbyteorder("<")
    if dtype not in CODES:
        raise TypeError(f"array {name!r} has type {array.dtype}; a file holds only {', '.join(map(str, CODES))}")
    return np.asarray(array, dtype=dtype, order="C")


def _document(tensors: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> str:
    """The one text in the metadata of the file."""
    _check_meta(meta)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "library": __version__,
        "checksum": _checksum(tensors),
        "meta": dict(meta),
    }
    table = {name: (CODES[array.dtype], array.shape) for name, array in tensors.items()}
    return plain_json({**document, "seal": seal(table, document)})


def _check_meta(meta: Mapping[str, Any]) -> None:
    try:
        same = json.loads(json.dumps(dict(meta), allow_nan=False)) == dict(meta)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"meta cannot be stored ({error}); write None or a string for what is not finite") from None
    except TypeError as error:
        raise TypeError(f"meta cannot be stored ({error}); convert it to plain Python values") from None
    if not same:
        raise TypeError("meta would come back changed; use only dicts with string keys, lists and plain values")


def _checksum(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Checksum of the bytes of all arrays in the order of their names, none of which is copied."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(arrays[name].reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _open(path: str | os.PathLike[str]) -> tuple[Header, Arrays]:
    mode = Path(path).stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "a folder, where a model file is wanted", os.fspath(path))
    try:
        if not stat.S_ISREG(mode):  # to open a pipe would wait for ever
            raise foreign("it is not a regular file")
        with Path(path).open("rb") as file:
            header = parse_header(file, os.fstat(file.fileno()).st_size)
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except ModelFormatError as error:
        raise ModelFormatError(f"{os.fspath(path)}: {error}") from None
    return header, {name: _array(mapped, header.body, header.tensors[name]) for name in sorted(header.tensors)}


def _array(mapped: mmap.mmap, body: int, tensor: Tensor) -> NDArray[Any]:
    array = np.frombuffer(mapped, DTYPES[tensor.dtype], math.prod(tensor.shape), body + tensor.begin)
    if not array.flags.aligned:  # allowed by the format, but compiled loops may rely on it
        array = array.copy()
    return array.reshape(tensor.shape)


def _as_os_error(path: str | os.PathLike[str], error: Exception) -> Exception:
    """The safetensors library tells an OSError only in words."""
    said = re.search(r"os error (\d+)", str(error))
    if said:
        return OSError(int(said[1]), os.strerror(int(said[1])))
    return ValueError(f"{os.fspath(path)}: not saved: {error}; arrays and meta must fit the safetensors format")
