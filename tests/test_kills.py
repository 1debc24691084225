"""Fits that are killed at any moment lose nothing. `python -m benchmarks.kills` kills more of them."""

import sys
from pathlib import Path

import pytest
from benchmarks import kills


@pytest.mark.skipif(sys.platform == "win32", reason="there are no forks")
def test_kills_at_random_moments_lose_nothing(tmp_path: Path) -> None:
    seen = kills.run(kills=30, together=2, seed=0, folder=tmp_path)
    assert (seen.kills, seen.fits) == (30, 60)
