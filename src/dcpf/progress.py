"""Progress of a fit: the iterations that a callback gets, and the bar in the terminal."""

from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Any, Self

from dcpf.elements import Element
from dcpf.text import clock


@dataclass(frozen=True)
class Iteration:
    """One iteration of a fit, as a callback gets it."""

    number: int
    bound: float
    element: Element
    seconds: float  # since the fit began


class ProgressBar:
    """One line on standard error with iterations, bound, element parameters and time."""

    def __init__(self, max_iter: int, *, shown: bool) -> None:
        self._max_iter = max_iter
        self._shown = shown
        self._bar: Any = None
        self._task: Any = None
        self._part, self._began = "", 0.0  # a part that has no iterations, and since when it is learned
        self.aside = ""  # more text after each iteration
        self._first: Iteration | None = None  # may include compilation, and is not number 1 after a resume

    def __enter__(self) -> Self:
        if self._shown:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            self._bar = Progress(
                BarColumn(bar_width=10),
                MofNCompleteColumn(),
                TextColumn("{task.description}", markup=False),
                console=Console(stderr=True, highlight=False, markup=False),
            )
            self._task = self._bar.add_task("starting (compiles when run for the first time)", total=self._max_iter)
            self._bar.start()
        return self

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        if self._bar is not None:
            self._bar.console.print(line, soft_wrap=True)

    def phase(self, part: str) -> None:
        """Say which part is learned from here on. The first has its bar already."""
        if self._bar is not None and self._first is not None:
            self._task, self._part, self._began = self._bar.add_task(f"learning {part}", total=1), part, monotonic()

    def show(self, iteration: Iteration, *, last: bool) -> None:
        """Show the latest iteration."""
        if self._bar is not None:
            if self._first is None:
                self._first = iteration
            parameters = "".join(f" {name} {value:.3g}" for name, value in iteration.element.parameters.items())
            times = clock(iteration.seconds)
            if not last and iteration.number > self._first.number:
                times += f", at most {clock(self._left(iteration))} left"  # it may converge earlier
            self._bar.update(
                self._task,
                completed=iteration.number,
                total=iteration.number if last else self._max_iter,
                description=f"bound {_short(iteration.bound)}{parameters}  {times}{self.aside}",
            )

    def _left(self, iteration: Iteration) -> float:
        """Seconds until max_iter at the present pace."""
        assert self._first is not None
        each = (iteration.seconds - self._first.seconds) / (iteration.number - self._first.number)
        return each * (self._max_iter - iteration.number)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            if error is None and self._part:
                learned = f"learned {self._part}  {clock(monotonic() - self._began)}"
                self._bar.update(self._task, completed=1, description=learned)
            self._bar.stop()


def _short(bound: float) -> str:
    return f"{bound:,.0f}" if abs(bound) >= 1e5 else f"{bound:,.2f}"
