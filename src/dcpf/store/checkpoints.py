"""A checkpoint in a folder of its own: a file of arrays, and a manifest, renamed last, that names the valid file.

A new checkpoint goes into the file that is not in use, and counts from the moment when the manifest names it. So a
writer that is killed leaves the previous checkpoint. Whatever else it leaves is removed when the folder is opened.
"""

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from dcpf import __version__
from dcpf.store import arrays as files
from dcpf.store.arrays import Arrays, ModelFormatError, plain_json
from dcpf.store.atomic import replacing, sweep_strays

if sys.platform != "win32":
    import fcntl

FORMAT = "dcpf-checkpoint"
VERSION = 1
MANIFEST = "checkpoint.json"
FILES = ("checkpoint-a.safetensors", "checkpoint-b.safetensors")
MORE = "checkpoint-more"  # a folder for what other machines write


@dataclass(frozen=True, slots=True)
class Manifest:
    """The number of the valid checkpoint, and the name of its file."""

    number: int
    file: str


class CheckpointFolder:
    """The folder with the last checkpoint of one fit. Enter `opened` to write to it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Make and lock the folder, and remove what killed writers left. At the end, an empty folder is removed.

        Raises ValueError if another fit has the folder open. Call `check` first to find other problems.
        """
        self.path.mkdir(exist_ok=True)
        with _locked(self.path):
            for name in (MANIFEST, *FILES):
                sweep_strays(self.path / name)
            self._remove_all_but(self.manifest())
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    self.path.rmdir()

    def check(self) -> None:
        """Refuse a folder that cannot be written to, or that holds other files, which might be lost."""
        exists = self.path.exists()
        if exists and not self.path.is_dir():
            raise ValueError(f"{self.path} is no folder; name a folder for checkpoints")
        folder = self.path if exists else self.path.parent
        if not folder.is_dir():
            raise ValueError(f"{self.path}: there is no folder {folder}; make it first")
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
            raise ValueError(f"{self.path}: you may not write to the folder {folder}; choose another one")
        names = sorted(file.name for file in self.path.iterdir()) if exists else []
        for name in names:
            if not name.lstrip(".").startswith(Path(MANIFEST).stem):
                raise ValueError(
                    f"{self.path} holds other files than checkpoints, such as {name!r}; name a new or empty folder"
                )

    def manifest(self) -> Manifest | None:
        """The manifest, None if there is no checkpoint."""
        path = self.path / MANIFEST
        try:
            found = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError):
            raise self._unusable(f"{path} is damaged: it is not valid JSON") from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise self._unusable(f"{path} is not the manifest of a dcpf checkpoint")
        version, number, file = (found.get(key) for key in ("version", "number", "file"))
        if version != VERSION:
            raise self._unusable(
                f"{path} was written by dcpf {found.get('library')!s:.20}, checkpoint version {version!s:.20}; this "
                f"is dcpf {__version__}, which reads version {VERSION}"
            )
        if type(number) is not int or file not in FILES:
            raise self._unusable(f"{path} is damaged: it names no checkpoint")
        return Manifest(number, file)

    def read(self) -> tuple[Arrays, dict[str, Any]] | None:
        """Arrays and meta of the checkpoint, exactly as they were written; None if there is none."""
        manifest = self.manifest()
        if manifest is None:
            return None
        path = self.path / manifest.file
        try:
            files.verify(path)
            arrays, meta = files.read(path)
        except FileNotFoundError:
            raise self._unusable(f"the manifest names {path}, which is not there") from None
        except ModelFormatError as error:
            raise self._unusable(str(error)) from None
        if meta.pop("number", None) != manifest.number:
            raise self._unusable(f"{path} is not the file that the manifest means")
        if sys.platform == "win32":  # where a mapped file can be neither replaced nor removed
            arrays = {name: array.copy() for name, array in arrays.items()}
        return arrays, meta

    def write(self, number: int, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
        """Replace the last checkpoint, whole or not at all. Raises OSError if it cannot be written."""
        last = self.manifest()
        new = Manifest(number, FILES[1] if last is not None and last.file == FILES[0] else FILES[0])
        files.write(self.path / new.file, arrays, {**meta, "number": number})
        content = {"format": FORMAT, "version": VERSION, "library": __version__, "number": number, "file": new.file}
        with replacing(self.path / MANIFEST) as draft:
            draft.write_text(plain_json(content) + "\n", encoding="ascii")
        self._remove_all_but(new)

    def clear(self) -> None:
        """Remove the checkpoint: first the manifest, without which the rest means nothing."""
        (self.path / MANIFEST).unlink(missing_ok=True)
        self._remove_all_but(None)

    def _remove_all_but(self, valid: Manifest | None) -> None:
        for name in FILES:
            if valid is None or name != valid.file:
                (self.path / name).unlink(missing_ok=True)
        if valid is None:
            shutil.rmtree(self.path / MORE, ignore_errors=True)

    def _unusable(self, why: str) -> ModelFormatError:
        return ModelFormatError(f"{why}; this checkpoint cannot be resumed: remove {self.path} to start afresh")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let only one process write checkpoints to a folder. The lock is on the folder, and ends with the process."""
    if sys.platform == "win32":
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(f"{path}: another fit writes its checkpoints here; name another folder") from None
        yield
    finally:
        os.close(handle)
