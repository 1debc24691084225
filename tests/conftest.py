"""Before the tests, compiled code that may be older than its source is thrown away; after all, a speed is told."""

from pathlib import Path

import hypothesis
import pytest

import dcpf

hypothesis.settings.register_profile("dcpf", deadline=None)  # no test fails for the time it takes
hypothesis.settings.load_profile("dcpf")


def pytest_configure() -> None:
    """A kernel is compiled anew when its own file changes, but not when a kernel that it calls does."""
    package = Path(dcpf.__file__).parent
    sources = [source for room in ("kernels", "elements") for source in (package / room).rglob("*.py")]
    newest = max(source.stat().st_mtime for source in sources)
    for compiled in package.rglob("__pycache__/*.nb[ic]"):
        if compiled.stat().st_mtime < newest:
            compiled.unlink()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """After a full run, tell how fast an iteration is. It is no test, and holds nothing to a time."""
    ran = sum(len(terminalreporter.stats.get(outcome, ())) for outcome in ("passed", "failed"))
    if ran <= 1000:
        return
    from benchmarks.yardstick import ratio

    terminalreporter.write_line(f"one iteration takes {ratio():.2f} of the numpy yardstick")
