"""What a wheel and an sdist must hold."""

import subprocess
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

# What the tests read beside the package itself
NEEDED = ("pyproject.toml", "README.md", "CONTRIBUTING.md", "LICENSE", "conda/recipe.yaml")


def problems_of_wheel(wheel: Path, root: Path) -> list[str]:
    """What is missing in a wheel, or too much: it holds what git knows of src/dcpf, and its own metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        scripts = archive.read(metadata.replace("METADATA", "entry_points.txt")).decode()
    wanted = {str(PurePosixPath(*Path(one).parts[1:])) for one in _sources(root)}
    held = {name for name in names if name.startswith("dcpf/")}
    found = [f"not in the wheel: {one}" for one in sorted(wanted - held)]
    found += [f"in the wheel, but not in the sources: {one}" for one in sorted(held - wanted)]
    found += [f"not of the package: {one}" for one in sorted(names - held) if ".dist-info/" not in one]
    if "dcpf/py.typed" not in held:
        found.append("not in the wheel: dcpf/py.typed")
    if "dcpf = dcpf.cli.main:app" not in scripts:
        found.append("the command dcpf is not installed")
    return found


def problems_of_sdist(sdist: Path, root: Path) -> list[str]:
    """What its own tests would miss in an sdist."""
    with tarfile.open(sdist) as archive:
        names = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in archive.getnames()}
    wanted = {*NEEDED, *_sources(root), *_tracked(root, "tests", "docs", "benchmarks", ".github")}
    return [f"not in the sdist: {one}" for one in sorted(wanted - names)]


def differences(first: Path, second: Path) -> list[str]:
    """Files that are not the same in two wheels."""
    held = []
    for wheel in (first, second):
        with zipfile.ZipFile(wheel) as archive:
            held.append({name: archive.read(name) for name in archive.namelist()})
    names = held[0].keys() | held[1].keys()
    return [f"differs: {name}" for name in sorted(names) if held[0].get(name) != held[1].get(name)]


def _sources(root: Path) -> list[str]:
    return _tracked(root, "src/dcpf")


def _tracked(root: Path, *folders: str) -> list[str]:
    """Files there that git knows, or would not ignore."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", *folders]
    found = subprocess.run(listed, cwd=root, capture_output=True, text=True, check=True).stdout.split("\n")
    return [one for one in found if one and (root / one).exists()]
