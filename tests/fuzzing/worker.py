"""Reads damaged files one after another, with little memory to spare, and tells of each what came of it.

    python -m tests.fuzzing.worker SEED START STOP [KIND ...]

A line for each input, its number, kind and outcome, is written before the next one is begun: so whoever reads them
knows which input ended the process, or keeps it waiting.
"""

import os
import random
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from tests.fuzzing import contract
from tests.fuzzing.bombs import BOMBS
from tests.fuzzing.originals import KINDS, VALID

MEMORY = 2**30  # bytes beyond what the program has before the first input

TRAPS: dict[str, Callable[[], object]] = {  # what must not happen: to see that it would be seen
    "crash": os.abort,
    "wait": lambda: time.sleep(3600),
    "greed": lambda: bytearray(2 * MEMORY),
    "exit": lambda: sys.exit("gone"),
}


def input_of(seed: int, number: int, kinds: list[str]) -> tuple[str, bytes]:
    """The kind and the bytes of an input: they depend on these numbers alone."""
    kind = kinds[number % len(kinds)]
    if kind in BOMBS:
        return kind, BOMBS[kind]()
    if kind in TRAPS:
        return kind, b""
    return kind, KINDS[kind](random.Random(f"{seed} {kind} {number}"))


def main(seed: int, start: int, stop: int, kinds: list[str]) -> None:
    """Read the inputs from `start` to `stop`."""
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input"
        for kind, made in VALID.items():  # loads what is loaded when it is first needed
            path.write_bytes(made())
            assert contract.read(kind, path) == "read"
        resource.setrlimit(resource.RLIMIT_AS, (_size() + MEMORY,) * 2)
        for number in range(start, stop):
            kind, data = input_of(seed, number, kinds)
            path.write_bytes(data)
            del data
            try:
                outcome = TRAPS[kind]() if kind in TRAPS else contract.read(kind, path)
            except BaseException as error:  # whatever it is, it is told
                outcome = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            sys.stdout.write(f"{number}\t{kind}\t{outcome}\n")
            sys.stdout.flush()


def _size() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), sys.argv[4:] or list(KINDS))
