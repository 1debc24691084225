"""A cluster of processes of its own, small blocks, and counts in several files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dcpf
from dcpf.distributed import local_cluster, prepared
from dcpf.inference import data

BLOCK = 700  # entries


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """Two workers; tests that need more start them."""
    with local_cluster(2, 1) as client:
        yield client


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (data, prepared):
        monkeypatch.setattr(module, "BLOCK_ENTRIES", BLOCK)


def plays(seed: int = 0, users: int = 300, items: int = 60) -> pl.DataFrame:
    """Rows of users, items and counts, in no order; pairs are repeated, one user has nearly everything."""
    rng = np.random.default_rng(seed)
    n = 6000
    user = rng.choice(users, n, p=(w := rng.gamma(0.5, 1.0, users) + 0.01) / w.sum())
    item = rng.choice(items, n, p=(w := rng.gamma(0.5, 1.0, items) + 0.01) / w.sum())
    user[:500] = 7
    return pl.DataFrame({"user": user, "item": item, "count": 1 + rng.poisson(2.0, n)})


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder of four files."""
    folder = tmp_path / "plays"
    folder.mkdir()
    table = plays()
    for number in range(4):
        table[number::4].write_parquet(folder / f"part-{number}.parquet")
    return folder


def saved(model: dcpf.DCPF, path: Path) -> bytes:
    model.set_params(callback=None, checkpoint=None, verbose=False).save(path)
    return path.read_bytes()
