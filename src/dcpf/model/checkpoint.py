"""Checkpoints of a fit: what they hold, when they are written, and what must agree to resume."""

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
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

_MAY_CHANGE = ("max_iter", "tol")  # on resuming: they decide when a fit ends, not where it goes
_OF_THE_RUN = ("n_jobs", "verbose", "callback", "checkpoint", "warm_start")


@dataclass(frozen=True, slots=True)
class Position:
    """All that a fit needs to continue, to the bit."""

    kind: str  # the part that is being learned
    state: Any  # of learning it
    bounds: NDArray[np.float64]  # after each of its iterations so far
    parts: tuple[Part, ...] = ()  # learned before

    @property
    def number(self) -> int:
        """How many iterations this part has had."""
        return len(self.bounds)


for _class in (Point, State, Position):
    register(_class)


class CheckpointMismatchError(ValueError):
    """A checkpoint of other data or other parameters."""


class Checkpoint:
    """The checkpoint of one fit: read before the fit begins, written while it runs. Without a path, nothing happens.

    Creating one raises an error if the fit cannot resume from what the folder holds. Enter it before you call `keep`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        facts: Mapping[str, Any] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = None if path is None else CheckpointFolder(path)
        self._facts, self._clock = dict(facts or {}), clock
        self._opened = contextlib.ExitStack()
        self._written, self._time = ("", 0, False), clock()  # kind, number, and whether the fit had ended
        self.position: Position | None = None  # to resume from
        if self._folder is not None:
            self._folder.check()
            self._find(self._folder)

    @classmethod
    def of(cls, parameters: Mapping[str, Any], data: Mapping[str, Any]) -> Self:
        """The checkpoint that the parameters of a model ask for, when it is fitted to counts described by `data`."""
        path, max_iter = parameters["checkpoint"], parameters["max_iter"]
        checkpoint = cls(path, None if path is None else facts_of(parameters, data))
        if checkpoint.position is not None and checkpoint.position.number > max_iter:
            raise ValueError(
                f"the checkpoint in {path} has made {checkpoint.position.number} iterations already, but max_iter is "
                f"{max_iter}; raise it, or remove the checkpoint to start afresh"
            )
        return checkpoint

    @property
    def notes(self) -> tuple[str, ...]:
        """What to tell the user when the fit begins."""
        if self._folder is None or self.position is None:
            return ()
        return (f"resumes from the checkpoint in {self._folder.path}, after iteration {self.position.number}",)

    @property
    def is_kept(self) -> bool:
        """Whether there is a folder for it."""
        return self._folder is not None

    def is_due(self, position: Position, ended: bool | None = None) -> bool:
        """Whether to write this position: see `keep`."""
        kind, number, _ = self._written
        if ended is not None:
            return (position.kind, position.number, ended) != self._written
        since = position.number - number if position.kind == kind else position.number
        return since >= EVERY_ITERATIONS or self._clock() - self._time >= EVERY_SECONDS

    def keep(self, position: Position, *, ended: bool | None = None) -> None:
        """Write the position if enough iterations or seconds have passed.

        With `ended`, which tells whether the fit ended there, it is written unless that was done already.
        """
        if not self.is_due(position, ended):
            return
        if self._folder is not None:
            arrays, tree = pack(position)
            meta = {"facts": self._facts, "position": tree, "ended": bool(ended)}
            try:
                self._folder.write(position.number, arrays, meta)
            except OSError:
                self._folder = None  # one error is enough: do not try again at the end of the fit
                raise
        self._written, self._time = (position.kind, position.number, bool(ended)), self._clock()

    def __enter__(self) -> Self:
        if self._folder is not None:
            self._opened.enter_context(self._folder.opened())
            self._time = self._clock()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def _find(self, folder: CheckpointFolder) -> None:
        found = folder.read()
        if found is None:
            return
        arrays, meta = found
        try:
            _check_same(folder.path, meta["facts"], self._facts)
            position = unpack(arrays, meta["position"])
            if not isinstance(position, Position) or position.number == 0:
                raise ValueError("it has no position")
            self._written = (position.kind, position.number, bool(meta["ended"]))
            self.position = position
        except CheckpointMismatchError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ModelFormatError(
                f"{folder.path} holds no whole checkpoint of a fit ({error}); remove it to start afresh"
            ) from error


def remove_checkpoint(path: str | os.PathLike[str], bounds: NDArray[np.float64]) -> None:
    """Remove the checkpoint of the fit that ended with these bounds; any other one stays."""
    folder = CheckpointFolder(path)
    if not folder.path.is_dir():
        return
    with contextlib.suppress(ValueError), folder.opened():  # another fit has it, or it is damaged
        found = folder.read()
        if found is not None and found[1].get("ended") and np.array_equal(found[0]["bounds"], bounds):
            folder.clear()


def plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that a model keeps: none that concern one run only, and plain values alone."""
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
    """What decides the result of a fit, as plain values: the parameters and a description of the data.

    A random state that is not a number cannot be compared, nor can the model of a warm start. Neither is needed to
    resume.
    """
    plain = plain_parameters(parameters)
    facts = {name: value for name, value in plain.items() if name not in _MAY_CHANGE}
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
        changes = "; ".join(f"{name}={then.get(name)}, now {now[name]}" for name in changed)
        raise CheckpointMismatchError(
            f"{path}: the checkpoint was made with {changes}; resume with the same, or remove {path} to start afresh"
        )
