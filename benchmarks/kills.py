"""Kill fits at random moments, and see that nothing is lost.

    python -m benchmarks.kills [--kills 200] [--together 4] [--seed 0]

A process fits with checkpoints and saves the model, again and again, until it is killed with SIGKILL at a random
moment. Several fits run in it together, in threads, each in a folder of its own. As it takes seconds to start Python
and import everything, that is done once, in a nursery, of which each process is a fork.
After each kill, of each fit: the model file is whole, and either the old one or the new one; a fit with the same
checkpoint goes on and ends in the bytes of a fit that was never disturbed; and no stray file remains. Each round has
its own seed, so that the old model and the new one differ.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dcpf import DCPF, load, store
from dcpf.simulation import listening_data

COUNTS = listening_data(np.random.default_rng(0), n_users=100, n_songs=80).counts
SEEDS = 5  # so many fits are known undisturbed, and take turns
LONGEST = 1.0  # seconds until a kill: some fits with their checkpoints and saves
MODEL, CHECKPOINT = "model.safetensors", "checkpoint"


def fit(seed: int, checkpoint: Path | None = None, iterations: int = 45) -> DCPF:
    """One fit, of a tenth of a second or so, with five checkpoints."""
    model = DCPF(8, max_iter=iterations, tol=0.0, random_state=seed, n_jobs=1, checkpoint=checkpoint)
    return model.fit(COUNTS)


def nursery() -> None:
    """For each line on standard input, a seed and folders, fork a process that fits for ever, and tell its end."""
    fit(0, iterations=2)
    print("ready", flush=True)
    for line in sys.stdin:
        seed, *folders = line.rstrip("\n").split("\t")
        born = os.fork()
        if born == 0:
            for folder in folders:
                threading.Thread(target=_fit_for_ever, args=(int(seed), Path(folder)), daemon=True).start()
            print(os.getpid(), flush=True)
            threading.Event().wait()
        _, status = os.waitpid(born, 0)
        print("killed" if os.WIFSIGNALED(status) else "ended by itself", flush=True)


def _fit_for_ever(seed: int, folder: Path) -> None:
    while True:
        fit(seed, folder / CHECKPOINT).save(folder / MODEL)


@dataclass
class Seen:
    """What kills have met with."""

    kills: int = 0
    fits: int = 0
    found: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def __str__(self) -> str:
        told = [f"{self.kills} processes with {self.fits} fits killed in {self.seconds:.0f} s, nothing lost"]
        return "\n".join(told + [f"{number:5} {what}" for what, number in sorted(self.found.items())])


def run(kills: int, together: int, seed: int, folder: Path) -> Seen:
    """So many kills, one after another, in this folder. Raises AssertionError at the first thing that is lost."""
    draw, seen, began = random.Random(seed), Seen(), time.perf_counter()
    expected = [_bytes_of(number, folder / MODEL) for number in range(SEEDS)]
    (folder / MODEL).unlink()
    folders = [folder / str(number) for number in range(together)]
    for one in folders:
        one.mkdir()
        (one / MODEL).write_bytes(expected[-1])
    with _start() as nurse:
        try:
            _answer(nurse, "ready")
            for number in range(kills):
                _kill(nurse, "\t".join([str(number % SEEDS), *map(str, folders)]), draw.uniform(0.0, LONGEST))
                for one in folders:
                    seen.found.update(_left(one))
                    _check_whole(one, number % SEEDS, expected)
                seen.kills, seen.fits = seen.kills + 1, seen.fits + together
        finally:
            nurse.kill()
    seen.seconds = time.perf_counter() - began
    return seen


def _bytes_of(seed: int, model: Path) -> bytes:
    fit(seed).save(model)
    return model.read_bytes()


def _check_whole(folder: Path, seed: int, expected: list[bytes]) -> None:
    """The old model or the new one is there; what was killed goes on to the new one; and nothing else is left."""
    model = folder / MODEL
    check(model.read_bytes() in (expected[seed - 1], expected[seed]), "the model file is another")
    store.verify(model)
    load(model)
    fit(seed, folder / CHECKPOINT).save(model)
    check(model.read_bytes() == expected[seed], "the fit that went on has other bytes")
    left = [one.name for one in folder.iterdir()]
    check(left == [MODEL], f"something was left behind: {left}")


def check(holds: bool, wrong: str) -> None:
    """An assertion that is never switched off."""
    if not holds:
        raise AssertionError(wrong)


def _start() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from benchmarks.kills import nursery; nursery()"]
    root = Path(__file__).parent.parent
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root)


def _answer(nurse: subprocess.Popen[str], expected: str | None = None) -> str:
    assert nurse.stdout is not None
    line = nurse.stdout.readline().strip()
    check(line == expected if expected else line.isdecimal(), f"a process did not start, and said {line!r}")
    return line


def _kill(nurse: subprocess.Popen[str], order: str, seconds: float) -> None:
    """Let a process begin, and kill it after so many seconds."""
    assert nurse.stdin is not None
    nurse.stdin.write(f"{order}\n")
    nurse.stdin.flush()
    process = int(_answer(nurse))
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    _answer(nurse, "killed")


def _left(folder: Path) -> list[str]:
    """What a kill has left, in words, for the summary."""
    checkpoint, strays = folder / CHECKPOINT, list(folder.rglob(".*"))
    files = list(checkpoint.glob("checkpoint-*")) if checkpoint.exists() else []
    manifest = store.CheckpointFolder(checkpoint).manifest()
    found = [f"came after iteration {manifest.number}" if manifest else "came where there was no checkpoint"]
    if any(checkpoint in one.parents for one in strays):
        found.append("left strays of a checkpoint")
    if any(checkpoint not in one.parents for one in strays):
        found.append("left strays of a model")
    if len(files) > (manifest is not None):
        found.append("left a file that no manifest names")
    return found


def main() -> None:
    """Kill and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--together", type=int, default=4, help="fits in each process")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(run(arguments.kills, arguments.together, arguments.seed, Path(folder)))


if __name__ == "__main__":
    main()
