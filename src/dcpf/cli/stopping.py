"""Ctrl-C and SIGTERM end a fit after its iteration, where its checkpoint is written."""

import os
import signal
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from dcpf.progress import Iteration

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_MESSAGE = b"\ndcpf: stopping after this iteration; Ctrl-C again stops at once\n"


class Stop:
    """The callback of a fit that ends it once a signal has come. It takes signals as long as it is entered.

    A second signal acts as ever: Ctrl-C interrupts the fit wherever it is, SIGTERM ends the process.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.iteration = 0
        self._before: dict[int, Any] = {}

    def __call__(self, iteration: "Iteration") -> bool:
        """Whether to end the fit."""
        self.iteration = iteration.number
        return self.signal is not None

    @property
    def code(self) -> int:
        """What the process ends with: 130 after Ctrl-C, 143 after SIGTERM."""
        return 128 + (self.signal or 0)

    def __enter__(self) -> Self:
        ignored = (signal.SIG_IGN, None)  # as Ctrl-C is in the background: it stays so
        taken = [one for one in _SIGNALS if signal.getsignal(one) not in ignored]
        self._before = {one: signal.signal(one, self._take) for one in taken}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give_back()

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        self._give_back()
        os.write(2, _MESSAGE)  # not through a buffer, which may be just being written

    def _give_back(self) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)
        self._before = {}
