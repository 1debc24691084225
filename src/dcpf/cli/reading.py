"""How commands read counts: one set of options, the same wherever a file of counts is taken."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcpf.cli.inputs import bar, check_least
from dcpf.cli.output import tell_notes

if TYPE_CHECKING:
    from dcpf.counts import Counts

_TABS = ("\\t", "tab")


@dataclass(frozen=True)
class Reading:
    """What was said of how to read counts. Each field is an option of every command that reads them."""

    user_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of the users, by name or number from 0.")
    ] = None
    item_column: Annotated[str | None, typer.Option(metavar="NAME", help="Column of the items.")] = None
    count_column: Annotated[str | None, typer.Option(metavar="NAME", help="Column of the counts.")] = None
    delimiter: Annotated[
        str | None, typer.Option(help="Between the columns of a text file, such as ';' or tab.  [default: found]")
    ] = None
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line names columns.  [default: found]"),
    ] = None
    skip_bad_lines: Annotated[
        bool, typer.Option("--skip-bad-lines", help="Pass over lines of text that cannot be used, and count them.")
    ] = False
    round_counts: Annotated[bool, typer.Option("--round-counts", help="Round fractions to whole counts.")] = False
    cap: Annotated[int | None, typer.Option(help="Cut larger counts to this one.")] = None

    def __post_init__(self) -> None:
        check_least(cap=(self.cap, 1))

    @property
    def columns(self) -> dict[str, str | int | None]:
        """What was typed for columns, as the readers take it: a number is a position."""
        typed = {name: value for name, value in vars(self).items() if name.endswith("_column")}
        return {name: int(one) if one is not None and one.isdecimal() else one for name, one in typed.items()}

    @property
    def more(self) -> dict[str, Any]:
        """What was said beside the columns, by the names of the options. None and False were not said."""
        said = {name: value for name, value in vars(self).items() if not name.endswith("_column")}
        return said | {"no_header": self.header is False}

    def read(self, path: Path, names: Path | None = None) -> "Counts":
        """Counts from a file, with a progress bar."""
        from dcpf.readers import read_counts

        with bar(f"reading {path.name}", of_bytes=True) as progress:
            counts = read_counts(
                path, **self.columns, names=names, delimiter="\t" if self.delimiter in _TABS else self.delimiter,
                header=self.header, skip_bad_lines=self.skip_bad_lines, round_counts=self.round_counts,
                progress=progress,
            )  # fmt: skip
        return counts if self.cap is None else counts.cap(self.cap)

    def read_and_tell(self, path: Path) -> "Counts":
        """The same, and what became of the data on the way is told if it was asked to be changed."""
        counts = self.read(path)
        if self.skip_bad_lines or self.round_counts or self.cap is not None:
            tell_notes(counts)
            return replace(counts, notes=())  # so that a fit does not tell it once more
        return counts

    def typed(self) -> list[str]:
        """The options again, for another command."""
        words: list[str] = []
        for name, value in vars(self).items():
            option = name.replace("_", "-")
            if isinstance(value, bool):
                words += [f"--{option}"] if value else ["--no-header"] if name == "header" else []
            elif value is not None:
                words += [f"--{option}", str(value)]
        return words


USUAL = Reading()
