"""What commands print: notes and progress on standard error, tables and JSON on standard output."""

import json
import math
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from dcpf.cli.errors import as_typed

if TYPE_CHECKING:
    from rich.console import Console

    from dcpf.counts import Counts
    from dcpf.evaluation.result_table import Cell, ResultTable

_WIDTH = 80  # where there is no terminal
_WIDE = 120  # there, of tables of results
_NOT_PRINTED = ("Cc", "Cs", "Zl", "Zp")  # control characters and line ends, which would act on the terminal


def print_note(text: str) -> None:
    """Print one line on standard error."""
    typer.echo(f"dcpf: {printable(' '.join(text.split()))}", err=True)


def print_notes(counts: "Counts") -> None:
    """Print what was done to the data while they were read, on standard error."""
    screen = console(stderr=True)
    for note in counts.notes:
        screen.print(f"  {printable(as_typed(note))}", soft_wrap=True)


def printable(text: object) -> str:
    """The text without characters that would act on the terminal: ids and names may hold any."""
    return "".join("\ufffd" if unicodedata.category(letter) in _NOT_PRINTED else letter for letter in str(text))


def console(*, stderr: bool = False, width: int | None = None) -> "Console":
    """A console for results (or notes): as wide as the terminal, or 80 columns where there is none."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")  # better a question mark than no answer
    screen = Console(highlight=False, markup=False, emoji=False, stderr=stderr)
    if not screen.is_terminal and "COLUMNS" not in os.environ:
        screen.width = _WIDTH
    if width is not None:
        screen.width = min(screen.width, width)
    return screen


@contextmanager
def progress_bar(
    description: str,
    total: int | None = None,
    kept: Callable[[], str] | None = None,
    *,
    of_bytes: bool = False,
) -> Iterator[Callable[..., None]]:
    """A progress bar on standard error that disappears at the end; an interrupt says what is `kept`.

    Call it with what is done and the total, and with a description of what is being done. Where there is no terminal,
    a `line` is printed instead.
    """
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    amount, text = (
        DownloadColumn() if of_bytes else MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
    )
    screen = console(stderr=True)
    columns = (BarColumn(bar_width=20), amount, text, TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task(printable(description), total=total)

        def update(
            done: int, total: int | None = None, *, description: str | None = None, line: str | None = None
        ) -> None:
            text = None if description is None else printable(description)
            progress.update(task, completed=done, total=total, description=text)
            if line is not None and not screen.is_terminal:
                screen.print(f"  {printable(line)}", soft_wrap=True)

        try:
            yield update
        except KeyboardInterrupt as error:
            if kept is None:
                raise
            raise KeyboardInterrupt(f"{kept()}; the same command resumes from there") from error


def table(*columns: str, texts: int = 1) -> Any:
    """A table whose first columns hold text, and the others numbers."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for j, column in enumerate(columns):
        made.add_column(column, justify="left" if j < texts else "right", no_wrap=j >= texts)
    return made


def text_cell(value: object) -> Any:
    """A cell of a table, cropped where there is no room for it."""
    from rich.text import Text

    return Text("" if value is None else printable(value), no_wrap=True, overflow="ellipsis")


def ranked_table(columns: Mapping[str, Any], numbers: Mapping[str, list[str]]) -> Any:
    """A table of ranked items or users: rank, id, name if there are names, and these columns of numbers."""
    texts = [name for name in ("user", "item", "name") if name in columns]
    made = table("", *texts, *numbers, texts=1 + len(texts))
    made.columns[0].justify = "right"
    made.columns[0].no_wrap = True
    cells = [map(text_cell, columns[name]) for name in texts]
    for row in zip(map(str, columns["rank"]), *cells, *numbers.values(), strict=True):
        made.add_row(*row)
    return made


def print_heading(screen: "Console", text: str) -> None:
    """Print a line in bold."""
    screen.print(printable(text), style="bold")


def print_result_table(result: "ResultTable") -> None:
    """Print a table of results with its title above and its notes below."""
    screen = console()
    if not screen.is_terminal:
        screen.width = max(screen.width, _WIDE)
    print_heading(screen, result.title)
    made = table(*map(printable, result.columns), texts=2 if "Est." in result.columns else 1)
    for column in made.columns:
        column.no_wrap = False
    between = "\n" if len(result.columns) > 3 else " "  # there is no room for two numbers side by side
    for row in result.rows:
        made.add_row(*(_result_cell(cell, between) for cell in row))
    screen.print(made)
    for note in result.notes:
        screen.print(printable(note))
    screen.print()


def _result_cell(cell: "Cell", between: str) -> Any:
    """Our number, and the paper's beside or below it."""
    from rich.text import Text

    ours, theirs = (printable(part).replace("± ", "±") for part in cell.texts())
    text = Text(ours, style="bold" if cell.bold else "italic" if cell.italic else "")
    return text.append(f"{between}{theirs}", style="not bold not italic dim") if theirs else text


def format_numbers(values: Iterable[float], *, percent: bool = False) -> list[str]:
    """A column of numbers with as many decimals as the largest needs for three digits, and one below a thousand."""
    scaled = [100.0 * value if percent else float(value) for value in values]
    largest = max((abs(value) for value in scaled if math.isfinite(value)), default=0.0)
    least = 1 if largest < 1000.0 else 0
    decimals = min(max(least, 2 - math.floor(math.log10(largest))), 9) if largest > 0.0 else least
    end = "%" if percent else ""
    return [f"{value:,.{decimals}f}{end}" if math.isfinite(value) else "-" for value in scaled]


def format_number(value: float) -> str:
    """One number with three digits or more."""
    return format_numbers([value])[0]


def format_size(n_bytes: int) -> str:
    """A number of bytes as MB or kB."""
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 1e5 else f"{n_bytes / 1e3:,.1f} kB"


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output, with null for NaN and infinity."""
    ascii_only = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    typer.echo(json.dumps(without_nan(value), ensure_ascii=ascii_only, allow_nan=False, indent=2))


def without_nan(value: Any) -> Any:
    """The same with None for NaN and infinity, which JSON does not know."""
    if isinstance(value, dict):
        return {key: without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def rows_of(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Columns (lists or arrays) as rows for JSON."""
    lists = [values.tolist() if hasattr(values, "tolist") else values for values in columns.values()]
    return [without_nan(dict(zip(columns, row, strict=True))) for row in zip(*lists, strict=True)]
