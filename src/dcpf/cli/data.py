"""dcpf data: the paper's data sets, from their original files to a file of counts."""

import shlex
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcpf.cli.files import check_output, write_frames
from dcpf.cli.options import Json, check_least
from dcpf.cli.output import console, format_size, print_json, printable, progress_bar, table
from dcpf.text import shape_words

if TYPE_CHECKING:
    from dcpf.counts import Counts
    from dcpf.paper.data_sets import DataSet, DataSummary

_ENDINGS = (".parquet", ".csv")
_ROWS_AT_A_TIME = 1_000_000


def data(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", show_default=False, help="taste-profile, lastfm or nips. Omit to list them."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="The original file as you downloaded it, packed or unpacked.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", show_default=False, help="The file to write: .parquet or .csv.")
    ] = None,
    users: Annotated[
        int | None, typer.Option(help="Number of users to draw, favouring active ones.  [taste-profile: 20000]")
    ] = None,
    items: Annotated[
        int | None, typer.Option(help="Number of items to draw, favouring popular ones.  [taste-profile: 20000]")
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Draw none: keep all users and items that pass the filter.")
    ] = False,
    min_per_user: Annotated[
        int | None, typer.Option(help="Drop users with fewer items.  [default: 20, as the authors did; nips: 0]")
    ] = None,
    min_per_item: Annotated[
        int | None, typer.Option(help="Drop items with fewer users.  [default: 20, as the authors did; nips: 0]")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed draws the same users and items.")] = 0,
    json: Json = False,
) -> None:
    """Prepare a data set of the paper from its original file. Without NAME, list the data sets and their sources."""
    if name is None:
        _list(as_json=json)
        return
    from dcpf.paper.data_sets import DataSummary, find, read

    chosen = find(name)
    check_least(
        users=(users, 1), items=(items, 1), min_per_user=(min_per_user, 0), min_per_item=(min_per_item, 0),
        seed=(seed, 0),
    )  # fmt: skip
    if file is None:
        raise ValueError(f"which file? Download {chosen.original.source}, and give its path after {name}")
    if output is None:
        raise ValueError(f"no output: give the file to write, -o {name}.parquet")
    check_output(output, inputs=(file,), endings=_ENDINGS)
    began = time.perf_counter()
    with progress_bar(f"reading {file.name}", of_bytes=True) as progress:
        counts = read(
            name, file, users=users, items=items, whole=whole, min_per_user=min_per_user, min_per_item=min_per_item,
            seed=seed, progress=progress,
        )  # fmt: skip
    _print_notes(file, counts, time.perf_counter() - began)
    write_frames(output, counts.to_frame().iter_slices(_ROWS_AT_A_TIME))
    here = DataSummary.of(counts)
    if json:
        result = {"data": name, "file": str(output), **_as_dict(here), "paper": _as_dict(chosen.paper)}
        print_json(result | {"notes": counts.notes})
    else:
        _print_summary(chosen, here, output, has_names=counts.names is not None)


def _list(*, as_json: bool) -> None:
    """The data sets and where to download them."""
    from dcpf.paper.data_sets import DATA_SETS

    if as_json:
        print_json(
            [
                {"data": data.name, "title": data.title, "what": data.description, "original": data.original.file}
                | {"page": data.original.page, "paper": _as_dict(data.paper)}
                for data in DATA_SETS.values()
            ]
        )
        return
    screen = console()
    for data in DATA_SETS.values():
        shape = (
            f"{shape_words(data.paper.users, data.paper.items, data.paper.entries)}, {data.paper.share:.2%} non-zero"
        )
        screen.print(data.name, style="bold")
        screen.print(f"  {data.title}: {data.description}. In the paper {shape}.", soft_wrap=True)
        screen.print(f"  {data.original.file}", soft_wrap=True)
        screen.print(f"  {data.original.page}", soft_wrap=True)
    screen.print("\nDownload a file, and then:")
    for data in DATA_SETS.values():
        screen.print(f"  dcpf data {data.name} {data.original.file} -o {data.name}.parquet", soft_wrap=True)


def _print_notes(file: Path, counts: "Counts", seconds: float) -> None:
    screen = console(stderr=True)
    screen.print(f"Read {printable(file)} in {seconds:.1f} s", soft_wrap=True)
    for note in counts.notes:
        screen.print(f"  {printable(note)}", soft_wrap=True)


def _as_dict(summary: "DataSummary") -> dict[str, Any]:
    return {**asdict(summary), "share": summary.share, "ratio": summary.ratio}


def _print_summary(chosen: "DataSet", here: "DataSummary", output: Path, *, has_names: bool) -> None:
    """The data set compared with the paper's, and what to do next."""
    screen = console()
    compared = table(chosen.title, "here", "in the paper")
    for title, form in _ROWS.items():
        compared.add_row(title, form.format(here), form.format(chosen.paper))
    screen.print(compared)
    screen.print(f"Written to {printable(output)} ({format_size(output.stat().st_size)}).", soft_wrap=True)
    path = shlex.quote(str(output))
    names = f" --names {path}" if has_names else ""
    screen.print("\nNext:")
    for command in (
        f"dcpf reproduce {chosen.name} {path}",
        f"dcpf fit {path}{names} -o {shlex.quote(str(output.with_suffix('.safetensors')))}",
    ):
        screen.print(f"  {printable(command)}", soft_wrap=True)


_ROWS = {
    "rows (users)": "{0.users:,}",
    "columns (items)": "{0.items:,}",
    "non-zeros": "{0.entries:,}",
    "share of non-zeros": "{0.share:.2%}",
    "mean of non-zeros": "{0.mean:.2f}",
    "variance": "{0.variance:.2f}",
    "variance / mean": "{0.ratio:.1f}",
}
