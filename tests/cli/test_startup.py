"""Questions import little: what a single question does not need is not waited for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"sklearn", "joblib", "pandas", "numba", "llvmlite", "matplotlib", "polars", "threadpoolctl"}
HEAVY |= {"scipy.stats", "scipy.optimize"}

QUESTIONS = {
    "recommend": ("--user", "bob"),
    "similar": ("--item", "s0"),
    "explain": ("--user", "bob", "--item", "s1"),
    "inspect": (),
}


def imported(*arguments: object) -> set[str]:
    """Packages, and the rooms of scipy, that a command imports."""
    command = [sys.executable, "-X", "importtime", "-m", "dcpf", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    modules = [line.rpartition("|")[2].strip() for line in result.stderr.splitlines() if "import time:" in line]
    assert "numpy" in modules
    return {name for module in modules for name in (module.split(".")[0], ".".join(module.split(".")[:2]))}


@pytest.mark.parametrize("json", [(), ("--json",)], ids=["table", "json"])
@pytest.mark.parametrize("command", QUESTIONS)
def test_a_question_imports_nothing_heavy(model: Path, command: str, json: tuple[str, ...]) -> None:
    assert imported(command, model, *QUESTIONS[command], *json) & HEAVY == set()


def test_polars_writes_tables(model: Path, tmp_path: Path) -> None:
    assert imported("recommend", model, "--user", "bob", "-o", tmp_path / "lists.csv") & HEAVY == {"polars"}
