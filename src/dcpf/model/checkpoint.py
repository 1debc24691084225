"""Checkpoints of a fit: where it has arrived, when that is written, and what must agree to go on from there."""

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dcpf import __version__, elements
from dcpf.inference.vbem import Point, State
from dcpf.model.packing import pack, register, unpack
from dcpf.parts import Part
from dcpf.store import CheckpointFolder, ModelFormatError
from dcpf.text import shape_words

EVERY_ITERATIONS, EVERY_SECONDS = 10, 60.0

# What may be another on the way: it decides when a fit ends and what it tells, not where it goes.
_FREE = ("max_iter", "tol")
_OF_THE_RUN = ("n_jobs", "verbose", "callback", "checkpoint", "warm_start")


@dataclass(frozen=True, slots=True)
class Position:
    """All that a fit needs to continue, to the bit."""

    kind: str  # the part that is being learned
    state: Any  # of learning it
    bounds: NDArray[np.float64]  # after each iteration so far
    parts: tuple[Part, ...] = ()  # learned before

    @property
    def number(self) -> int:
        """How many iterations were made."""
        return len(self.bounds)


for _class in (Point, State, Position):
    register(_class)


class CheckpointMismatchError(ValueError):
    """A checkpoint of other data or other parameters."""


class Checkpoint:
    """The checkpoint of one fit: found before it begins, written while it runs. Without a path, nothing happens.

    It is made before the fit, and refuses then what the fit cannot go on from. `keep` needs it to be entered.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        facts: Callable[[], Mapping[str, Any]] = dict,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = None if path is None else CheckpointFolder(path)
        self._clock = clock
        self._opened: Any = None
        self._written, self._ended, self._time = 0, False, clock()
        self.position: Any = None  # to go on from: a Position, or one of another kind
        if self._folder is not None:
            self._facts = dict(facts())
            self._folder.check()
            self._find(self._folder)

    @classmethod
    def of(cls, parameters: Mapping[str, Any], data: Mapping[str, Any]) -> Self:
        """The one that the parameters of a model ask for, when it is fitted to counts described by `data`."""
        found = cls(parameters["checkpoint"], lambda: facts_of(parameters, data))
        found.check_not_beyond(parameters["max_iter"])
        return found

    def check_not_beyond(self, max_iter: int) -> None:
        """Refuse to go on from more iterations than are to be made."""
        if self._folder is not None and self._written > max_iter:
            raise ValueError(
                f"the checkpoint in {self._folder.path} has made {self._written} iterations already, but max_iter is "
                f"{max_iter}; raise it, or remove the checkpoint to begin anew"
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be told when the fit begins."""
        if self._folder is None or self.position is None:
            return ()
        return (f"goes on from the checkpoint in {self._folder.path}, after iteration {self.position.number}",)

    @property
    def is_kept(self) -> bool:
        """Whether there is a folder for it."""
        return self._folder is not None

    def due(self, number: int) -> bool:
        """Whether it is time to write what was reached after so many iterations."""
        late = self._clock() - self._time >= EVERY_SECONDS
        return number - self._written >= EVERY_ITERATIONS or late

    def keep(self, position: Any, *, ended: bool | None = None) -> None:
        """Write the position when it is time to, and in any case if it is told whether the fit has ended with it."""
        if ended is None and not self.due(position.number):
            return
        if self._folder is None:
            self._written, self._time = position.number, self._clock()
            return
        ended = bool(ended)
        if (position.number, ended) == (self._written, self._ended):
            return
        arrays, tree = pack(position)
        meta = {"facts": self._facts, "position": tree, "ended": ended}
        try:
            self._folder.write(position.number, arrays, meta)
        except OSError:
            self._folder = None  # one error is enough: it is not tried again on the way out
            raise
        self._written, self._ended, self._time = position.number, ended, self._clock()

    def __enter__(self) -> Self:
        if self._folder is not None:
            self._opened = self._folder.opened()
            self._opened.__enter__()
            self._time = self._clock()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            self._opened.__exit__(kind, error, trace)

    def _find(self, folder: CheckpointFolder) -> None:
        found = folder.read()
        if found is None:
            return
        arrays, meta = found
        try:
            _check_same(folder.path, meta["facts"], self._facts)
            position = unpack(arrays, meta["position"])
            if len(position.bounds) == 0:
                raise KeyError("bounds")
            self.position, self._written, self._ended = position, position.number, bool(meta["ended"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            if isinstance(error, CheckpointMismatchError):
                raise
            raise ModelFormatError(
                f"{folder.path} holds no whole checkpoint of a fit ({error}); remove it to begin anew"
            ) from error


def remove_checkpoint(path: str | os.PathLike[str], bounds: NDArray[np.float64]) -> None:
    """Remove the checkpoint of the fit that has ended with these bounds; any other one is let be."""
    folder = CheckpointFolder(path)
    if not folder.path.is_dir():
        return
    with contextlib.suppress(ValueError), folder.opened():  # another fit has it, or it is damaged: not this one's
        found = folder.read()
        if found is not None and found[1].get("ended") and np.array_equal(found[0]["bounds"], bounds):
            folder.clear()


def plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What a model keeps of its parameters: not what concerns one run, and nothing that is no plain value."""
    plain = {name: value for name, value in parameters.items() if name not in _OF_THE_RUN}
    plain["element"] = value if isinstance(value := plain["element"], str) else elements.get(value)
    plain["init"] = value if isinstance(value := plain["init"], str) else "random"
    plain["dtype"] = str(np.dtype(plain["dtype"]))
    for name in ("n_components", "n_neighbors", "max_iter", "random_state"):
        plain[name] = int(value) if isinstance(value := plain[name], int | np.integer) else None
    plain["tol"], plain["neighbor_prior"] = float(plain["tol"]), float(plain["neighbor_prior"])
    prior = plain["shape_prior"]
    plain["shape_prior"] = tuple(float(one) for one in prior) if isinstance(prior, tuple | list) else float(prior)
    return plain | {name: bool(plain[name]) for name in ("learn_element", "learn_rates", "accelerate")}


def facts_of(parameters: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """What decides where a fit goes, as plain values: the parameters, and what is said of the data.

    A random state that is no number cannot be compared, nor can the model that a warm start begins with. They are
    not needed any more.
    """
    plain = plain_parameters(parameters)
    facts = {name: value for name, value in plain.items() if name not in _FREE}
    facts["element"] = str(elements.get(parameters["element"]))
    if isinstance(parameters["init"], tuple | list):
        digest = hashlib.blake2b(digest_size=16)
        for array in parameters["init"]:
            digest.update(np.ascontiguousarray(array, dtype=np.float64).data)
        facts["init"] = f"arrays of checksum {digest.hexdigest()}"
    facts["data"] = (
        f"{shape_words(data['users'], data['items'], data['entries'])} that sum to {data['total']:,}, "
        f"checksum {data['checksum']}"
    )
    facts["warm_start"] = bool(parameters["warm_start"])
    facts["shape_prior"] = str(facts["shape_prior"])
    return {**facts, "dcpf": __version__}


def _check_same(path: Path, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    changed = [name for name in now if then.get(name) != now[name]]
    if changed:
        told = "; ".join(f"{name}={then.get(name)}, now {now[name]}" for name in changed)
        raise CheckpointMismatchError(
            f"{path}: the checkpoint was made with {told}; resume with the same, or remove {path} to start afresh"
        )
