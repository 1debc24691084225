"""Arrays in memory, or in files without a name where memory is short. Imports nothing of dcpf.

An array that would take more than a sixteenth of the memory lies in a temporary file that is mapped: the system keeps
in memory what is in use, and gives the rest back when others need it. The file has no name, so that nothing is left
of it however the program ends. It is where Python puts temporary files: TMPDIR says where.
"""

import mmap
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_VARIABLE = "DCPF_MEMORY"
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SHARE = 16  # so many arrays are in use at a time, with some room


def memory() -> int:
    """The bytes that there are to use: those of the machine or container, or what DCPF_MEMORY says, such as 8GB."""
    given = os.environ.get(_VARIABLE, "").strip()
    if given:
        found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?B)?", given.upper())
        if not found:
            raise ValueError(f"{_VARIABLE} must be a size such as 8GB or 500MB, found {given!r}")
        return int(float(found[1]) * _UNITS[found[2] or ""])
    limits = [_of_machine(), _of_container()]
    return min(limit for limit in limits if limit is not None)


@cache
def _of_machine() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not everywhere
        return 2**63


@cache  # asked for with each array
def _of_container() -> int | None:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return None
    return int(limit) if limit.isdigit() else None


def largest_in_memory() -> int:
    """The size in bytes from which on an array lies in a file."""
    return memory() // _SHARE


def empty(shape: tuple[int, ...] | int, dtype: DTypeLike) -> NDArray[Any]:
    """Equivalent to np.empty, in memory or in a mapped file as its size asks for."""
    return _allocate(np.empty, shape, dtype)


def zeros(shape: tuple[int, ...] | int, dtype: DTypeLike) -> NDArray[Any]:
    """Equivalent to np.zeros, in memory or in a mapped file as its size asks for."""
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
                os.posix_fallocate(file.fileno(), 0, size)  # rather an error now than a crash when the disk is full
            except AttributeError:
                file.truncate(size)
        return np.frombuffer(mmap.mmap(file.fileno(), size), dtype=dtype).reshape(sizes)


@contextmanager
def room_on_disk(size: int) -> Iterator[None]:
    """What needs so many bytes in temporary files: if there is no room for them, the error tells the way out."""
    try:
        yield
    except OSError as error:
        raise OSError(
            error.errno,
            f"{size / 1e9:.1f} GB do not fit into memory, nor into {tempfile.gettempdir()}: set TMPDIR to a "
            f"folder with room, or {_VARIABLE} if more of the memory may be used",
        ) from None
