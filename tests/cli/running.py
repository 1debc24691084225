"""How the tests run dcpf, and the plays that they give to it."""

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner, Result

from dcpf.cli.main import app

PLAIN = {"COLUMNS": "80", "NO_COLOR": None, "FORCE_COLOR": None}
TRICKY = "[bold]x[/bold]"  # a name that would be taken for markup


def run(*arguments: object) -> Result:
    """In this process, as if in a terminal of 80 columns without colours."""
    return CliRunner().invoke(app, [str(one) for one in arguments], env=PLAIN)


def run_alone(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """In a process of its own."""
    command = [sys.executable, "-m", "dcpf", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def printed(*arguments: object) -> Any:
    """What a command prints as JSON."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def refused(*arguments: object) -> str:
    """The one line that a command says of something that it cannot do."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if line.startswith("dcpf: ")]
    assert len(lines) == 1, result.stderr
    assert result.stderr.endswith(lines[0] + "\n")
    return lines[0]


def write_plays(folder: Path) -> None:
    """plays.csv and names.csv, numbered.csv with integer ids, and history.csv of one known and one new user."""
    rng = np.random.default_rng(0)
    users = ["alice", "bob", *(f"user {u}" for u in range(2, 30))]
    rates = rng.gamma(0.4, 1.0, (30, 3)) @ rng.gamma(0.4, 1.0, (3, 20))
    counts = rng.poisson(rates) * rng.geometric(0.4, rates.shape)
    counts[:2, :3] += 1
    counts[np.arange(30), np.arange(30) % 20] += 1  # so that nobody is without a play
    rows = [(u, i, counts[u, i]) for u in range(30) for i in range(20) if counts[u, i]]
    _write(folder / "plays.csv", ("user", "item", "plays"), [(users[u], f"s{i}", y) for u, i, y in rows])
    _write(folder / "numbered.csv", ("user", "item", "plays"), [(100 + u, 500 + i, y) for u, i, y in rows])
    names = ["Nina Simone", TRICKY, "Twice", "Twice", "An extremely long name " * 8]
    names += [f"Song {i}" for i in range(5, 20)]
    _write(folder / "names.csv", ("item", "name"), [(f"s{i}", name) for i, name in enumerate(names)])
    fresh = [("alice", "s5", 4), ("zoe", "s0", 2), ("zoe", "s7", 9), ("zoe", "elsewhere", 1)]
    _write(folder / "history.csv", ("user", "item", "plays"), fresh)


def _write(path: Path, header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
