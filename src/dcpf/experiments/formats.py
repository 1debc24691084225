"""A table as Markdown, CSV or LaTeX. The same table gives the same bytes."""

import csv
import io
import re
from collections.abc import Callable, Iterable

from dcpf.evaluation.result_table import Cell, Number, ResultTable

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#~])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    **{one: f"\\{one}" for one in "&%$#_{}"},
}


def parts(cell: Cell) -> tuple[str, str]:
    """A cell as people read it: 0.382 ± 0.0012, and the paper's number in brackets, if there is one."""
    ours = _spelt(cell.value, cell.spread, cell.digits, cell.percent)
    if cell.paper is None:
        return ours, ""
    digits = cell.digits if cell.paper_digits is None else cell.paper_digits
    return ours, f"[{_spelt(cell.paper, cell.paper_spread, digits, cell.percent)}]"


def markdown(table: ResultTable) -> str:
    """The title, the table, and its notes."""
    head = [_markdown_word(one) for one in table.columns]
    lines = [f"## {_markdown_word(table.title)}", "", _piped(head), _piped("---" for _ in head)]
    for row in table.rows:
        lines.append(_piped(_marked_up(cell, _markdown_word, "**{}**", "*{}*") for cell in row))
    return "\n".join([*lines, "", *(f"{_markdown_word(note)}  " for note in table.notes)]).rstrip() + "\n"


def latex(table: ResultTable) -> str:
    """A table environment; it needs the package booktabs."""
    lines = [
        r"\begin{table}",
        rf"\caption{{{' '.join(map(_latex_word, (table.title + '.', *table.notes)))}}}",
        rf"\begin{{tabular}}{{{'l' * len(table.columns)}}}",
        r"\toprule",
        " & ".join(_latex_word(one) for one in table.columns) + r" \\",
        r"\midrule",
    ]
    for row in table.rows:
        cells = (_marked_up(cell, _latex_word, r"\textbf{{{}}}", r"\textit{{{}}}") for cell in row)
        lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", rf"\label{{tab:{table.name}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def comma_separated(table: ResultTable) -> str:
    """Numbers with all their digits. Spreads and the paper's numbers have columns of their own."""
    columns: list[list[object]] = []
    for j, name in enumerate(table.columns):
        cells = [row[j] for row in table.rows]
        columns.append([name, *(cell.value for cell in cells)])
        for end, values in (
            ("sd", [cell.spread for cell in cells]),
            ("paper", [cell.paper for cell in cells]),
            ("paper sd", [cell.paper_spread for cell in cells]),
        ):
            if any(value is not None for value in values):
                columns.append([f"{name} {end}".strip(), *values])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(zip(*columns, strict=True))
    return text.getvalue()


def _spelt(value: Number | str, spread: float | None, digits: int, percent: bool) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    number = f"{value:.{digits}%}" if percent else f"{value:,.{digits}f}"
    return number if spread is None else f"{number} ± {spread:,.{digits + 1}f}"


def _marked_up(cell: Cell, escape: Callable[[str], str], bold: str, italic: str) -> str:
    ours, theirs = map(escape, parts(cell))
    if ours:
        ours = bold.format(ours) if cell.bold else italic.format(ours) if cell.italic else ours
    return f"{ours} {theirs}".rstrip()


def _piped(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _markdown_word(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", _one_line(text))


def _latex_word(text: str) -> str:
    return "".join(_LATEX.get(one, one) for one in _one_line(text))
