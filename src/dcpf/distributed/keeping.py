"""Checkpoints of a distributed fit: what is here goes into the checkpoint, users stay with the blocks."""

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dcpf.distributed.storage import Folder
from dcpf.distributed.users import Remote, RemoteUsers
from dcpf.elements import Element
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.vbem import Point, State
from dcpf.model.checkpoint import Checkpoint, Position


@dataclass(frozen=True, slots=True)
class KeptUsers:
    """A q(W) that the workers have written to a folder."""

    folder: str
    number: int


@dataclass(frozen=True, slots=True)
class KeptPoint:
    """A point of which the users are elsewhere."""

    element: Element
    W: KeptUsers
    H: GammaPosterior


@dataclass(frozen=True, slots=True)
class KeptPosition:
    """A position of a fit of which the users are elsewhere."""

    point: KeptPoint
    last: KeptPoint | None
    bound: float
    push: float | None
    bounds: NDArray[np.float64]

    @property
    def number(self) -> int:
        """How many iterations were made."""
        return len(self.bounds)

    @classmethod
    def of(cls, position: Position, folder: str) -> Self:
        """What is kept of a position, if users were written to this folder."""
        state = position.state
        last = None if state.last is None else _kept(state.last, folder)
        return cls(_kept(state, folder), last, state.bound, state.push, position.bounds)

    def restored(self, users: RemoteUsers) -> Position:
        """The position, with users as the workers will read them."""
        points = [self.point] if self.last is None else [self.point, self.last]
        handles: list[Any] = list(users.recall(self.point.W.folder, tuple(one.W.number for one in points)))
        last = None if self.last is None else Point(self.last.element, handles[1], self.last.H)
        state = State(self.point.element, handles[0], self.point.H, self.bound, last, self.push)
        return Position(state, self.bounds)


class Keeper:
    """Has the workers keep their blocks now and then, and keeps the rest in a checkpoint, if there is to be one.

    Blocks are kept without a checkpoint too: what is lost with a worker is made again from there.
    """

    def __init__(self, checkpoint: Checkpoint, folder: Folder, users: RemoteUsers) -> None:
        self._checkpoint, self._base, self._users = checkpoint, folder, users
        self._last: Folder | None = None
        self.position: Position | None = None  # to go on from
        kept: KeptPosition | None = checkpoint.position
        if kept is not None:
            self.position, self._last = kept.restored(users), Folder(kept.point.W.folder)

    def keep(self, position: Position, *, ended: bool | None = None) -> None:
        """Keep the position if it is time to, and in any case if it is told whether the fit has ended with it."""
        if ended is None and not self._checkpoint.due(position.number):
            return
        if ended and not self._checkpoint.is_cached:
            return  # nobody will go on from here
        folder = self._base / f"{position.number:06}"
        self._users.keep(folder.address)
        self._checkpoint.keep(KeptPosition.of(position, folder.address), ended=bool(ended))
        if self._last is not None and self._last.address != folder.address:
            self._last.remove()
        self._last = folder

    def __enter__(self) -> Self:
        self._checkpoint.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._users.end()
        self._checkpoint.__exit__(kind, error, trace)


def _kept(point: Point, folder: str) -> KeptPoint:
    W: Any = point.W
    assert isinstance(W, Remote)
    return KeptPoint(point.element, KeptUsers(folder, W.number), point.H)
