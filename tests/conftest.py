"""Machine code that is older than a source it may have been made from is thrown away before the tests."""

from pathlib import Path

import dcpf


def pytest_configure() -> None:
    """A kernel is compiled anew when its own file changes, but not when a kernel that it calls does."""
    package = Path(dcpf.__file__).parent
    newest = max(source.stat().st_mtime for source in package.rglob("*.py"))
    for compiled in package.rglob("__pycache__/*.nb[ic]"):
        if compiled.stat().st_mtime < newest:
            compiled.unlink()
