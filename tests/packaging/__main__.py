"""The package as others get it: build it, look into it, install it, and test what was installed.

    python -m tests.packaging [--lowest] [--python PYTHON] [--tests PATH ...] [--build-only]

A wheel is built from the sdist and must be the same as one from the checkout. The tests run in the unpacked sdist,
against the wheel, which is installed in a new environment: with the newest versions of all dependencies, or with
--lowest the oldest that pyproject.toml allows. With the newest, a program is also type-checked as a user would do it.
Needs git, and packages to download.
"""

import argparse
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.environments import ROOT, Environment, say
from tests.packaging.artifacts import differences, problems_of_sdist, problems_of_wheel
from tests.packaging.bounds import PROJECT, above, lowest

SHOWN = ("numpy", "scipy", "numba", "scikit-learn", "joblib", "polars", "narwhals", "typer", "rich", "safetensors")
# The oldest typer and matplotlib go with what is of their time: newer ones call them outdated, and a warning is an
# error in the tests
OF_THEIR_TIME = ("click>=8.2,<8.3", "pyparsing>=3.1,<3.3")


def build(tools: Environment, folder: Path) -> tuple[Path, Path]:
    """A wheel and an sdist without fault, or the end."""
    tools.install("build", "twine")
    tools.run("-m", "build", "--outdir", str(folder / "dist"), str(ROOT))
    tools.run("-m", "build", "--wheel", "--outdir", str(folder / "direct"), str(ROOT))
    (wheel,), (sdist,) = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
    (direct,) = (folder / "direct").glob("*.whl")
    tools.run("-m", "twine", "check", "--strict", str(wheel), str(sdist))
    found = [*problems_of_wheel(wheel, ROOT), *problems_of_sdist(sdist, ROOT), *differences(wheel, direct)]
    if found:
        raise SystemExit("\n".join(found))
    say(f"{wheel.name} ({wheel.stat().st_size:,} bytes) and {sdist.name} ({sdist.stat().st_size:,} bytes) are whole")
    return wheel, sdist


def test(environment: Environment, wheel: Path, sdist: Path, folder: Path, tests: list[str], oldest: bool) -> None:
    """Install the wheel and run the tests of the sdist against it."""
    if oldest:
        environment.install_lowest(ROOT / "pyproject.toml", "test", *OF_THEIR_TIME)
        environment.install("--no-deps", str(wheel))
    else:
        environment.install(f"dcpf[test] @ {wheel.as_uri()}")
    environment.tell("dcpf", *SHOWN)
    newer = above(lowest([*PROJECT["dependencies"], "dcpf[test]"]), environment.versions()) if oldest else []
    if newer:
        raise SystemExit("\n".join([*newer, "where that one cannot be installed, correct the bound"]))
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    unpacked = folder / sdist.name.removesuffix(".tar.gz")
    where = "import dcpf, sys; sys.exit(not dcpf.__file__.startswith(sys.prefix))"
    environment.run("-c", where, cwd=unpacked)
    if not oldest:
        type_check(environment, folder)
    # Types and style are a matter of the newest tools: old ones, and numpy's old types, see other faults
    chosen = ["--ignore=tests/test_house.py", *tests] if oldest else tests
    options = ["--quiet", "-p", "no:cacheprovider", "-n", "auto", "--dist", "loadfile"]
    environment.run("-m", "pytest", *options, *chosen, cwd=unpacked)


def type_check(environment: Environment, folder: Path) -> None:
    """A user's program under strict mypy, away from any settings of ours."""
    program = folder / "user_program.py"
    program.write_text((ROOT / "tests" / "typing" / "user_program.py").read_text())
    environment.run("-m", "mypy", "--strict", "--config-file=", program.name, cwd=folder)


def main() -> int:
    """Build, check, install, test; 1 if anything fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lowest", action="store_true", help="the oldest versions that are allowed")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--tests", nargs="*", default=["tests"], help="which to run; all by default")
    parser.add_argument("--build-only", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        try:
            wheel, sdist = build(Environment(folder / "tools", given.python), folder)
            if not given.build_only:
                installed = Environment(folder / "installed", given.python)
                test(installed, wheel, sdist, folder, given.tests, given.lowest)
        except subprocess.CalledProcessError as failed:
            say(f"failed: {failed}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
