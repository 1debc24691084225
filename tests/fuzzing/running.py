"""A worker is watched: what it tells, that it lives, and that it does not wait for ever."""

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

PATIENCE = 60.0  # seconds for one input; it takes some thousandths of that

_ROOT = Path(__file__).parents[2]
_START_UP = 300.0  # seconds until the first is read: kernels may have to be compiled
_ENOUGH = 10**9


@dataclass(frozen=True)
class Told:
    """What came of one input."""

    number: int
    kind: str
    outcome: str  # read, refused, or what broke the contract

    @property
    def is_good(self) -> bool:
        """Whether the contract was kept."""
        return self.outcome in ("read", "refused")


def run(
    seed: int,
    start: int,
    stop: int | None,
    kinds: list[str],
    seconds: float = _ENOUGH,
    patience: float = PATIENCE,
) -> Iterator[Told]:
    """Read the inputs from `start` to `stop`, or as many as there is time for; a worker that dies is replaced."""
    end = time.monotonic() + seconds
    number = start
    while (stop is None or number < stop) and time.monotonic() < end:
        with _worker(seed, number, stop or _ENOUGH, kinds) as worker:
            lines, waits, lives = _lines(worker), _START_UP, True
            while lives and (stop is None or number < stop) and time.monotonic() < end:
                try:
                    line = lines.get(timeout=waits)
                    outcome = f"the process ended with code {worker.wait()}" if line is None else line
                except queue.Empty:
                    line, outcome = None, f"no end after {waits:g} seconds"
                yield Told(number, kinds[number % len(kinds)], outcome)
                number, waits, lives = number + 1, patience, line is not None
            worker.kill()


def _worker(seed: int, start: int, stop: int, kinds: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.fuzzing.worker", str(seed), str(start), str(stop), *kinds]
    few = {"DCPF_MEMORY": "1GB", "POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
    return subprocess.Popen(
        command, cwd=_ROOT, env=os.environ | few, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def _lines(worker: subprocess.Popen[str]) -> "queue.Queue[str | None]":
    """The outcomes that a worker tells, as they come; None at the end."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read(stream: IO[str]) -> None:
        for line in stream:
            lines.put(line.rstrip("\n").split("\t")[-1])
        lines.put(None)

    assert worker.stdout is not None
    threading.Thread(target=read, args=[worker.stdout], daemon=True).start()
    return lines
