"""`dcpf serve` in a process of its own."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE = 120  # seconds for a service that never says a word


@contextmanager
def running(path: Path, *options: str, **environment: str) -> "Iterator[tuple[subprocess.Popen[str], str]]":
    """The process, and the address that it prints. It is gone afterwards."""
    command = [sys.executable, "-m", "dcpf", "serve", str(path), "--port", "0", *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | environment
    )
    limit = threading.Timer(_PATIENCE, process.kill)
    limit.start()
    try:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(3)]
        limit.cancel()
        assert told[2] == "Ctrl-C stops it.\n", process.communicate()[1]
        yield process, told[1].strip()
    finally:
        limit.cancel()
        process.kill()
        process.communicate()
