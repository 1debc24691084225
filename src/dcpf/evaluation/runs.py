"""Runs of many fits: a journal that keeps finished fits when a run stops, and processes to measure fits in."""

import dataclasses
import json
import math
import os
import re
import signal
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread, current_thread, main_thread
from types import FrameType, TracebackType
from typing import Any, BinaryIO, ClassVar, Generic, Protocol, Self, TypeVar

if sys.platform != "win32":
    import fcntl

FORMAT = 1  # of journals
_READABLE = 160  # characters; an error shows a difference only if it is not longer


class FinishedFit(Protocol):
    """A dataclass with the result of a fit, as a journal keeps it."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def key(self) -> Hashable:
        """Identifies the fit."""

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """The record from its fields as JSON has them, with None for NaN."""


R = TypeVar("R", bound=FinishedFit)
T = TypeVar("T")


class Journal(Generic[R]):
    """Finished fits in a file, as `records` by key. Use it as a context; the file is locked meanwhile.

    Each line is a JSON object. The first describes the run: data, settings, versions. A journal of another run is
    refused; `way_out` ends the error. A last line that a killed run left incomplete is dropped.
    """

    def __init__(
        self,
        path: Path,
        kind: type[R],
        about: Mapping[str, Any],
        *,
        way_out: str = "choose another file, or remove it",
        restart: bool = False,
    ) -> None:
        self.path, self.records = path, dict[Any, R]()
        self._kind, self._way_out, self._restart = kind, way_out, restart
        self._about = json.loads(json.dumps({"format": FORMAT, **about}, allow_nan=False))
        self._file: BinaryIO | None = None

    def add(self, record: R) -> None:
        """Keep a record. It is on the disk when this returns."""
        assert self._file is not None
        new = self._file.tell() == 0
        lines = [self._about] * new + [_without_nan(dataclasses.asdict(record))]
        self._file.write(b"".join(json.dumps(line, allow_nan=False).encode() + b"\n" for line in lines))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.records[record.key] = record

    def __enter__(self) -> Self:
        self._file = self.path.open("ab+")
        try:
            self._lock(self._file)
            if self._restart:
                self._file.truncate(0)
            self._read(self._file)
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def _lock(self, file: BinaryIO) -> None:
        if sys.platform != "win32":
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(
                    f"{self.path} is being written by another run; wait for it, or choose another place"
                ) from None

    def _read(self, file: BinaryIO) -> None:
        """Read the lines of an earlier run."""
        file.seek(0)
        content = file.read()
        lines = content.splitlines(keepends=True)
        incomplete = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        for number, line in enumerate(lines, start=1):
            try:
                plain = json.loads(line)
                if number > 1:
                    record = self._kind.from_plain(plain)
                    self.records[record.key] = record
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                raise self._invalid(number, f"{type(error).__name__}: {error}") from None
            if number == 1:
                self._check_same_run(plain)
        if not lines and not (json.dumps(self._about).encode() + b"\n").startswith(incomplete):
            raise self._invalid(1, "no description of a run")  # a file of something else, which must not be cut
        if incomplete:
            file.truncate(len(content) - len(incomplete))
            file.seek(0, os.SEEK_END)

    def _invalid(self, number: int, reason: str) -> ValueError:
        return ValueError(f"{self.path}, line {number}: not what a run writes ({reason}); {self._way_out}")

    def _check_same_run(self, about: Any) -> None:
        """Refuse the journal of another run, and say how the runs differ."""
        if not isinstance(about, dict):
            raise self._invalid(1, "no description of a run")
        differences = []
        for name in [*self._about, *(name for name in about if name not in self._about)]:
            there, here = about.get(name), self._about.get(name)
            if there != here:
                said = f"{name} {there!r} there, {here!r} here"
                differences.append(said if len(said) <= _READABLE else f"other {name}")
        if differences:
            raise ValueError(f"{self.path} holds results of another run: {'; '.join(differences)}; {self._way_out}")


def _without_nan(value: Any) -> Any:
    """The same with None for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Worker:
    """Calls functions in a process of its own, one after another, all with the same first argument.

    Functions and arguments are pickled. The process ignores Ctrl-C, and ends with its parent; an error or interrupt
    inside the context ends it at once.
    """

    def __init__(self, shared: Any) -> None:
        self._shared = shared
        self._process: BaseProcess | None = None
        self._pool = self._new_pool()

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """function(shared, *arguments), called in the process. Errors are raised here.

        If the process crashes, this raises BrokenProcessPool, and the next call starts a new process.
        """
        try:
            return self._submit(function, *arguments).result()
        except BrokenProcessPool:
            self._pool = self._new_pool()
            raise

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, get_context("spawn"), initializer=_start, initargs=(self._shared,))

    def _submit(self, function: Callable[..., T], *arguments: Any) -> "Future[T]":
        with _interrupts_deferred():  # an interrupt must not leave a process half started
            before = active_children()
            future = self._pool.submit(_call, function, *arguments)
            self._process = next((one for one in active_children() if one not in before), self._process)
        return future

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and self._process is not None:
            self._process.kill()
        self._pool.shutdown(cancel_futures=True)


_shared: Any = None  # in the process of a worker


def _start(shared: Any) -> None:
    global _shared
    _shared = shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _call(function: Callable[..., T], *arguments: Any) -> T:
    return function(_shared, *arguments)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Handle Ctrl-C at the end, where the system can. Processes started here never receive it."""
    if sys.platform == "win32" or current_thread() is not main_thread():
        yield
        return
    received: list[tuple[int, FrameType | None]] = []  # by another thread, on behalf of this one
    handler = signal.signal(signal.SIGINT, lambda number, frame: received.append((number, frame)))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited by processes
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if received and callable(handler):
            handler(*received[0])


def reset_peak_memory() -> int:
    """Measure the peak from now on, where the system can, and return `peak_memory()`."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak_memory()


def peak_memory() -> int:
    """The most memory that this process has used, in bytes; 0 on Windows, where it is unknown."""
    status = Path("/proc/self/status")
    if status.exists() and (peak := re.search(r"VmHWM:\s+(\d+) kB", status.read_text())) is not None:
        return 1024 * int(peak[1])
    if sys.platform == "win32":
        return 0
    import resource

    peak_rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak_rss if sys.platform == "darwin" else 1024 * peak_rss
