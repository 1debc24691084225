"""What a fit on a cluster keeps while it runs: its checkpoint, and the blocks that the workers save.

Blocks are saved with the checkpoint, or else in a scratch folder beside the prepared counts. A fit that is killed
leaves its scratch folder behind. The next fit removes the folder if nobody uses it: the process that runs a fit holds
a lock, which ends with the process. Locks are reliable among processes of one machine only, so the folder names its
machine. While a scratch folder may be in use, the counts beside it are not replaced.
"""

import contextlib
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from dcpf.distributed.storage import Folder
from dcpf.model.checkpoint import Checkpoint, Position

if TYPE_CHECKING:
    from dcpf.distributed.blocks import RemoteBlocks

if sys.platform != "win32":
    import fcntl

SCRATCH = re.compile(r"fit-[0-9a-f]{32}")
_DRIVER = "driver"  # a file with the name of the machine, locked while the fit runs


class ClusterCheckpoint:
    """Has the workers save their blocks now and then, and writes the rest to the checkpoint, if there is one.

    Blocks are saved without a checkpoint too: a block that is lost with its worker is rebuilt from there.
    """

    def __init__(self, checkpoint: Checkpoint, folder: Folder, blocks: "RemoteBlocks") -> None:
        """`folder` is where blocks are saved."""
        self._checkpoint, self._base, self._blocks = checkpoint, folder, blocks
        self._last: Folder | None = None
        self.position: Position | None = None  # to resume from
        if checkpoint.position is not None:
            self._last = self._folder(checkpoint.position)
            self.position = self._loaded(checkpoint.position, self._last)

    def keep(self, position: Position, *, ended: bool | None = None) -> None:
        """See `Checkpoint.keep`."""
        if not self._checkpoint.is_due(position, ended):
            return
        if ended and not self._checkpoint.is_kept:
            return  # nobody will resume from here
        folder = self._folder(position)
        self._blocks.save(folder.address)
        self._checkpoint.keep(position, ended=bool(ended))
        if self._last is not None and self._last.address != folder.address:
            self._last.remove()
        self._last = folder

    def __enter__(self) -> Self:
        self._checkpoint.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._blocks.end()
        self._checkpoint.__exit__()

    def _folder(self, position: Position) -> Folder:
        return self._base / f"{position.kind}-{position.number:06}"

    def _loaded(self, position: Position, folder: Folder) -> Position:
        """The position with the q(W) that the workers will read."""
        state, last = position.state, position.state.last
        W = self._blocks.load(folder.address, {point.W.number for point in (state, last) if point is not None})
        last = None if last is None else replace(last, W=W[last.W.number])
        return replace(position, state=replace(state, W=W[state.W.number], last=last))


@contextlib.contextmanager
def scratch_folder(prepared: Folder, fit: str) -> Iterator[Folder]:
    """A new folder for a fit, removed when the fit ends."""
    folder = prepared / f"fit-{fit}"
    with _locked(folder):
        try:
            yield folder
        finally:
            folder.remove()


def remove_leftovers(prepared: Folder) -> list[str]:
    """Remove the scratch folders of killed fits. Returns a note for each folder that a fit elsewhere may be using."""
    notes = []
    for folder, used in _scratch_folders(prepared):
        if used is None:
            notes.append(
                f"{folder.address} belongs to a fit that was killed or still runs on another machine; remove it if "
                "none runs"
            )
        elif not used:
            shutil.rmtree(Path(folder.path), ignore_errors=True)
    return notes


def check_unused(prepared: Folder) -> None:
    """Refuse to replace counts that a fit reads, or may read."""
    for folder, used in _scratch_folders(prepared):
        if used is False:
            continue
        state = "still runs" if used else "was killed or still runs on another machine"
        way = "wait until it has ended" if used else "remove that folder if none runs"
        raise ValueError(
            f"{folder.address} belongs to a fit that {state}, and the counts in {prepared.address} that it reads "
            f"would be replaced; {way}, or name another folder with prepared="
        )


def _scratch_folders(prepared: Folder) -> Iterator[tuple[Folder, bool | None]]:
    """The scratch folders here, and whether their fits still run."""
    for name in prepared.names():
        if SCRATCH.fullmatch(name):
            yield prepared / name, _is_used(prepared / name)


@contextlib.contextmanager
def _locked(folder: Folder) -> Iterator[None]:
    """Without locks, there is nothing here by which `remove_leftovers` would take the folder for unused."""
    if sys.platform == "win32" or not folder.is_local:
        yield
        return
    path = Path(folder.path)
    path.mkdir(parents=True)
    with (path / _DRIVER).open("w") as file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(platform.node())  # after the lock: an empty file says nothing yet
            file.flush()
        yield


def _is_used(folder: Folder) -> bool | None:
    """Whether the process that made this folder still runs; None if that cannot be told from this machine."""
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
