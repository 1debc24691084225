"""One fit: kinds of parts learned one after another, each until its bound has settled."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.elements import Element
from dcpf.inference.vbem import converged
from dcpf.model.checkpoint import Position
from dcpf.parts import Learning, Part, UserBatch
from dcpf.progress import Iteration, ProgressBar
from dcpf.ranking.rates import Items, Rates, joined_items, joined_users

# The part of what it expects that the first part keeps where there are others. Found by trial: learned together,
# excitation would take nearly all, and rank no better.
SHARE = 0.15


class KeepsPositions(Protocol):
    """Keeps what a fit has reached."""

    position: Position | None

    def keep(self, position: Position, *, ended: bool | None = None) -> None:
        """Keep the position if it is time to; with `ended`, in any case."""
        ...


class Fit:
    """Learns parts until each has settled, or somebody wants it to end. What was reached is never lost."""

    def __init__(
        self,
        kinds: Sequence[type[Part]],
        job: Learning,
        entries: int,
        *,
        max_iter: int,
        tol: float,
        callback: Callable[[Iteration], object] | None,
        checkpoint: KeepsPositions,
        bar: ProgressBar,
    ) -> None:
        """`job.start` is where the first kind begins, unless the checkpoint has a position."""
        self._kinds = [kind for kind in kinds if kind.is_wanted(job.settings)]
        self._job, self._entries = job, entries
        self._max_iter, self._tol, self._callback = max_iter, tol, callback
        self._checkpoint, self._bar = checkpoint, bar
        self._began = time.perf_counter()
        self.parts: list[Part] = []
        self.element: Element = job.element
        self.reached: Position | None = None  # the last good state of a part that has a bound
        self.ended = False  # whether that was its last, and nothing has failed since
        self.stopped = False  # by the callback
        self.settled = True

    @property
    def weights(self) -> tuple[float, ...]:
        """What each part's rates are multiplied by: the first keeps its share, the others divide the rest."""
        others = len(self.parts) - 1
        return (SHARE,) + (1.0 / others,) * others if others > 0 else (1.0,) * len(self.parts)

    def run(self) -> None:
        """Learn all parts. If this is interrupted, `parts` has those that were finished: see `take_reached`."""
        found = self._checkpoint.position
        names = [kind.name for kind in self._kinds]
        if found is not None and found.kind not in names:
            raise ValueError(f"the checkpoint was made while learning {found.kind}, which is not among {names}")
        first = 0 if found is None else names.index(found.kind)
        self.parts = [] if found is None else list(found.parts)
        for kind in self._kinds[first:]:
            start = self._job.start if kind is self._kinds[0] else None
            job = self._job_of(start if found is None else found.state)
            self._take(kind, self._learn(kind, job, found), job)
            found = None
            if self.stopped:
                return

    def take_reached(self) -> None:
        """After an interruption: also take the part that was being learned, as it was last reached."""
        self.ended = False  # so that the checkpoint stays when what was reached is saved
        if self.reached is not None and len(self.parts) == len(self.reached.parts):
            kind = next(kind for kind in self._kinds if kind.name == self.reached.kind)
            self._take(kind, self.reached.state, self._job)

    def learn_after(self, parts: Sequence[Part]) -> None:
        """Learn the parts that come after these, which are there already."""
        self.parts = list(parts)
        for kind in self._kinds[len(parts) :]:
            job = self._job_of(None)
            self._take(kind, self._learn(kind, job, None), job)

    def _job_of(self, start: object) -> Learning:
        """What the next part is learned from."""
        return replace(self._job, element=self.element, others=self._others, expected=self._expected, start=start)

    def _take(self, kind: type[Part], state: object, job: Learning) -> None:
        self.element = getattr(state, "element", self.element)
        part = kind.from_state(state, job)
        if part is not None:
            self.parts.append(part)

    def _learn(self, kind: type[Part], job: Learning, found: Position | None) -> object:
        """The last state of learning a part."""
        # The state of a checkpoint comes once more, with its bound
        bounds: list[float] = [] if found is None else found.bounds[:-1].tolist()
        self._bar.phase(kind.name)
        state = None
        for state in kind.learn(job):
            bound = getattr(state, "bound", None)
            if bound is None:
                continue
            if not math.isfinite(bound):
                raise FloatingPointError(
                    f"iteration {len(bounds) + 1}: the bound is {bound}; try dtype='float64'"
                    + (f"; the model is as it was after iteration {len(bounds)}" if bounds else "")
                )
            bounds.append(bound)
            self.reached = Position(kind.name, state, np.array(bounds), tuple(self.parts))
            iteration = Iteration(len(bounds), bound, state.element, time.perf_counter() - self._began)
            self.stopped = self._callback is not None and bool(self._callback(iteration))
            self.settled = len(bounds) > 1 and converged(bounds[-2], bounds[-1], self._tol)
            self.ended = self.stopped or self.settled or len(bounds) >= self._max_iter
            self._bar.show(iteration, last=self.ended)
            self._checkpoint.keep(self.reached, ended=True if self.ended else None)
            if self.ended:
                break
        return state

    @property
    def _expected(self) -> float:
        """The sessions that the next part is to expect."""
        return float(self._entries) if not self.parts else (1.0 - SHARE) * self._entries

    def _others(self, pairs: sparse.csr_array) -> NDArray[np.float32]:
        """The rates of the parts learned so far, each with its share, at the counts of all users."""
        if not self.parts:
            return np.zeros(pairs.nnz, np.float32)
        rows, weights = np.arange(pairs.shape[0]), (SHARE,) + (1.0,) * (len(self.parts) - 1)
        batch = UserBatch(rows, np.zeros(len(rows), dtype=bool), pairs)
        met = [part.meet(batch, self.element, self._job.threads) for part in self.parts]
        users = joined_users([one.side for one in met], weights)
        items = Items(joined_items([part.items for part in self.parts]), np.zeros(users.W.shape[1]))
        return Rates(users, items).at(pairs, self._job.threads).astype(np.float32)
