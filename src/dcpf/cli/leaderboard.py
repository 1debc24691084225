"""dcpf leaderboard: dcPF beside what others would use, on your counts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dcpf.cli.files import check_folder, whole_file
from dcpf.cli.options import DEFAULT_DATA, Json, TrainingData, check_least, grouped
from dcpf.cli.output import console, print_json, print_result_table, printable

if TYPE_CHECKING:
    from dcpf.evaluation.result_table import ResultTable


@grouped
def leaderboard(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="COUNTS...", show_default=False, help="Files of counts, one board for each."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where results go, and are taken up again.")
    ] = Path("leaderboard"),
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only these, can be repeated: dcpf, shifted-nb, logarithmic, binary, raw, popularity, item-knn, "
            "ease, implicit-als, implicit-bpr, hpf.  [default: all]",
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Length of a list.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the split and of the fits.")] = 0,
    reading: TrainingData = DEFAULT_DATA,
    json: Json = False,
) -> None:
    """Compare with other methods: quality, time and memory side by side.

    A fifth of the counts is held out. Each method chooses its settings on a part of the rest. Can be stopped at any
    time: the same command goes on where it was.
    """
    check_least(k=(k, 1), seed=(seed, 0))
    names = [path.name.split(".")[0] for path in files]
    twice = next((one for one in names if names.count(one) > 1), None)
    if twice is not None:
        raise ValueError(f"two files are called {twice}; results are kept by name, so rename one of them")
    check_folder(output)
    from dcpf.evaluation.result_table import to_csv, to_markdown
    from dcpf.experiments.contenders import CONTENDERS
    from dcpf.experiments.leaderboard import Rules
    from dcpf.experiments.leaderboard import leaderboard as run
    from dcpf.experiments.standings import standings

    rules = Rules(k=k, seed=seed, names=tuple(method or CONTENDERS))
    rules.check()
    tables = []
    for name, path in zip(names, files, strict=True):
        counts = reading.read(path)
        with _bar(name, len(rules.names)) as watch:
            tables.append(standings(run(counts, output, name, rules, watch=watch)))
        for ending, text in ((".md", to_markdown(tables[-1])), (".csv", to_csv(tables[-1]))):
            with whole_file(output / f"{name}{ending}") as file:
                file.write(text.encode())
        if not json:
            print_result_table(tables[-1])
    if json:
        print_json([_as_dict(one) for one in tables])
    else:
        console().print(f"Written to {printable(output)} as Markdown and CSV.", soft_wrap=True)


def _as_dict(table: "ResultTable") -> dict[str, object]:
    rows = [dict(zip(table.columns, (cell.value for cell in row), strict=True)) for row in table.rows]
    return {"data": table.name, "methods": rows, "notes": list(table.notes)}


@contextmanager
def _bar(name: str, total: int) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar over methods; where there is no terminal, a line for each. An interrupt says what is kept."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    screen = console(stderr=True)
    shown = (BarColumn(bar_width=20), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*shown, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task, begun = progress.add_task(printable(name), total=total), list[str]()

        def watch(label: str, tried: int, settings: int) -> None:
            if label not in begun:
                begun.append(label)
                if not screen.is_terminal:
                    screen.print(f"  {printable(name)}: {label}", soft_wrap=True)
            what = f"{name}: {label}, " + (
                "the chosen" if tried == settings else f"setting {tried + 1} of {settings}"
            )
            progress.update(task, completed=len(begun) - 1 + tried / (settings + 1), description=printable(what))

        try:
            yield watch
        except KeyboardInterrupt:
            raise KeyboardInterrupt("finished fits are kept; the same command goes on from there") from None
