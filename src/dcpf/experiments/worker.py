"""A process of its own for a recommender, so that its memory can be measured and its end ends nothing else."""

import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread, current_thread, main_thread
from types import FrameType, TracebackType
from typing import Self

import numpy as np

from dcpf.counts import Counts
from dcpf.evaluation import Evaluation, evaluate
from dcpf.experiments.contenders import CONTENDERS, Settings

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Trial:
    """One fit of a contender, and how well it ranked."""

    evaluation: Evaluation
    fit_seconds: float
    rank_seconds: float
    memory: int  # bytes that fit and ranking took at their peak, beyond the data and the libraries


@dataclass(frozen=True)
class Round:
    """What all fits share: the counts to learn from and to find, and how lists are judged."""

    train: Counts
    test: Counts
    k: int
    thresholds: tuple[int, ...]
    seed: int


class Worker:
    """Fits contenders to the same counts, one after another, in a process of its own.

    Ctrl-C is for whoever started it. Whatever it is doing, the process ends with this one, and when an error or an
    interrupt comes through here.
    """

    def __init__(self, given: Round) -> None:
        self._given = given
        self._process: BaseProcess | None = None
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, get_context("spawn"), initializer=_hold, initargs=(self._given,))

    def try_out(self, name: str, settings: Settings) -> Trial:
        """Fit and judge. What the contender raises is raised here; if its process ends, the next has a new one."""
        try:
            return self._submit(name, settings).result()
        except BrokenProcessPool:
            self._pool = self._new_pool()
            raise

    def _submit(self, name: str, settings: Settings) -> "Future[Trial]":
        """Start the fit, and its process if there is none."""
        with _no_interrupt():  # half of what starts a process would be an error there
            before = active_children()
            future = self._pool.submit(_try_out, name, settings)
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


_held: Round | None = None


def _hold(given: Round) -> None:
    global _held
    _held = given
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Put Ctrl-C off, where the system can. A process that is started meanwhile never hears of it."""
    if sys.platform == "win32" or current_thread() is not main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []  # to another thread, from which it is taken to this one
    handler = signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which processes inherit
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if came and callable(handler):
            handler(*came[0])


def _try_out(name: str, settings: Settings) -> Trial:
    assert _held is not None
    contender, given = CONTENDERS[name], _held
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        contender.new(settings, given.seed).fit(_small())  # loads what is compiled and imported late
        before = _start_of_peak()
        began = time.perf_counter()
        model = contender.new(settings, given.seed).fit(given.train)
        fitted = time.perf_counter()
        found = evaluate(model, given.test, given.k, given.thresholds)
        ranked = time.perf_counter()
    return Trial(found, fitted - began, ranked - fitted, max(_peak() - before, 0))


def _small() -> Counts:
    counts = np.random.default_rng(0).poisson(0.5, size=(30, 20))
    counts[:, 0] += 1
    return Counts.from_matrix(counts)


def _start_of_peak() -> int:
    """Let the highest mark of memory start from now, where the system lets us, and say where it is."""
    with suppress(OSError):
        _RESET.write_text("5")
    return _peak()


def _peak() -> int:
    """The most memory that this process has had, in bytes."""
    if _STATUS.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", _STATUS.read_text())
        if found is not None:
            return 1024 * int(found[1])
    if sys.platform == "win32":
        return 0  # not known
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most
