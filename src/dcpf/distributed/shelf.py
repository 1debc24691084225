"""Where a fit without a checkpoint keeps its blocks while it runs: a folder of its own, beside the counts.

A driver that is killed leaves it behind. The next fit removes it, if it can tell that nobody uses it: a driver holds
a lock, which ends with its process. A lock is sure among processes of one machine alone, so the folder names it. As
long as one may be in use, the counts beside it are not replaced by others.
"""

import contextlib
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from dcpf.distributed.storage import Folder

if sys.platform != "win32":
    import fcntl

NAME = re.compile(r"fit-[0-9a-f]{32}")
_DRIVER = "driver"  # a file in it: locked while the fit runs, with the name of the driver's machine


@contextlib.contextmanager
def shelf(prepared: Folder, fit: str) -> Iterator[Folder]:
    """A new folder for a fit, which goes when the fit ends."""
    folder = prepared / f"fit-{fit}"
    with _locked(folder):
        try:
            yield folder
        finally:
            folder.remove()


def sweep(prepared: Folder) -> list[str]:
    """Remove what killed fits have left; says what is left alone, since a fit that runs elsewhere may use it."""
    doubtful = []
    for folder, used in _shelves(prepared):
        if used is None:
            doubtful.append(
                f"{folder.address} is of a fit that was killed, or that still runs elsewhere; remove it if none does"
            )
        elif not used:
            shutil.rmtree(Path(folder.path), ignore_errors=True)
    return doubtful


def check_unused(prepared: Folder) -> None:
    """Refuse to have counts replaced that a fit reads, or may read."""
    for folder, used in _shelves(prepared):
        if used is False:
            continue
        runs = "still runs" if used else "was killed, or that still runs elsewhere"
        way = "wait until it has ended" if used else "remove it if none does"
        raise ValueError(
            f"{folder.address} is of a fit that {runs}, and other counts would replace those in {prepared.address} "
            f"that it reads; {way}, or name another folder (prepared=, --prepared)"
        )


def _shelves(prepared: Folder) -> Iterator[tuple[Folder, bool | None]]:
    """What fits have here, and whether they still run."""
    for name in prepared.names():
        if NAME.fullmatch(name):
            yield prepared / name, _is_used(prepared / name)


@contextlib.contextmanager
def _locked(folder: Folder) -> Iterator[None]:
    """Where there are no locks, nothing is written that `sweep` would go by."""
    if sys.platform == "win32" or not folder.is_local:
        yield
        return
    path = Path(folder.path)
    path.mkdir(parents=True)
    with (path / _DRIVER).open("w") as file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(platform.node())  # only now: a sweep that came before the lock has found nothing to go by
            file.flush()
        yield


def _is_used(folder: Folder) -> bool | None:
    """Whether a driver runs that has made this folder; None if that cannot be told from here."""
    path = Path(folder.path)
    if sys.platform == "win32" or not folder.is_local or path.is_symlink():
        return None
    try:
        with (path / _DRIVER).open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            machine = file.read()
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False if machine and machine == platform.node() else None
