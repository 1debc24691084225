"""The header of a file, checked before anything else is done with it: it may come from anywhere."""

import hashlib
import json
import math
import re
import reprlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from dcpf import __version__

FORMAT = "dcpf"
VERSION = 1

DTYPES = {"BOOL": np.dtype(bool), "F32": np.dtype("<f4"), "F64": np.dtype("<f8")}
DTYPES |= {f"{kind.upper()}{8 * size}": np.dtype(f"<{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)}
CODES = {dtype: code for code, dtype in DTYPES.items()}
_LARGEST_HEADER = 100_000_000  # the limit of the safetensors library
_MOST_AXES = 64  # the limit of numpy
METADATA = "__metadata__"


class ModelFormatError(ValueError):
    """The file is no model that can be read: cut short, damaged, not ours, or newer. The message says which."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where an array lies in the body of a file."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Header:
    """What the header of a file says, checked."""

    tensors: dict[str, Tensor]
    body: int
    checksum: str
    meta: dict[str, Any]
    version: int  # of the format
    library: str  # the version of dcpf that wrote it


def parse_header(file: BinaryIO, size: int) -> Header:
    """The header of a file of this size, after every check that does not need the body."""
    start = file.read(64)
    length = int.from_bytes(start[:8], "little")
    if start[8:9] != b"{" or length > _LARGEST_HEADER:
        raise foreign(_looks_like(start))
    if 8 + length > size:
        raise damaged(f"cut short: the header has {length:,} bytes, but the file has {size:,} in all")
    file.seek(8)
    header = _parsed("the header", file.read(length))
    document = _checked_document(header.pop(METADATA, None))
    tensors = {name: _tensor(name, entry) for name, entry in header.items()}
    _check_layout(tensors, size - 8 - length)
    table = {name: (tensor.dtype, tensor.shape) for name, tensor in tensors.items()}
    if document.pop("seal", None) != seal(table, document):
        raise damaged("the header does not have its own checksum")
    version, library = document["version"], str(document.get("library"))
    return Header(tensors, 8 + length, document["checksum"], document["meta"], version, library)


def seal(table: Mapping[str, tuple[str, tuple[int, ...]]], document: Mapping[str, Any]) -> str:
    """Checksum of what the header says: names, types and shapes of the arrays, and the document."""
    return hashlib.sha256(plain_json([table, document]).encode()).hexdigest()


def plain_json(value: Any) -> str:
    """JSON that is the same for the same content."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _parsed(what: str, text: bytes | str) -> dict[str, Any]:
    """The JSON object in a text. A name that comes twice, and what JSON does not know (NaN), are errors."""
    try:
        found = json.loads(
            text.decode("utf-8") if isinstance(text, bytes) else text,
            object_pairs_hook=_without_repeats,
            parse_constant=_unknown_constant,
        )
    except (ValueError, RecursionError) as error:
        raise damaged(f"{what} is not valid JSON ({error})") from None
    if not isinstance(found, dict):
        raise damaged(f"{what} is not a JSON object")
    return found


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{reprlib.repr(twice)} comes twice")
    return found


def _unknown_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def _checked_document(metadata: Any) -> dict[str, Any]:
    text = metadata.get(FORMAT) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise foreign("a safetensors file of another program")
    document = _parsed("the metadata", text)
    name, version, library = (document.get(key) for key in ("format", "version", "library"))
    if name != FORMAT:
        raise foreign(f"its format is named {reprlib.repr(name)}")
    if type(version) is not int or version < 1:
        raise damaged(f"the format version is {reprlib.repr(version)}")
    if version > VERSION:
        writer = library if isinstance(library, str) and library.isprintable() else "of unknown version"
        raise ModelFormatError(
            f"written by dcpf {writer}, format version {version}; this is dcpf {__version__}, which reads up to "
            f"{VERSION}: upgrade dcpf"
        )
    if not isinstance(document.get("checksum"), str) or not isinstance(document.get("meta"), dict):
        raise damaged("the metadata lacks its checksum or its dict")
    return document


def _tensor(name: str, entry: Any) -> Tensor:
    what = f"array {reprlib.repr(name)}"
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise damaged(f"{what} is not described by dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise damaged(f"{what} has the unknown type {reprlib.repr(dtype)}")
    if not _are_sizes(shape) or len(shape) > _MOST_AXES:
        raise damaged(f"{what} has the impossible shape {reprlib.repr(shape)}")
    if not _are_sizes(offsets) or len(offsets) != 2:
        raise damaged(f"{what} has the impossible place {reprlib.repr(offsets)}")
    itemsize = DTYPES[dtype].itemsize
    if math.prod(size or 1 for size in shape) * itemsize >= 2**63:  # numpy refuses it even beside a 0
        raise damaged(f"{what} has the impossible shape {reprlib.repr(shape)}")
    begin, end = offsets
    if end - begin != math.prod(shape) * itemsize:
        raise damaged(f"{what} of shape {reprlib.repr(shape)} and type {dtype} does not fill bytes {begin} to {end}")
    return Tensor(dtype, tuple(shape), begin, end)


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(size) is int and 0 <= size < 2**63 for size in value)


def _check_layout(tensors: Mapping[str, Tensor], room: int) -> None:
    """The arrays fill the body: no gap, no overlap, nothing before or after."""
    end = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        if tensor.begin != end:
            raise damaged(f"array {reprlib.repr(name)} begins at byte {tensor.begin} of the body, not at {end}")
        end = tensor.end
    if end != room:
        how = "cut short" if room < end else "too long"
        raise damaged(f"{how}: the arrays take {end:,} bytes, but the body has {room:,}")


def damaged(what: str) -> ModelFormatError:
    """The error for a file that was ours once."""
    return ModelFormatError(f"{what}; the file is damaged: restore a copy of it or save the model again")


def foreign(what: str) -> ModelFormatError:
    """The error for a file that never was ours."""
    return ModelFormatError(f"not a dcpf model: {what}; only files saved by dcpf can be read")


_MAGIC = {
    rb"\x80[\x02-\x05]": "it looks like a pickle, which is never loaded",
    rb"PK\x03\x04|PK\x05\x06": "it looks like a zip or .npz archive",
    rb"\x93NUMPY": "it looks like a .npy array",
    rb"PAR1": "it looks like a Parquet file",
    rb"\x89HDF": "it looks like an HDF5 file",
    rb"\x1f\x8b|\x28\xb5\x2f\xfd": "it looks like a compressed file",
}


def _looks_like(start: bytes) -> str:
    """What a file that begins so may be, for the message alone."""
    if not start:
        return "it is empty"
    for magic, what in _MAGIC.items():
        if re.match(magic, start, re.DOTALL):
            return what
    text = start.decode("utf-8", errors="ignore")
    if len(text) > len(start) // 2 and all(letter.isprintable() or letter.isspace() for letter in text):
        return "it looks like text"
    return "it has no safetensors header"
