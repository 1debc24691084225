"""Replace a file whole or not at all, and remove what killed writers left behind."""

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

if sys.platform != "win32":
    import fcntl


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A draft to write to. At the end of the block it replaces `path`, once it is safe on the disk.

    Until then an old file stays as it was, and longer for whoever has it mapped. The new file gets its permissions.
    A link is followed. What killed writes to this path left behind is removed. Raises OSError, with the way out, if
    the file cannot be written.
    """
    target = Path(os.path.realpath(path))
    try:
        old_mode = _mode(target)
        sweep_strays(target)
        with _draft_folder(target) as (folder, usual_mode):
            draft = folder / f"draft{target.suffix}"
            yield draft
            with draft.open("rb+") as file:
                draft.chmod(usual_mode if old_mode is None else old_mode)
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
    """Remove what killed writes to this path left beside it. Returns the lock files that were removed.

    A running write holds a lock, which ends with its process, so its files stay. So do files that cannot be locked or
    removed, and all files on Windows, which has no such locks.
    """
    if sys.platform == "win32":
        return []
    target = Path(os.path.realpath(path))
    pattern = re.compile(re.escape(_stem(target)) + r"\d+-[0-9a-f]{16}\.lock")
    removed: list[Path] = []
    for lock in sorted(file for file in target.parent.iterdir() if pattern.fullmatch(file.name)):
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


def _stem(target: Path) -> str:
    """How the names of temporary files for this target begin. Cut, since a name has at most 255 bytes."""
    return f".{target.name[:40]}."


def _mode(target: Path) -> int | None:
    """Permissions of the file to replace, None if there is none."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "the path is a folder")
    if not stat.S_ISREG(mode):  # the rename would destroy a device or a pipe
        raise OSError(errno.EINVAL, "the path is not a regular file")
    return stat.S_IMODE(mode)


@contextlib.contextmanager
def _draft_folder(target: Path) -> Iterator[tuple[Path, int]]:
    """A private folder beside the target, and the usual permissions of a new file.

    A folder, since a library that writes may go through a temporary file of its own naming. A locked file beside it
    tells `sweep_strays` that the writer lives.
    """
    while True:
        lock = target.with_name(f"{_stem(target)}{os.getpid()}-{secrets.token_hex(8)}.lock")
        folder = lock.with_suffix(".tmp")
        with lock.open("xb") as file:
            try:
                if sys.platform != "win32":
                    with contextlib.suppress(OSError):  # a file system without locks: then nobody can sweep either
                        fcntl.flock(file, fcntl.LOCK_EX)
                state = os.fstat(file.fileno())
                if state.st_nlink:  # else swept before it was locked
                    folder.mkdir(mode=0o700)
                    yield folder, stat.S_IMODE(state.st_mode)
                    return
            finally:
                shutil.rmtree(folder, ignore_errors=True)
                if sys.platform == "win32":
                    file.close()  # an open file cannot be removed there
                lock.unlink(missing_ok=True)


_WAYS_OUT = dict.fromkeys([errno.ENOSPC, errno.EDQUOT, errno.EFBIG], "free some space or write to another disk")
_WAYS_OUT |= dict.fromkeys([errno.EACCES, errno.EPERM, errno.EROFS], "write to a folder that you may change")
_WAYS_OUT |= dict.fromkeys([errno.ENOENT, errno.ENOTDIR], "make the folder first")


def _not_saved(path: str | os.PathLike[str], error: OSError) -> OSError:
    """One line with the reason, the way out and the path."""
    if not error.errno:
        return OSError(f"{os.fspath(path)}: not saved: {error}")
    way_out = _WAYS_OUT.get(error.errno, "write to another path")
    return OSError(error.errno, f"not saved: {error.strerror}; {way_out}", os.fspath(path))
