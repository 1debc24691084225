"""The iterations of one fit: told, checked, kept and stopped. Where they come from does not matter here."""

import math
import time
from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np

from dcpf.inference.vbem import State, converged
from dcpf.model.checkpoint import Position
from dcpf.progress import Iteration, ProgressBar


class Keeps(Protocol):
    """Where what a fit has reached is kept."""

    position: Position | None

    def keep(self, position: Position, *, ended: bool | None = None) -> None:
        """Keep the position if it is time to, and in any case if it is told whether the fit has ended with it."""
        ...


class Climb:
    """Takes states from the loop until the bound has settled, or somebody wants it to end."""

    def __init__(
        self,
        max_iter: int,
        tol: float,
        callback: Callable[[Iteration], object] | None,
        checkpoint: Keeps,
        bar: ProgressBar,
    ) -> None:
        self._max_iter, self._tol, self._callback = max_iter, tol, callback
        self._checkpoint, self._bar = checkpoint, bar
        self.reached: Position | None = None  # the last good one
        self.told_to_stop = self.settled = self.ended = False

    def run(self, states: Iterable[State]) -> None:
        """Go on until the end. Whatever ends it, `reached` is what was reached."""
        began, found = time.perf_counter(), self._checkpoint.position
        bounds: list[float] = [] if found is None else found.bounds[:-1].tolist()  # its state comes once more
        for state in states:
            if not math.isfinite(state.bound):
                raise FloatingPointError(
                    f"iteration {len(bounds) + 1}: the bound is {state.bound}; try dtype='float64'"
                    + (f"; the model is as it was after iteration {len(bounds)}" if bounds else "")
                )
            bounds.append(state.bound)
            self.reached = Position(state, np.array(bounds))
            iteration = Iteration(len(bounds), state.bound, state.element, time.perf_counter() - began)
            self.told_to_stop = self._callback is not None and bool(self._callback(iteration))
            self.settled = len(bounds) > 1 and converged(bounds[-2], bounds[-1], self._tol)
            self.ended = self.told_to_stop or self.settled or len(bounds) >= self._max_iter
            self._bar.show(iteration, last=self.ended)
            self._checkpoint.keep(self.reached, ended=True if self.ended else None)
            if self.ended:
                break
