"""The README is run: its table is a file, its Python does what it says."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text()


def blocks(language: str, after: str) -> list[str]:
    section = README.split(f"## {after}\n")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = next(block for block in blocks("", "From a file to recommendations") if block.startswith("user,item"))
    (tmp_path / "plays.csv").write_text(table.replace("...\n", ""))
    first, *rest = blocks("python", "The same from Python")
    assert len(rest) >= 4
    names: dict[str, object] = {}
    with pytest.warns(UserWarning, match="n_components=50"):
        exec(first, names)
    for block in rest:
        exec(block, names)
    assert len(names["items"]) == 10  # type: ignore[arg-type]
    assert (tmp_path / "model.safetensors").exists()
    ((p, shape),) = re.findall(r"# ShiftedNegativeBinomial\(p=(\d\.\d+)\.\.\., a=(\d\.\d+)\.\.\.\)", README)
    element = names["model"].element  # type: ignore[attr-defined]
    assert (element.p, element.a) == pytest.approx((float(p), float(shape)), abs=0.01)


def test_commands_of_the_readme_exist() -> None:
    from dcpf.cli.main import app

    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    named = set(re.findall(r"(?:`|^\$ |^|bin/)dcpf ([a-z]+)(?: MODEL| -| [a-z.]+ -|`|$)", README, re.MULTILINE))
    assert {"fit", "recommend", "similar", "explain", "inspect", "doctor", "demo"} <= named & known
    assert named <= known, named - known
