"""What commands are given: files of counts, models, users and items as they are typed."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcpf.cli.output import console, plain

if TYPE_CHECKING:
    from dcpf.counts import Counts, Id
    from dcpf.model import DCPF
    from dcpf.ranking.lists import Catalogue

Model = Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="A model written by dcpf fit.")]
History = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Counts of users, known or new: all that they have by now, in place of what the model knew.",
    ),
]
Threads = Annotated[int | None, typer.Option(help="Threads to use.  [default: all cores]")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def check_least(**least: tuple[int | None, int]) -> None:
    """Refuse options below their least value. The names are those of the options: (value, least)."""
    for name, (value, smallest) in least.items():
        if value is not None and value < smallest:
            option = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} must be at least {smallest}, found {value}")


@contextmanager
def bar(what: str, *, of_bytes: bool = False) -> Iterator[Any]:
    """A progress bar on standard error that goes away when it is done; call it with (done, total)."""
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        DownloadColumn() if of_bytes else MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    screen = console(stderr=True)
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task(plain(what), total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def run_bar(start: str, total: int | None, kept: Callable[[], str]) -> Iterator[Callable[..., None]]:
    """A progress bar over the fits of a run; an interrupt says what is `kept`.

    Call it with the fits done and a description of the current one. Where there is no terminal, `line` is printed.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    screen = console(stderr=True)
    text = TextColumn("{task.description}", markup=False)
    columns = (BarColumn(bar_width=20), MofNCompleteColumn(), text, TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task(plain(start), total=total)

        def update(done: int, description: str, *, line: str | None = None, total: int | None = None) -> None:
            progress.update(task, completed=done, description=plain(description), total=total)
            if line is not None and not screen.is_terminal:
                screen.print(f"  {plain(line)}", soft_wrap=True)

        try:
            yield update
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"{kept()}; the same command resumes from there") from None


def load(path: Path, threads: int | None = None) -> "DCPF":
    """A model, to be used with so many threads."""
    check_least(threads=(threads, 1))
    import dcpf

    model = dcpf.load(path)
    model.n_jobs = threads
    return model


def catalogue(model: "DCPF") -> "Catalogue":
    """The items of a model, to be looked up by id or name."""
    from dcpf.ranking.lists import Catalogue

    return Catalogue(model.items_, model.names_)


def find_items(model: "DCPF", typed: Iterable[str]) -> "list[Id]":
    """The ids of items that are typed as ids or as names."""
    items = catalogue(model)
    return [items.find(one) for one in typed]


def find_users(model: "DCPF", history: "Counts | None", typed: list[str]) -> "list[Id]":
    """Users as the history or the model have them: integers where ids are. Whom neither knows stays as typed."""
    found: list[Id] = []
    for one in typed:
        known = [ids for ids in (history.users if history else None, model.users_) if ids is not None and one in ids]
        place = known[0].find(one) if known else None
        found.append(one if place is None else known[0][place])
    return found if len({type(one) for one in found}) < 2 else list(typed)
