"""The model in use: read from a private copy of its file, and replaced once there is a newer one."""

import hashlib
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dcpf import store
from dcpf.model import FittedModel
from dcpf.model import load as load_model
from dcpf.ranking.lists import largest
from dcpf.serve.answers import Card, Component, File, Item, ListedComponent
from dcpf.serve.directory import Directory

log = logging.getLogger("dcpf.serve")

Signature = tuple[int, int, int]

_TOP = 8  # items listed for each component
_SMALL = 2**16  # items
_ROWS = 2**14  # users compared at a time
_PIECE = 2**20  # bytes copied at a time


class ServedModel:
    """One revision of the model, with what requests look up often. Threads share it; it never changes."""

    def __init__(self, model: FittedModel, revision: str, file: File) -> None:
        self.model, self.revision, self.file = model, revision, file
        self.loaded_at = datetime.now(UTC)
        self.card: Card | None = None  # once it has been asked for
        history, factors = model.history, model.part("factors")
        self.item_users = None if history is None else np.bincount(history.indices, minlength=len(model.items))
        self.item_totals = None if history is None else np.asarray(history.sum(axis=0))
        activity = factors.user_means @ factors.item_sums if history is None else np.diff(history.indptr)
        popularity = model.popularity if self.item_users is None else self.item_users
        self.users = Directory(model.users, None, activity, "user")
        self.items = Directory(model.items, model.names, popularity, "item")

    def item(self, place: int) -> Item:
        """The id and the name of an item."""
        return {"item": self.model.items[place], "name": self.model.catalogue.named(place)}

    @property
    def is_small(self) -> bool:
        """Whether making a list takes no longer than waking a thread to make it."""
        return len(self.model.items) <= _SMALL

    @cached_property
    def components(self) -> list[ListedComponent]:
        """All components by number, each with the number of users who expect most of their sessions from it."""
        factors = self.model.part("factors")
        W, of_items = factors.user_means, factors.item_sums
        users = np.zeros(len(of_items), dtype=np.int64)
        for start in range(0, len(W), _ROWS):
            users += np.bincount(np.argmax(W[start : start + _ROWS] * of_items, axis=1), minlength=len(users))
        described = [self.model.component(number, _TOP) for number in range(len(users))]
        return [
            {
                "number": one.number,
                "share": one.share,
                "users": int(users[one.number]),
                "items": [{"item": item.id, "name": item.name} for item in one.items],
            }
            for one in described
        ]

    def main_components(self, sessions: NDArray[np.floating], n: int) -> list[Component]:
        """The n components with the most of these sessions, and the share of each."""
        shares = sessions / (sessions.sum() or 1.0)
        return [
            {"number": number, "share": float(shares[number]), "items": self.components[number]["items"][:3]}
            for number in largest(shares, n).tolist()
        ]

    def warm(self) -> None:
        """Answer each kind of question once: it compiles, fills caches, and shows whether the model can answer."""
        model = self.model
        _ = model.item_side.layout  # from here on, lists are ranked by compiled code
        item = model.items[self.items.search("", 1)[0][0]]
        history = {item: 1}
        model.recommend(history=history, n_jobs=1)
        model.explain(None, item, history=history, n_jobs=1)
        model.predict_pairs(None, item, history=history, n_jobs=1)
        model.similar_items(item, n_jobs=1)
        if model.history is not None:
            model.recommend(model.users[0], n_jobs=1)


def load(path: str | os.PathLike[str]) -> ServedModel:
    """Load a model file, check every bit of it, and make it ready to answer.

    The model is mapped from a copy in the folder for temporary files, and the copy is unlinked at once. So whatever
    happens to the file, even a write in place, the model in use stays as it is.
    """
    folder = Path(tempfile.mkdtemp(prefix="dcpf-serve-"))
    try:
        copy = folder / Path(path).name
        revision = _copy(Path(path), copy)
        try:
            store.verify(copy)
            model = load_model(copy)
        except store.ModelFormatError as error:
            raise store.ModelFormatError(str(error).replace(os.fspath(copy), os.fspath(path))) from None
        facts = store.facts(copy)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    file: File = {"name": copy.name, "bytes": facts["bytes"], "format": facts["format"], "dcpf": facts["dcpf"]}
    served = ServedModel(model, revision, file)
    served.warm()
    return served


def _copy(source: Path, target: Path) -> str:
    """Copy a file and return its revision, the start of its checksum."""
    digest = hashlib.blake2b(digest_size=6)
    with source.open("rb") as reading, target.open("wb") as writing:
        while piece := reading.read(_PIECE):
            digest.update(piece)
            writing.write(piece)
    return digest.hexdigest()


class Current:
    """Holds the model in use. A request takes it once and keeps it until its answer is made."""

    def __init__(self, served: ServedModel) -> None:
        self.served = served  # replaced as a whole
        self.swaps = 0
        self.failures = 0
        self.leaving = False  # the service is shutting down


class Watcher:
    """A thread that checks the model file for changes and swaps in a newer model once it is loaded."""

    def __init__(
        self,
        path: Path,
        current: Current,
        every: float,
        known: Signature | None = None,
        swapped: Callable[[], object] | None = None,
    ) -> None:
        """`known` is the signature of the file of the model in use; `swapped` is called after each swap."""
        self._path, self._current, self._every = path, current, every
        self._known, self._swapped = known, swapped
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dcpf-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching, without waiting for a load under way."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            self.look()

    def look(self) -> None:
        """Load the file if it has changed. If it cannot be used, the model in use stays."""
        signature = signature_of(self._path)
        if signature == self._known:
            return
        self._known = signature
        if signature is None:
            log.warning("%s is gone; the model in use stays", self._path.name)
            return
        try:
            served = load(self._path)
        except Exception as error:  # no error may end the service
            self._current.failures += 1
            log.error("%s cannot be used, the model in use stays: %s", self._path.name, " ".join(str(error).split()))
            return
        if served.revision == self._current.served.revision or self._stop.is_set():
            return
        before, self._current.served = self._current.served.revision, served
        self._current.swaps += 1
        log.info("%s: revision %s replaces %s", self._path.name, served.revision, before)
        if self._swapped is not None:
            self._swapped()


def signature_of(path: Path) -> Signature | None:
    """What tells a file from an earlier one of the same name; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
