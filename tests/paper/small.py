"""A small experiment: simulated plays, three components, two starts."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from dcpf.counts import Counts
from dcpf.paper.protocol import Protocol
from dcpf.paper.reproduce import Reproduction, reproduce
from dcpf.simulation import listening_data

SETTINGS = Protocol(components=3, starts=2, seed=4, max_iter=300, tol=1e-3, k=10)


def plays(seed: int = 0) -> Counts:
    return Counts.of(listening_data(np.random.default_rng(seed), n_users=60, n_songs=40).counts)


def run(folder: Path, counts: Counts | None = None, settings: Protocol = SETTINGS, **more: Any) -> Reproduction:
    return reproduce(counts or plays(), folder, settings, **{"figures": False, "threads": 1} | more)


def lines(folder: Path) -> list[dict[str, Any]]:
    """What the journal holds, without its first line."""
    return [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()[1:]]


def tables(folder: Path) -> dict[str, bytes]:
    """The files with tables. Times are apart from them."""
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".md", ".csv", ".tex")}
    del found["times.csv"]
    return found
