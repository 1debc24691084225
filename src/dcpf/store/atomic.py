"""A file is replaced whole or not at all, and what crashed writers left behind is swept away."""

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A draft to write to; at the end of the block it takes the place of `path`, once it is safe on the disk.

    An old file stays as it was until then, and for whoever has it mapped even longer. It hands down its permissions.
    A link is followed. What crashed writes to this path left behind is removed. Raises OSError, which says the way
    out, if the file cannot be written.
    """
    target = _followed(path)
    try:
        mode = _mode(target)
        sweep_strays(target)
        with _workshop(target) as (folder, usual_mode):
            draft = folder / f"draft{target.suffix}"
            yield draft
            with draft.open("rb+") as file:
                draft.chmod(usual_mode if mode is None else mode)
                os.fsync(file.fileno())
            draft.replace(target)
        if sys.platform != "win32":
            handle = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(handle)  # or a power cut may bring back the old name
            finally:
                os.close(handle)
    except OSError as error:
        raise _not_saved(path, error) from error


def sweep_strays(path: str | os.PathLike[str]) -> list[Path]:
    """Remove what killed writes to this path left beside it, and tell what was removed.

    A write that is under way holds a lock, which ends with its process, and is let be. So is what cannot be locked or
    removed, and everything on Windows, where there is no such lock.
    """
    if sys.platform == "win32":
        return []
    target = _followed(path)
    name = re.compile(re.escape(_stem(target)) + r"\d+-[0-9a-f]{16}\.lock")
    removed: list[Path] = []
    for lock in sorted(found for found in target.parent.iterdir() if name.fullmatch(found.name)):
        with contextlib.suppress(OSError):  # locked by a writer, gone by now, or another user's
            handle = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if (folder := lock.with_suffix(".tmp")).exists():
                    shutil.rmtree(folder)
                lock.unlink()
                removed.append(lock)
            finally:
                os.close(handle)
    return removed


def _followed(path: str | os.PathLike[str]) -> Path:
    return Path(os.path.realpath(path))


def _stem(target: Path) -> str:
    """How the names of temporary files for this target begin. Cut, since a name has at most 255 bytes."""
    return f".{target.name[:40]}."


def _mode(target: Path) -> int | None:
    """Permissions of the file that will be replaced, None if there is none."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "the path is a folder")
    if not stat.S_ISREG(mode):  # a device or a pipe, which the rename would do away with
        raise OSError(errno.EINVAL, "the path is not a regular file")
    return stat.S_IMODE(mode)


@contextlib.contextmanager
def _workshop(target: Path) -> Iterator[tuple[Path, int]]:
    """A private folder beside the target, locked as long as it is in use, and the usual permissions of a new file.

    A folder, since a library that writes may go through a temporary file of its own naming.
    """
    with _locked(target) as lock:
        folder = Path(lock.name).with_suffix(".tmp")
        try:
            folder.mkdir(mode=0o700)
            yield folder, stat.S_IMODE(os.fstat(lock.fileno()).st_mode)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(target: Path) -> Iterator[BinaryIO]:
    """A new file beside the target that tells `sweep_strays` of a living writer."""
    while True:
        path = target.with_name(f"{_stem(target)}{os.getpid()}-{secrets.token_hex(8)}.lock")
        with path.open("xb") as file:
            try:
                if sys.platform != "win32":
                    with contextlib.suppress(OSError):  # a file system without locks: then nobody can sweep either
                        fcntl.flock(file, fcntl.LOCK_EX)
                if os.fstat(file.fileno()).st_nlink:  # else swept before it was locked
                    yield file
                    return
            finally:
                if sys.platform == "win32":
                    file.close()  # an open file cannot be removed there
                path.unlink(missing_ok=True)


_WAYS_OUT = dict.fromkeys([errno.ENOSPC, errno.EDQUOT, errno.EFBIG], "free some space or write to another disk")
_WAYS_OUT |= dict.fromkeys([errno.EACCES, errno.EPERM, errno.EROFS], "write to a folder that you may change")
_WAYS_OUT |= dict.fromkeys([errno.ENOENT, errno.ENOTDIR], "make the folder first")


def _not_saved(path: str | os.PathLike[str], error: OSError) -> OSError:
    """One line with reason, way out and path."""
    if not error.errno:
        return OSError(f"{os.fspath(path)}: not saved: {error}")
    way_out = _WAYS_OUT.get(error.errno, "write to another path")
    return OSError(error.errno, f"not saved: {error.strerror}; {way_out}", os.fspath(path))
