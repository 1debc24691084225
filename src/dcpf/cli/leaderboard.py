"""dcpf leaderboard: dcpf beside other methods, on your counts."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dcpf.cli.files import check_folder, whole_file
from dcpf.cli.options import DEFAULT_DATA, Json, TrainingData, check_least, grouped
from dcpf.cli.output import console, print_json, print_result_table, printable, progress_bar

if TYPE_CHECKING:
    from dcpf.evaluation.result_table import ResultTable


@grouped
def leaderboard(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="COUNTS...", show_default=False, help="Files of counts; each gets a board."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where results are kept, and resumed from.")
    ] = Path("leaderboard"),
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only this method; can be repeated: dcpf, shifted-nb, logarithmic, binary, raw, popularity, "
            "item-knn, ease, implicit-als, implicit-bpr, hpf.  [default: all]",
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Length of a list.")] = 100,
    seed: Annotated[int, typer.Option(help="Seed of the splits and the fits.")] = 0,
    reading: TrainingData = DEFAULT_DATA,
    json: Json = False,
) -> None:
    """Compare with other methods: quality, time and memory side by side.

    A fifth of the counts is held out. Each method chooses its settings on a part of the rest. You can stop the
    command at any time; the same command resumes from there.
    """
    check_least(k=(k, 1), seed=(seed, 0))
    names = [path.name.split(".")[0] for path in files]
    twice = next((one for one in names if names.count(one) > 1), None)
    if twice is not None:
        raise ValueError(f"two files are called {twice}; results are kept by name, so rename one of them")
    check_folder(output)
    from dcpf.evaluation.leaderboard import COMPETITORS, BoardRules, standings
    from dcpf.evaluation.leaderboard import leaderboard as run
    from dcpf.evaluation.result_table import to_csv, to_markdown

    rules = BoardRules(k=k, seed=seed, names=tuple(method or COMPETITORS))
    rules.check()
    tables = []
    for name, path in zip(names, files, strict=True):
        counts = reading.read(path)
        with progress_bar(name, len(rules.names), lambda: "finished fits are kept") as update:
            tables.append(standings(run(counts, output, name, rules, watch=_watch(name, update))))
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


def _watch(name: str, update: Callable[..., None]) -> Callable[[str, int, int], None]:
    """What shows each fit, and where there is no terminal a line for each method."""
    begun: list[str] = []

    def watch(label: str, tried: int, settings: int) -> None:
        line = None if label in begun else f"{name}: {label}"
        begun.extend([label] if line else [])
        fit = "the chosen setting" if tried == settings else f"setting {tried + 1} of {settings}"
        update(len(begun) - 1, description=f"{name}: {label}, {fit}", line=line)

    return watch
