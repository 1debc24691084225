"""Arrays in memory, or in temporary files where memory is short. Imports nothing of dcpf.

An array larger than a sixteenth of the memory is memory-mapped from a temporary file: the system keeps the pages in
use in memory, and evicts the others when memory runs short. The file has no name, so nothing is left of it however
the program ends. It is in Python's temporary folder; set TMPDIR to move it.
"""

import mmap
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_VARIABLE = "DCPF_MEMORY"
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SHARE = 16  # arrays in use at a time, with some room


def memory() -> int:
    """Available bytes: the memory of the machine or container, or DCPF_MEMORY, such as 8GB."""
    given = os.environ.get(_VARIABLE, "").strip()
    if given:
        size = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?B)?", given.upper())
        if not size:
            raise ValueError(f"{_VARIABLE} must be a size such as 8GB or 500MB, found {given!r}")
        return int(float(size[1]) * _UNITS[size[2] or ""])
    return _installed()


@cache  # called for each array
def _installed() -> int:
    """The memory of the machine, or of the container if that is less."""
    limit = 2**63
    with suppress(AttributeError, ValueError, OSError):  # not on every system
        limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(ValueError, OSError):  # no container, or one without a limit
        limit = min(limit, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return limit


def largest_in_memory() -> int:
    """The size in bytes of the largest array that is kept in memory."""
    return memory() // _SHARE


def empty(shape: tuple[int, ...] | int, dtype: DTypeLike) -> NDArray[Any]:
    """Equivalent to np.empty, in memory or in a mapped file, depending on the size."""
    return _allocate(np.empty, shape, dtype)


def zeros(shape: tuple[int, ...] | int, dtype: DTypeLike) -> NDArray[Any]:
    """Equivalent to np.zeros, in memory or in a mapped file, depending on the size."""
    return _allocate(np.zeros, shape, dtype)


def _allocate(in_memory: Any, shape: tuple[int, ...] | int, dtype: DTypeLike) -> NDArray[Any]:
    sizes = (shape,) if isinstance(shape, int) else shape
    size = prod(sizes) * np.dtype(dtype).itemsize
    if size <= largest_in_memory():
        allocated: NDArray[Any] = in_memory(sizes, dtype)
        return allocated
    with tempfile.TemporaryFile() as file:
        with room_on_disk(size):
            try:
                os.posix_fallocate(file.fileno(), 0, size)  # an error now, not a crash when the disk is full
            except AttributeError:
                file.truncate(size)
        return np.frombuffer(mmap.mmap(file.fileno(), size), dtype=dtype).reshape(sizes)


@contextmanager
def room_on_disk(size: int) -> Iterator[None]:
    """Around code that writes this many bytes to temporary files: a full disk gives an error that says what to do."""
    try:
        yield
    except OSError as error:
        raise OSError(
            error.errno,
            f"{size / 1e9:.1f} GB do not fit into memory, nor into {tempfile.gettempdir()}: set TMPDIR to a "
            f"folder with room, or {_VARIABLE} if more of the memory may be used",
        ) from None
