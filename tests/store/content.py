"""Content for files, and what tests of files do with it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

posix = pytest.mark.skipif(sys.platform == "win32", reason="locks, modes and signals of POSIX")

DTYPES = ["?", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
META = {"name": "né\n\ud800", "rate": 0.1 + 0.2, "tiny": 5e-324, "deep": [{"a": [1, None, True]}], "large": 2**70}


def content(seed: int = 0) -> dict[str, np.ndarray]:
    """Every type, no axis, no entry, several axes; five bytes of bool make what follows them unaligned."""
    draw = np.random.default_rng(seed)
    arrays = {f"of {dtype}": draw.integers(0, 2, (3, 2)).astype(dtype) for dtype in DTYPES}
    return arrays | {
        "scalar": np.array(2.5),
        "none": np.zeros((0, 4)),
        "W": draw.random((5, 3)),
        "b": np.ones(5, bool),
    }


def assert_same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert set(found) == set(wanted)
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].shape == array.shape
        np.testing.assert_array_equal(found[name], array)


def names_in(folder: Path) -> list[str]:
    return sorted(found.name for found in folder.iterdir())


def run(code: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
