"""The house rules: lint, format, types, the arrows between rooms, and quick starts."""

import pkgutil
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = Path(sysconfig.get_path("scripts"))


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "src", "tests", "benchmarks", "docs"],
        ["ruff", "format", "--check", "src", "tests", "benchmarks", "docs"],
        ["mypy"],
        ["lint-imports"],
    ],
    ids=" ".join,
)
def test_house_rule_holds(command: list[str]) -> None:
    found = subprocess.run(
        [SCRIPTS / command[0], *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("heavy", ["numba", "sklearn", "scipy", "numpy"])
@pytest.mark.parametrize("start", ["import dcpf", "import dcpf.cli.main"])
def test_nothing_heavy_is_imported_before_it_is_needed(start: str, heavy: str) -> None:
    code = f"{start}; import sys; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_public_names_are_there() -> None:
    import dcpf

    assert set(dcpf.__all__) <= set(dir(dcpf))
    for name in dcpf.__all__:
        assert getattr(dcpf, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        dcpf.nothing  # noqa: B018


EQUATIONS = (ROOT / "docs" / "equations.md").read_text()


def test_every_function_named_in_the_table_of_equations_exists() -> None:
    rooms = "elements|kernels|inference|ranking|simulate|model|counts|evaluation"
    names = set(re.findall(rf"`((?:{rooms})(?:\.\w+)+)`", EQUATIONS))
    assert len(names) > 20
    for name in names:
        assert pkgutil.resolve_name(f"dcpf.{name}") is not None


def test_every_test_named_in_the_table_of_equations_exists() -> None:
    files = set(re.findall(r"`((?:\w+/)?test_\w+\.py)`", EQUATIONS))
    assert len(files) > 8
    for file in files:
        assert (ROOT / "tests" / file).exists(), file


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "docs/design.md"])
def test_every_file_and_module_named_in_the_pages_on_the_code_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    files = set(re.findall(r"`([a-z\d_/]+\.(?:py|md)|[a-z_/]+/)`", text))
    below = [ROOT, *(ROOT / "src").rglob("**/"), *(ROOT / "tests").rglob("**/"), ROOT / "docs"]
    assert {file for file in files if not any((folder / file).exists() for folder in below)} == set()
    rooms = "elements|kernels|inference|ranking|readers|store|model|counts|evaluation|serve|distributed"
    names = set(re.findall(rf"`((?:{rooms})(?:\.\w+)+)`", text)) - files
    assert len(files) + len(names) > 15
    for name in names:
        assert pkgutil.resolve_name(f"dcpf.{name}") is not None


def test_every_promise_of_reliability_names_tests_that_exist() -> None:
    text = (ROOT / "docs" / "reliability.md").read_text()
    promises = re.findall(r"^\| (?!promise|run|broken|---|`|before|\| |float|.*\| the same)(.+)$", text, re.MULTILINE)
    assert len(promises) > 30
    assert [promise for promise in promises if ".py::" not in promise] == []
    assert_named_tests_exist(text)


def assert_named_tests_exist(text: str) -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", text)
    assert len(named) > 30
    for file, test in named:
        assert f"def {test}(" in (ROOT / "tests" / file).read_text(), f"{file}::{test}"
