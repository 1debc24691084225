"""The lowest versions that pyproject.toml allows."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def lowest(requirements: list[str]) -> dict[str, str]:
    """The lowest version of each package, those included that are named by way of an extra of our own."""
    found: dict[str, str] = {}
    for one in requirements:
        if one.startswith("dcpf["):
            for extra in one.removeprefix("dcpf[").removesuffix("]").split(","):
                found |= lowest(PROJECT["optional-dependencies"][extra])
        else:
            name, version = re.match(r"([\w.-]+)>=([\d.]+)", one).groups()  # type: ignore[union-attr]
            found[name] = version
    return found


def above(bounds: dict[str, str], installed: dict[str, str]) -> list[str]:
    """What is installed in another version than the lowest. A package that is not there is not needed there."""
    return [
        f"{name} {installed[name]} is not the lowest, {bound}"
        for name, bound in bounds.items()
        if name in installed and _parts(installed[name]) != _parts(bound)
    ]


def _parts(version: str) -> list[str]:
    """Without zeros at the end, which mean nothing: 1.6.0 is 1.6."""
    return re.sub(r"(\.0)+$", "", version).split(".")
