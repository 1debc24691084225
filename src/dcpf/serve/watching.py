"""The model in use, and the file that a newer one is looked for in."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from dcpf.serve.loaded import Loaded
from dcpf.serve.loading import load

log = logging.getLogger("dcpf.serve")

Signature = tuple[int, int, int]


class Current:
    """The model in use. Whoever asks takes it once, and keeps it until the answer is made."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded  # replaced as a whole
        self.swaps = 0
        self.failures = 0
        self.leaving = False  # about to end


class Watcher:
    """A thread that looks at the file again and again, and swaps the model once a newer one is loaded."""

    def __init__(
        self, path: Path, current: Current, every: float, swapped: Callable[[], object] | None = None
    ) -> None:
        self._path, self._current, self._every, self._swapped = path, current, every, swapped
        self._stop = threading.Event()
        self._known: Signature | None = None
        self._thread = threading.Thread(target=self._run, name="dcpf-watch", daemon=True)

    def start(self, known: "Signature | None") -> None:
        """Look for anything but this, which is what the model in use was read from."""
        self._known = known
        self._thread.start()

    def stop(self) -> None:
        """Look no more. A load that is under way is not waited for."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            self.look()

    def look(self) -> None:
        """Load the file if it is another one than before. If it cannot be used, the model in use stays."""
        found = signature(self._path)
        if found == self._known:
            return
        self._known = found
        if found is None:
            log.warning("%s is gone; the model in use stays", self._path.name)
            return
        try:
            loaded = load(self._path)
        except Exception as error:  # whatever it is, it must not end the service
            self._current.failures += 1
            log.error("%s cannot be used, the model in use stays: %s", self._path.name, " ".join(str(error).split()))
            return
        if loaded.revision == self._current.loaded.revision or self._stop.is_set():
            return
        before, self._current.loaded = self._current.loaded.revision, loaded
        self._current.swaps += 1
        log.info("%s: revision %s in the place of %s", self._path.name, loaded.revision, before)
        if self._swapped is not None:
            self._swapped()


def signature(path: Path) -> Signature | None:
    """What tells a file from an older one of the same name, None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
