"""A table of results, and its text as Markdown, CSV or LaTeX. The same table gives the same bytes."""

import csv
import io
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

Number = int | float | None

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#~])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


@dataclass(frozen=True)
class Cell:
    """A number with its spread and the paper's number, or a word."""

    value: Number | str
    digits: int = 3  # after the point; the spread has one more
    spread: float | None = None
    paper: Number | str = None
    paper_spread: float | None = None
    paper_digits: int | None = None  # where they are not the digits of our number
    percent: bool = False
    bold: bool = False
    italic: bool = False

    def texts(self) -> tuple[str, str]:
        """The cell as people read it: 0.382 ± 0.0012, and the paper's number in brackets, if there is one."""
        ours = _number_text(self.value, self.spread, self.digits, self.percent)
        if self.paper is None:
            return ours, ""
        digits = self.digits if self.paper_digits is None else self.paper_digits
        return ours, f"[{_number_text(self.paper, self.paper_spread, digits, self.percent)}]"


@dataclass(frozen=True)
class ResultTable:
    """A table, the name of its files, and notes to print below it."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


def to_markdown(table: ResultTable) -> str:
    """The title, the table, and its notes."""
    lines = [f"## {_markdown_word(table.title)}", "", _piped(map(_markdown_word, table.columns))]
    lines.append(_piped("---" for _ in table.columns))
    lines += [_piped(_marked_up(cell, _markdown_word, "**{}**", "*{}*") for cell in row) for row in table.rows]
    return "\n".join([*lines, "", *(f"{_markdown_word(note)}  " for note in table.notes)]).rstrip() + "\n"


def to_latex(table: ResultTable) -> str:
    """A table environment; it needs the package booktabs."""
    rows = ((_marked_up(cell, _latex_word, r"\textbf{{{}}}", r"\textit{{{}}}") for cell in row) for row in table.rows)
    lines = [
        r"\begin{table}",
        rf"\caption{{{' '.join(map(_latex_word, (table.title + '.', *table.notes)))}}}",
        rf"\begin{{tabular}}{{{'l' * len(table.columns)}}}",
        r"\toprule",
        " & ".join(map(_latex_word, table.columns)) + r" \\",
        r"\midrule",
        *(" & ".join(cells) + r" \\" for cells in rows),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\label{{tab:{table.name}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def to_csv(table: ResultTable) -> str:
    """Numbers with all their digits. Spreads and the paper's numbers have their own columns."""
    columns: list[list[object]] = []
    for j, name in enumerate(table.columns):
        cells = [row[j] for row in table.rows]
        columns.append([name, *(cell.value for cell in cells)])
        for suffix, field in (("sd", "spread"), ("paper", "paper"), ("paper sd", "paper_spread")):
            values = [getattr(cell, field) for cell in cells]
            if any(value is not None for value in values):
                columns.append([f"{name} {suffix}".strip(), *values])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(zip(*columns, strict=True))
    return text.getvalue()


def _number_text(value: Number | str, spread: float | None, digits: int, percent: bool) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    number = f"{value:.{digits}%}" if percent else f"{value:,.{digits}f}"
    return number if spread is None else f"{number} ± {spread:,.{digits + 1}f}"


def _marked_up(cell: Cell, escape: Callable[[str], str], bold: str, italic: str) -> str:
    ours, paper = map(escape, cell.texts())
    if ours:
        ours = bold.format(ours) if cell.bold else italic.format(ours) if cell.italic else ours
    return f"{ours} {paper}".rstrip()


def _piped(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _markdown_word(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", _one_line(text))


def _latex_word(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in _one_line(text))
