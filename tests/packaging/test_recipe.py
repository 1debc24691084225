"""What is said twice is said alike: dependencies, versions of Python, extras."""

import re
import tomllib
from pathlib import Path

import dcpf

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RECIPE = (ROOT / "conda" / "recipe.yaml").read_text()


def test_the_recipe_for_conda_has_the_same_bounds() -> None:
    wanted = dict(re.match(r"([\w.-]+)>=([\d.]+)", one).groups() for one in PROJECT["dependencies"])  # type: ignore[union-attr]
    section = RECIPE.split("  run:\n")[1].split("\ntests:")[0]
    found = dict(re.findall(r"- ([\w.-]+) >=([\d.]+)$", section, re.MULTILINE))
    assert len(wanted) > 10
    assert found == wanted


def test_the_recipe_for_conda_is_of_this_version() -> None:
    assert f'version: "{dcpf.__version__}"' in RECIPE
    assert f'python_min: "{PROJECT["requires-python"].removeprefix(">=")}"' in RECIPE


def test_workflows_test_each_python_that_the_package_is_said_to_run_on() -> None:
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    claimed = {one.split(" :: ")[-1] for one in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d", one)}
    assert set(re.findall(r'"(3\.\d+)"', workflow)) == claimed


def test_all_is_every_extra_that_a_user_may_want() -> None:
    extras = set(PROJECT["optional-dependencies"])
    (everything,) = PROJECT["optional-dependencies"]["all"]
    named = set(everything.removeprefix("dcpf[").removesuffix("]").split(","))
    assert named == extras - {"all", "test", "benchmarks", "docs", "examples"}
