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
    """Iterations, bound and element parameters on one line of the terminal, on standard error."""

    def __init__(self, max_iter: int, *, shown: bool) -> None:
        self._max_iter = max_iter
        self._shown = shown
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if self._shown:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                TextColumn("dcpf"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task("starting (compiles when run for the first time)", total=self._max_iter)
            self._bar.start()
        return self

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        if self._bar is not None:
            self._bar.console.print(line, highlight=False)

    def show(self, iteration: Iteration, *, last: bool) -> None:
        """Show where the fit has arrived."""
        if self._bar is not None:
            parameters = "".join(f"  {name} {value:.4g}" for name, value in iteration.element.parameters.items())
            self._bar.update(
                self._task,
                completed=iteration.number,
                total=iteration.number if last else self._max_iter,
                description=f"bound {iteration.bound:,.2f}{parameters}",
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
