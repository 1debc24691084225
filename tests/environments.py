"""New virtual environments, for what cannot be tested in the one that the tests run in."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def say(line: str) -> None:
    """At once: what comes next may take minutes."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Environment:
    """A virtual environment in a folder, made anew."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        say(f"Making {folder.name} with {python}")
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        self._scripts = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = str(self._scripts / "python")

    def install(self, *requirements: str) -> None:
        """With pip."""
        say(f"Installing {' '.join(requirements)}")
        self.run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements)

    def install_lowest(self, project: Path, extra: str, *further: str) -> None:
        """With uv, what a project and an extra of it name, as old as it may be; without the project itself.

        From its file: what a wheel names counts as indirect, and would be as new as it can be.
        """
        self.install("uv")
        say(f"Installing the lowest of what {project.name} names")
        wanted = ["--resolution", "lowest-direct", "--requirements", str(project), "--extra", extra, *further]
        self.run("-m", "uv", "pip", "install", "--quiet", "--python", self.python, *wanted)

    def run(self, *arguments: str, cwd: Path = ROOT, **more: str) -> None:
        """Python with these arguments; an error if it fails. `more` goes into the environment of the process."""
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([self.python, *arguments], cwd=cwd, env=kept | more, check=True)

    def versions(self) -> dict[str, str]:
        """The versions of all packages that are installed, by name."""
        code = (
            "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
        )
        found = subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=True).stdout
        return {name.lower().replace("_", "-"): version for name, version in json.loads(found).items()}

    def tell(self, *packages: str) -> None:
        """Say the versions of these packages, and of Python."""
        code = "import platform; print(platform.python_version())"
        python = subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        known = self.versions()
        say(", ".join([f"Python {python}", *(f"{name} {known[name]}" for name in packages)]))
