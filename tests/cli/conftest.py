"""A small file of plays, names of its songs, and models that dcpf fit makes of them."""

from pathlib import Path

import pytest
from tests.cli.running import run, write_plays

LEAN = ("--components", "3", "--max-iter", "40", "--tol", "0", "--threads", "1")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("plays")
    write_plays(made)
    return made


@pytest.fixture(scope="session")
def plays(folder: Path) -> Path:
    return folder / "plays.csv"


@pytest.fixture(scope="session")
def model(folder: Path, plays: Path) -> Path:
    """Users and items are strings, and the items have names."""
    path = folder / "model.safetensors"
    result = run("fit", plays, "--names", folder / "names.csv", "-o", path, *LEAN)
    assert result.exit_code == 0, result.stderr
    return path


@pytest.fixture(scope="session")
def numbered(folder: Path) -> Path:
    """Users and items are integers, and there are no names."""
    path = folder / "numbered.safetensors"
    result = run("fit", folder / "numbered.csv", "-o", path, *LEAN, "--element", "binary")
    assert result.exit_code == 0, result.stderr
    return path


@pytest.fixture(scope="session")
def bare(folder: Path, plays: Path) -> Path:
    """A model without its counts."""
    path = folder / "bare.safetensors"
    result = run("fit", plays, "-o", path, *LEAN, "--no-history")
    assert result.exit_code == 0, result.stderr
    return path
