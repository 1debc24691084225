"""A model of each kind, and a client of each."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from httpx import Client
from tests.serve.models import save, serving

from dcpf.model import FittedModel


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("serve")


@pytest.fixture(scope="session")
def model(folder: Path) -> FittedModel:
    """With names, history and excitation."""
    return save(folder / "plays.safetensors")


@pytest.fixture(scope="session")
def asking(folder: Path, model: FittedModel) -> Iterator[Client]:
    with serving(folder / "plays.safetensors") as made:
        yield made


@pytest.fixture(scope="session")
def bare(folder: Path) -> Iterator[Client]:
    """Of factors alone, without training counts, as a fit on several machines leaves it."""
    model = save(folder / "bare.safetensors", history=False, n_neighbors=0)
    replace(model, facts=replace(model.facts, sessions_per_count=None)).save(folder / "bare.safetensors")
    with serving(folder / "bare.safetensors") as made:
        yield made


@pytest.fixture(scope="session")
def numbered(folder: Path) -> Iterator[Client]:
    """Integer ids, no names, the binary element."""
    save(folder / "numbered.safetensors", numbered=True, element="binary")
    with serving(folder / "numbered.safetensors") as made:
        yield made
