"""The adapters for packages that want an environment of their own, with the real packages.

    python -m tests.adapters [lenskit rectools] [--python PYTHON] [--with REQUIREMENT ...] [--folder FOLDER]

LensKit brings torch. To have that without the libraries for graphics cards, say where its wheels for the processor
are, by pip's own settings, and name one: --with torch==...+cpu
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.environments import ROOT, Environment, say

PACKAGES = {"lenskit": ["lenskit", "hypothesis"], "rectools": ["rectools"]}


def check(name: str, python: str, extra: list[str], folder: Path) -> bool:
    """Whether the checks of this adapter pass in a new environment."""
    environment = Environment(folder / name, python)
    environment.install(str(ROOT), "pytest", *PACKAGES[name], *extra)
    environment.tell("dcpf", name, "numpy", "scipy", "numba", "pandas")
    options = ["--import-mode=importlib", "--quiet", "--no-header", "-p", "no:cacheprovider", "-o", "addopts="]
    ours = ["-W", "default", "-o", "markers=slow\neval"]  # their warnings are no errors, and their marks are known
    try:
        environment.run("-m", "pytest", *options, *ours, f"tests/adapters/{name}_checks.py")
    except subprocess.CalledProcessError:
        return False
    return True


def main() -> int:
    """Make the environments and run the checks; 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", choices=[*PACKAGES, []], default=list(PACKAGES))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--with", dest="extra", action="append", default=[], help="a further requirement")
    parser.add_argument("--folder", type=Path, help="where environments are kept; else they are removed")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        failed = [one for one in given.packages if not check(one, given.python, given.extra, folder)]
    say(f"failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
