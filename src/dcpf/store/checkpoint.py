"""A checkpoint in a folder of its own: a file of arrays, and a manifest, renamed last, that tells which file counts.

A new checkpoint goes into the file that is not in use, and counts from the moment when the manifest names it. So a
writer that is killed leaves the one before. What else it leaves is swept when the folder is opened again.
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
from dcpf.store import files
from dcpf.store.atomic import replacing, sweep_strays
from dcpf.store.header import ModelFormatError, plain_json

if sys.platform != "win32":
    import fcntl

CHECKPOINT_FORMAT = "dcpf-checkpoint"
CHECKPOINT_VERSION = 1
MANIFEST = "checkpoint.json"
FILES = ("checkpoint-a.safetensors", "checkpoint-b.safetensors")
MORE = "checkpoint-more"  # a folder for what is written elsewhere, on other machines


@dataclass(frozen=True, slots=True)
class Manifest:
    """Which checkpoint there is: its number, and the name of its file."""

    number: int
    file: str


class CheckpointFolder:
    """The folder of one fit's checkpoints, of which the last one is kept. See `opened` for writing to it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Make the folder, keep others out, and remove what killed writers left; at the end, it goes if it is empty.

        Raises ValueError if another fit has it open. `check` finds before what else may be wrong.
        """
        self.path.mkdir(exist_ok=True)
        with _locked(self.path):
            self._sweep()
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    self.path.rmdir()

    def check(self) -> None:
        """Refuse a folder that cannot be written to, or that holds anything else, which might be lost."""
        there = self.path.exists()
        if there and not self.path.is_dir():
            raise ValueError(f"{self.path} is no folder, where one for checkpoints is wanted; name another")
        place = self.path if there else self.path.parent
        if not place.is_dir():
            raise ValueError(f"{self.path}: there is no folder {place}; make it first")
        if not os.access(place, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
            raise ValueError(f"{self.path}: nothing may be written to the folder {place}; choose another one")
        stem = Path(MANIFEST).stem
        names = [one.name for one in self.path.iterdir()] if there else []
        foreign = sorted(name for name in names if not name.lstrip(".").startswith(stem))
        if foreign:
            raise ValueError(
                f"{self.path} holds other files than checkpoints, such as {foreign[0]!r}; name a new or empty folder"
            )

    def manifest(self) -> Manifest | None:
        """What the manifest says, None if there is no checkpoint."""
        try:
            text = (self.path / MANIFEST).read_bytes()
        except FileNotFoundError:
            return None
        try:
            return _manifest_of(text)
        except ModelFormatError as error:
            raise self._unusable(f"{self.path / MANIFEST}: {error}") from None

    def read(self) -> tuple[files.Arrays, dict[str, Any]] | None:
        """Arrays and meta of the checkpoint, to the last bit as they were written; None if there is none."""
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
            raise self._unusable(f"{path} is not the file that the manifest means") from None
        if sys.platform == "win32":  # where a file that is mapped can be neither replaced nor removed
            arrays = {name: array.copy() for name, array in arrays.items()}
        return arrays, meta

    def write(self, number: int, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
        """Put a checkpoint in the place of the last one, whole or not at all. Raises OSError if it cannot."""
        last = self.manifest()
        file = FILES[1] if last is not None and last.file == FILES[0] else FILES[0]
        files.write(self.path / file, arrays, {**meta, "number": number})
        said = {"format": CHECKPOINT_FORMAT, "version": CHECKPOINT_VERSION, "library": __version__}
        with replacing(self.path / MANIFEST) as draft:
            draft.write_text(plain_json({**said, "number": number, "file": file}) + "\n", encoding="ascii")
        self._remove_files(besides=file)

    def clear(self) -> None:
        """Remove the checkpoint: first the manifest, without which the rest means nothing."""
        (self.path / MANIFEST).unlink(missing_ok=True)
        self._remove_files()
        shutil.rmtree(self.path / MORE, ignore_errors=True)

    def _sweep(self) -> None:
        for name in (MANIFEST, *FILES):
            sweep_strays(self.path / name)
        manifest = self.manifest()
        self._remove_files(besides=None if manifest is None else manifest.file)
        if manifest is None:
            shutil.rmtree(self.path / MORE, ignore_errors=True)

    def _remove_files(self, besides: str | None = None) -> None:
        for name in FILES:
            if name != besides:
                (self.path / name).unlink(missing_ok=True)

    def _unusable(self, why: str) -> ModelFormatError:
        return ModelFormatError(f"{why}; nothing can go on from this checkpoint: remove {self.path} to begin anew")


def _manifest_of(text: bytes) -> Manifest:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        raise ModelFormatError("the manifest is damaged: it is not valid JSON") from None
    if not isinstance(said, dict) or said.get("format") != CHECKPOINT_FORMAT:
        raise ModelFormatError("not the manifest of a dcpf checkpoint")
    version, number, file = (said.get(key) for key in ("version", "number", "file"))
    if version != CHECKPOINT_VERSION:
        raise ModelFormatError(
            f"written by dcpf {said.get('library')!s:.20}, checkpoint version {version!s:.20}; this is dcpf "
            f"{__version__}, which knows version {CHECKPOINT_VERSION}"
        )
    if type(number) is not int or file not in FILES:
        raise ModelFormatError("the manifest is damaged: it names no checkpoint")
    return Manifest(number, file)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Only one process may write checkpoints to a folder. The lock is on the folder, and ends with the process."""
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
