"""What a fit tells while it runs."""

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from dcpf.elements import Element


@dataclass(frozen=True)
class Iteration:
    """One iteration of a fit, as a callback gets to see it."""

    number: int
    bound: float
    element: Element
    seconds: float  # since the fit began


class ProgressBar:
    """Iterations, bound, element parameters and time on one line of the terminal, on standard error."""

    def __init__(self, max_iter: int, *, shown: bool) -> None:
        self._max_iter = max_iter
        self._shown = shown
        self._bar: Any = None
        self._task: Any = None
        self.aside = ""  # something more to show beside each iteration
        self._first: Iteration | None = None  # in which kernels may be compiled, or which is not the first of all

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
        """Say which part is learned from here on."""
        if self._bar is not None and self._first is not None:
            self._task = self._bar.add_task(f"learning {part}", total=None)

    def show(self, iteration: Iteration, *, last: bool) -> None:
        """Show where the fit has arrived."""
        if self._bar is not None:
            if self._first is None:
                self._first = iteration
            parameters = "".join(f" {name} {value:.3g}" for name, value in iteration.element.parameters.items())
            times = clock(iteration.seconds)
            if not last and iteration.number > self._first.number:
                times += f", at most {clock(self._left(iteration))} left"  # it may well stop before
            self._bar.update(
                self._task,
                completed=iteration.number,
                total=iteration.number if last else self._max_iter,
                description=f"bound {_short(iteration.bound)}{parameters}  {times}{self.aside}",
            )

    def _left(self, iteration: Iteration) -> float:
        """Seconds that all iterations still to come would take."""
        assert self._first is not None
        each = (iteration.seconds - self._first.seconds) / (iteration.number - self._first.number)
        return each * (self._max_iter - iteration.number)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds, with hours where there are any: 0:07, 12:00, 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _short(bound: float) -> str:
    return f"{bound:,.0f}" if abs(bound) >= 1e5 else f"{bound:,.2f}"
