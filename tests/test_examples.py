"""Every example of the documentation is run, as a user would after the first steps of docs/start.md."""

import os
import runpy
import shlex
import shutil
from pathlib import Path

import pytest
from tests.cli.running import run

from dcpf.elements import base

EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"
PREPARED = ("plays.py", "split.py")  # what the others begin with
RUN = sorted(path.name for path in EXAMPLES.glob("*.[ps][yh]") if path.name not in PREPARED)


def run_example(name: str) -> None:
    """In the current folder."""
    path = EXAMPLES / name
    if path.suffix == ".py":
        runpy.run_path(str(path), run_name="__main__")
        return
    for line in path.read_text().splitlines():
        program, *arguments = shlex.split(line)
        assert program == "dcpf"
        result = run(*arguments)
        assert result.exit_code == 0, f"{line}\n{result.output}"


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with plays, a split of them, a model, and the counts of someone new."""
    folder, before = tmp_path_factory.mktemp("examples"), Path.cwd()
    os.chdir(folder)
    try:
        for name in PREPARED:
            run_example(name)
        assert run("fit", "plays.csv", "-o", "plays.safetensors", "--components", 12).exit_code == 0
    finally:
        os.chdir(before)
    shutil.copy(EXAMPLES / "new.csv", folder)
    return folder


@pytest.mark.parametrize("name", RUN)
def test_the_example_runs(name: str, begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(begun, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))  # an element of an example is not known elsewhere
    run_example(name)
    assert not (tmp_path / "checkpoint").exists()
