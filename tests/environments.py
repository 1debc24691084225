"""New virtual environments, for what cannot be tested in the one that the tests run in."""

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

    def install_lowest(self, *requirements: str) -> None:
        """With uv, everything that is named as old as it may be."""
        self.install("uv")
        say(f"Installing the lowest of {' '.join(requirements)}")
        self.run(
            "-m",
            "uv",
            "pip",
            "install",
            "--quiet",
            "--python",
            self.python,
            "--resolution",
            "lowest-direct",
            *requirements,
        )

    def run(self, *arguments: str, cwd: Path = ROOT, **more: str) -> None:
        """Python with these arguments; an error if it fails. `more` goes into the environment of the process."""
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([self.python, *arguments], cwd=cwd, env=kept | more, check=True)

    def versions(self, *packages: str) -> str:
        """The versions of these packages, and of Python, in a line."""
        code = (
            "import sys, platform, importlib.metadata as m;"
            "print('Python', platform.python_version(), *(f'{p} {m.version(p)}' for p in sys.argv[1:]), sep=', ')"
        )
        return subprocess.run(
            [self.python, "-c", code, *packages], capture_output=True, text=True, check=True
        ).stdout.strip()
