"""The tables of experiments, in a terminal."""

from typing import TYPE_CHECKING, Any

from dcpf.cli.output import console, heading, plain, table

if TYPE_CHECKING:
    from dcpf.evaluation.result_table import Cell, ResultTable

_WIDE = 120  # columns where there is no terminal


def show(one: "ResultTable") -> None:
    """A table with its title above and its notes below."""
    screen = console()
    if not screen.is_terminal:
        screen.width = max(screen.width, _WIDE)
    heading(screen, one.title)
    made = table(*map(plain, one.columns), words=2 if "Est." in one.columns else 1)
    for column in made.columns:
        column.no_wrap = False
    between = "\n" if len(one.columns) > 3 else " "  # there is no room for two numbers side by side
    for row in one.rows:
        made.add_row(*(_styled(cell, between) for cell in row))
    screen.print(made)
    for note in one.notes:
        screen.print(plain(note))
    screen.print()


def _styled(cell: "Cell", between: str) -> Any:
    """Ours, and the paper's number beside or below it."""
    from rich.text import Text

    ours, theirs = (plain(part).replace("± ", "±") for part in cell.texts())
    text = Text(ours, style="bold" if cell.bold else "italic" if cell.italic else "")
    return text.append(f"{between}{theirs}", style="not bold not italic dim") if theirs else text
