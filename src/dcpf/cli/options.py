"""Options that several commands share: single ones, and groups that a command takes as one value."""

import inspect
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from dcpf.cli.output import console, print_notes, printable, progress_bar

if TYPE_CHECKING:
    from dcpf.counts import Counts

Model = Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="Model file written by dcpf fit.")]
History = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Counts of known or new users. They replace what the model knows of these users."
    ),
]
Threads = Annotated[int | None, typer.Option(help="Number of threads.  [default: all cores]")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_TABS = ("\\t", "tab")
_CHANGING = ("skip_bad_lines", "round_counts", "cap", "min_per_user", "min_per_item")
_PARAMETERS = {"components": "n_components", "neighbors": "n_neighbors"}  # the others have the same name


def check_least(**least: tuple[int | None, int]) -> None:
    """Refuse options below their least value. The names are those of the options: (value, least)."""
    for name, (value, smallest) in least.items():
        if value is not None and value < smallest:
            option = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} must be at least {smallest}, found {value}")


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command for typer, with an option for each field of its parameters that are dataclasses.

    Such a parameter is recognised by its default. The dataclass checks the values when it is created.
    """
    own = inspect.signature(command)
    groups: dict[str, Any] = {
        name: type(parameter.default) for name, parameter in own.parameters.items() if is_dataclass(parameter.default)
    }
    options = {name: _options(group) for name, group in groups.items()}

    @wraps(command)
    def run(**given: Any) -> None:
        values = {
            name: group(**{option.name: given.pop(option.name) for option in options[name]})
            for name, group in groups.items()
        }
        command(**values, **given)

    flat = [option for name, parameter in own.parameters.items() for option in options.get(name, [parameter])]
    run.__signature__ = own.replace(parameters=flat)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in flat}
    return run


def _options(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [
        inspect.Parameter(field.name, kind, default=field.default, annotation=hints[field.name])
        for field in fields(group)
    ]


@dataclass(frozen=True)
class ReadingOptions:
    """How to read counts: the same options wherever a command takes a file of counts."""

    user_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of users: its name, or its number from 0.")
    ] = None
    item_column: Annotated[str | None, typer.Option(metavar="NAME", help="Column of items.")] = None
    count_column: Annotated[str | None, typer.Option(metavar="NAME", help="Column of counts.")] = None
    delimiter: Annotated[
        str | None, typer.Option(help="Column separator of a text file, such as ';' or tab.  [default: detected]")
    ] = None
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line names the columns.  [default: detected]"),
    ] = None
    skip_bad_lines: Annotated[
        bool, typer.Option("--skip-bad-lines", help="Skip malformed lines and report how many.")
    ] = False
    round_counts: Annotated[bool, typer.Option("--round-counts", help="Round fractional counts.")] = False
    cap: Annotated[int | None, typer.Option(help="Cap counts at this value.")] = None

    def __post_init__(self) -> None:
        check_least(cap=(self.cap, 1))

    @property
    def columns(self) -> dict[str, str | int | None]:
        """The columns as readers take them: a number is a position."""
        typed = {name: value for name, value in vars(self).items() if name.endswith("_column")}
        return {
            name: int(value) if value is not None and value.isdecimal() else value for name, value in typed.items()
        }

    @property
    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults, by name; --no-header is True."""
        found: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                found |= {"no_header": True} if (field.name, value) == ("header", False) else {field.name: value}
        return found

    def typed(self) -> list[str]:
        """The same as words of a command."""
        words = []
        for name, value in self.given.items():
            words += [f"--{name.replace('_', '-')}", *([] if isinstance(value, bool) else [str(value)])]
        return words

    def read(self, path: Path, names: Path | None = None, *, verbose: bool = False) -> "Counts":
        """Counts from a file, with a progress bar.

        Notes on the data are printed if an option changes the data, or if `verbose`. The counts then have none left,
        so a fit does not print them again.
        """
        from dcpf.readers import read_counts

        began = time.perf_counter()
        with progress_bar(f"reading {path.name}", of_bytes=True) as progress:
            counts = read_counts(
                path, **self.columns, names=names, delimiter="\t" if self.delimiter in _TABS else self.delimiter,
                header=self.header, skip_bad_lines=self.skip_bad_lines, round_counts=self.round_counts,
                progress=progress,
            )  # fmt: skip
        counts = self._changed(counts)
        if verbose:
            seconds = time.perf_counter() - began
            console(stderr=True).print(f"Read {printable(path)} in {seconds:.1f} s", soft_wrap=True)
        if verbose or not self.given.keys().isdisjoint(_CHANGING):
            print_notes(counts)
            counts = replace(counts, notes=())
        return counts

    def _changed(self, counts: "Counts") -> "Counts":
        return counts if self.cap is None else counts.cap(self.cap)


@dataclass(frozen=True)
class TrainingData(ReadingOptions):
    """How to read counts that are fitted to: also which users and items to drop."""

    min_per_user: Annotated[int, typer.Option(help="Drop users with fewer items.")] = 1
    min_per_item: Annotated[int, typer.Option(help="Drop items with fewer users.")] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(min_per_user=(self.min_per_user, 1), min_per_item=(self.min_per_item, 1))

    def _changed(self, counts: "Counts") -> "Counts":
        counts = super()._changed(counts)
        if max(self.min_per_user, self.min_per_item) == 1:
            return counts
        return counts.filter(self.min_per_user, self.min_per_item)


@dataclass(frozen=True)
class ModelOptions:
    """The model to fit: the options of every command that fits one, and what dcpf tune chooses."""

    components: Annotated[
        int | None,
        typer.Option(help="Number of latent components. 0 replaces factors by popularity.  [default: 50]"),
    ] = None
    neighbors: Annotated[
        int | None,
        typer.Option(
            help="Maximum number of items that excite an item. 0 turns excitation off, as in the paper.  "
            "[default: 200]"
        ),
    ] = None
    element: Annotated[
        str | None,
        typer.Option(
            help="Distribution of the count in one session: shifted-nb, logarithmic, geometric or "
            "zero-truncated-poisson. raw and binary are Poisson factorization of raw and of binarized counts.  "
            "[default: shifted-nb]"
        ),
    ] = None
    neighbor_prior: Annotated[
        float | None,
        typer.Option(help="Strength of the prior on excitation, in users; scaled down below 1,500.  [default: 40]"),
    ] = None
    shape_prior: Annotated[
        float | None, typer.Option(help="Shape of the gamma priors; below 1, factors are sparse.  [default: 0.3]")
    ] = None

    def __post_init__(self) -> None:
        check_least(components=(self.components, 0), neighbors=(self.neighbors, 0))
        for option, value in (("--neighbor-prior", self.neighbor_prior), ("--shape-prior", self.shape_prior)):
            if value is not None and not 0.0 < value < math.inf:
                raise ValueError(f"{option} must be a positive number, found {value}")

    def parameters(self) -> dict[str, Any]:
        """What was given, as parameters of the estimator."""
        from dcpf import elements

        if self.element is not None:
            elements.get(self.element)  # refuses an unknown one before anything is read
        return {_PARAMETERS.get(name, name): value for name, value in vars(self).items() if value is not None}


DEFAULT_READING = ReadingOptions()
DEFAULT_DATA = TrainingData()
DEFAULT_MODEL = ModelOptions()
