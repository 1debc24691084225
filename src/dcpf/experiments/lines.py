"""A file of one line of JSON for each thing that was done, written at once: whatever ends a run, it is kept."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

if sys.platform != "win32":
    import fcntl

FORMAT = 1


class Lines:
    """What a run has done, in a file. Its first line says what the run is: data, settings, version.

    A last line that a killed run left unfinished is dropped. The file is locked while it is open. A subclass says
    what a line holds; `way_out` is what its errors advise.
    """

    way_out = "choose another file, or remove it"

    def __init__(self, path: Path, about: Mapping[str, Any], *, restart: bool = False) -> None:
        self.path = path
        self.about = json.loads(json.dumps({"format": FORMAT, **about}, allow_nan=False))
        self._restart = restart
        self._file: BinaryIO | None = None

    def _take(self, plain: Any) -> None:
        """Take over what one line says."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._file = self.path.open("ab+")
        try:
            self._lock(self._file)
            if self._restart:
                self._file.truncate(0)
            self._file.seek(0)
            self._take_over(self._file)
        except BaseException:
            self._file.close()
            raise
        return self

    def _append(self, line: bytes) -> None:
        assert self._file is not None
        self._file.write(line)
        self._file.flush()
        os.fsync(self._file.fileno())

    def _lock(self, file: BinaryIO) -> None:
        if sys.platform != "win32":
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(
                    f"{self.path} is being written by another run; wait for it, or choose another place"
                ) from None

    def _take_over(self, file: BinaryIO) -> None:
        """Read what an earlier run has left, or begin."""
        whole = file.read()
        lines, head = whole.splitlines(keepends=True), json.dumps(self.about).encode() + b"\n"
        unfinished = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        if lines:
            self._check_same(self._parsed(lines[0], 1))
        elif not head.startswith(unfinished):  # a file of something else, which must not be cut
            raise self._broken(1, ValueError("no description of a run"))
        if unfinished:
            file.truncate(len(whole) - len(unfinished))
        if not lines:
            self._append(head)
        for number, line in enumerate(lines[1:], start=2):
            try:
                self._take(self._parsed(line, number))
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                raise self._broken(number, error) from None

    def _parsed(self, line: bytes, number: int) -> Any:
        try:
            return json.loads(line)
        except ValueError as error:
            raise self._broken(number, error) from None

    def _broken(self, number: int, error: Exception) -> ValueError:
        return ValueError(
            f"{self.path}, line {number}: not what a run writes ({type(error).__name__}: {error}); {self.way_out}"
        )

    def _check_same(self, found: Any) -> None:
        """Refuse results of another run, and say in what they differ."""
        if not isinstance(found, dict):
            raise self._broken(1, ValueError("no description of a run"))
        names = [*self.about, *(name for name in found if name not in self.about)]
        differences = [
            f"{name} {found.get(name)!r} there, {self.about.get(name)!r} here"
            for name in names
            if found.get(name) != self.about.get(name)
        ]
        if differences:
            raise ValueError(f"{self.path} holds results of another run: {'; '.join(differences)}; {self.way_out}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
