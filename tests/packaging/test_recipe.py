"""What is said twice is said alike: dependencies, versions of Python, extras."""

import re

from tests.packaging.bounds import PROJECT, ROOT, above, lowest

import dcpf

RECIPE = (ROOT / "conda" / "recipe.yaml").read_text()


def test_the_recipe_for_conda_has_the_same_bounds() -> None:
    wanted = lowest(PROJECT["dependencies"])
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


def test_what_is_above_its_bound_is_found() -> None:
    bounds = lowest(["numpy>=1.26", "dcpf[plots]", "backports.zstd>=1.0; python_version < '3.14'"])
    assert bounds == {"numpy": "1.26", "matplotlib": "3.9", "backports.zstd": "1.0"}
    assert above(bounds, {"numpy": "1.26.0", "matplotlib": "3.9", "more": "7"}) == []
    assert above(bounds, {"numpy": "1.26.4", "matplotlib": "3.90"}) == [
        "numpy 1.26.4 is not the lowest, 1.26",
        "matplotlib 3.90 is not the lowest, 3.9",
    ]
