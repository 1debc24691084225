"""The house rules: lint, format, types, the arrows between rooms, names that stay in a room, and quick starts."""

import ast
import collections
import pkgutil
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "dcpf"
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


# A room is a package directly under dcpf, or a module there. These lists only shrink: the tests fail if an entry is
# no longer needed. `_bit_generator` is numpy's.
BORROWED_PRIVATE_NAMES = """
model: _bit_generator
"""
REPEATED_CLASS_NAMES = ""
# Of named tuples and of os: public in spite of the underscore
PUBLIC = {"_asdict", "_exit", "_fields", "_replace"}
SCHEMAS = SRC / "serve" / "answers.py"  # named as the API names them


def room_of(module: str) -> str:
    """The room of a module, as in `counts` for `dcpf.counts.ids`."""
    return [*module.split("."), "__init__"][1]


def syntax_trees() -> Iterator[tuple[Path, str, ast.Module]]:
    for path in sorted(SRC.rglob("*.py")):
        module = ".".join(path.relative_to(SRC.parent).with_suffix("").parts)
        yield path, room_of(module), ast.parse(path.read_text())


def names_defined(tree: ast.Module) -> Iterator[str]:
    """Functions, classes, variables, and attributes of `self`, fields and class attributes among the variables."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                yield name


def private_names_borrowed(room: str, tree: ast.Module, defined: set[str]) -> Iterator[tuple[str, int]]:
    """Underscore names, with their lines, that another room of dcpf or another package defines."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if not f"{module}.".startswith(f"dcpf.{room}."):
                found = [alias.name for alias in names]
            case ast.Attribute(attr=name) if name not in defined:
                found = [name]
            case _:
                continue
        yield from ((name, node.lineno) for name in found if re.match("_[^_]", name) and name not in PUBLIC)


def test_underscore_names_stay_in_their_room() -> None:
    trees = list(syntax_trees())
    defined = collections.defaultdict(set)
    for _, room, tree in trees:
        defined[room].update(names_defined(tree))
    borrowed = collections.defaultdict(list)
    for path, room, tree in trees:
        for name, line in private_names_borrowed(room, tree, defined[room]):
            borrowed[room, name].append(f"{path.relative_to(ROOT)}:{line} takes {name} from another room")
    rows = (row.split(": ") for row in BORROWED_PRIVATE_NAMES.split("\n") if row)
    allowed = {(room, name) for room, names in rows for name in names.split()}
    assert [where for key, places in borrowed.items() if key not in allowed for where in places] == []
    assert allowed - set(borrowed) == set(), "no longer borrowed: take it from BORROWED_PRIVATE_NAMES"


def test_a_public_class_name_occurs_once() -> None:
    places = collections.defaultdict(list)
    for path, _, tree in syntax_trees():
        for node in ast.walk(tree) if path != SCHEMAS else ():
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    repeated = {name: where for name, where in places.items() if len(where) > 1}
    allowed = set(REPEATED_CLASS_NAMES.split())
    assert {name: where for name, where in repeated.items() if name not in allowed} == {}
    assert allowed - set(repeated) == set(), "no longer repeated: take it from REPEATED_CLASS_NAMES"


def test_options_are_spelt_in_the_room_of_the_command_line_alone() -> None:
    """Other rooms name parameters; `cli.errors` says what these are called as options."""
    makes_commands = {"src/dcpf/evaluation/trials.py"}  # parameters as options of `dcpf fit`
    spelt = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value.strip()[:80]}"
        for path, room, tree in syntax_trees()
        if room != "cli" and str(path.relative_to(ROOT)) not in makes_commands
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.search(r"(?<![\w-])--[a-z]", node.value)
    ]
    assert spelt == []


def test_borrowed_private_names_are_noticed() -> None:
    """By import, by attribute of a module or an object, and when assigned; `_mine` is of the room itself."""
    tree = ast.parse(
        "from dcpf.counts.ids import _check, Ids\n"
        "from dcpf.model.fitted import _own\n"
        "import dcpf.counts.ids as ids\n"
        "ids._codes(model._rates, self._mine)\n"
        "model._state = item._replace(a=model.__dict__)\n"
    )
    own = ast.parse("class A:\n  _a: int\n  def _b(self): self._c = x._d")
    assert {name for name in names_defined(own) if name.startswith("_")} == {"_a", "_b", "_c"}
    found = sorted(private_names_borrowed("model", tree, {"_mine"}))
    assert found == [("_check", 1), ("_codes", 4), ("_rates", 4), ("_state", 5)]


EQUATIONS = (ROOT / "docs" / "equations.md").read_text()


def test_every_function_named_in_the_table_of_equations_exists() -> None:
    rooms = "elements|kernels|inference|ranking|simulation|parts|model|counts|evaluation"
    names = set(re.findall(rf"`((?:{rooms})(?:\.\w+)+)`", EQUATIONS))
    assert len(names) > 20
    for name in names:
        assert pkgutil.resolve_name(f"dcpf.{name}") is not None


def test_every_test_named_in_the_table_of_equations_exists() -> None:
    files = set(re.findall(r"`((?:\w+/)?test_\w+\.py)`", EQUATIONS))
    assert len(files) > 8
    for file in files:
        assert (ROOT / "tests" / file).exists(), file


def test_every_file_and_module_named_in_the_architecture_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    files = set(re.findall(r"`([a-z\d_/]+\.(?:py|md|toml)|[a-z_/]+/)`", text))
    below = [ROOT, *(ROOT / "src").rglob("**/"), *(ROOT / "tests").rglob("**/"), ROOT / "docs"]
    assert {file for file in files if not any((folder / file).exists() for folder in below)} == set()
    rooms = "elements|kernels|inference|ranking|readers|store|parts|model|counts|evaluation|serve|distributed"
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
