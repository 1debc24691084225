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
from dcpf.wording import several

if TYPE_CHECKING:
    from dcpf.counts import Counts
    from dcpf.readers.paper import DataSet, Figures

_ENDINGS = (".parquet", ".csv")
_ROWS_AT_A_TIME = 1_000_000


def data(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", show_default=False, help="taste-profile, lastfm or nips. Without it, they are listed."
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="The original file as it was downloaded, in its archive or unpacked.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", show_default=False, help="The file to write: .parquet or .csv.")
    ] = None,
    users: Annotated[
        int | None, typer.Option(help="Draw so many users, active ones more likely.  [taste-profile: 20000]")
    ] = None,
    items: Annotated[
        int | None, typer.Option(help="Draw so many items, popular ones more likely.  [taste-profile: 20000]")
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Draw none: keep all users and items with enough.")] = False,
    min_per_user: Annotated[
        int | None, typer.Option(help="Drop users with fewer items.  [default: 20, as the authors; nips: 0]")
    ] = None,
    min_per_item: Annotated[
        int | None, typer.Option(help="Drop items with fewer users.  [default: 20, as the authors; nips: 0]")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed draws the same users and items.")] = 0,
    json: Json = False,
) -> None:
    """Prepare a data set of the paper from its original file; or list them, and where they come from."""
    if name is None:
        _list(as_json=json)
        return
    from dcpf.readers import paper

    chosen = paper.find(name)
    check_least(
        users=(users, 1), items=(items, 1), min_per_user=(min_per_user, 0), min_per_item=(min_per_item, 0),
        seed=(seed, 0),
    )  # fmt: skip
    if file is None:
        raise ValueError(f"which file? Download {chosen.source}, and give its path after {name}")
    if output is None:
        raise ValueError(f"where to? Give the file to write: -o {name}.parquet")
    check_output(output, inputs=(file,), endings=_ENDINGS)
    began = time.perf_counter()
    with progress_bar(f"reading {file.name}", of_bytes=True) as progress:
        counts = paper.read(
            name, file, users=users, items=items, whole=whole, min_per_user=min_per_user, min_per_item=min_per_item,
            seed=seed, progress=progress,
        )  # fmt: skip
    _remark(file, counts, time.perf_counter() - began)
    write_frames(output, counts.to_frame().iter_slices(_ROWS_AT_A_TIME))
    here = paper.Figures.of(counts)
    if json:
        told = {"data": name, "file": str(output), **_as_dict(here), "paper": _as_dict(chosen.paper)}
        print_json(told | {"notes": counts.notes})
    else:
        _tell(chosen, here, output, has_names=counts.names is not None)


def _list(*, as_json: bool) -> None:
    """The data sets and where they come from."""
    from dcpf.readers.paper import DATA_SETS

    if as_json:
        known = [{"data": one.name, "title": one.title, "what": one.what, "original": one.file, "page": one.page}
                 | {"paper": _as_dict(one.paper)} for one in DATA_SETS.values()]  # fmt: skip
        print_json(known)
        return
    screen = console()
    for one in DATA_SETS.values():
        screen.print(one.name, style="bold")
        screen.print(f"  {one.title}: {one.what}. In the paper {_shape(one.paper)}.", soft_wrap=True)
        screen.print(f"  {one.file}", soft_wrap=True)
        screen.print(f"  {one.page}", soft_wrap=True)
    screen.print("\nDownload a file, and then:")
    for one in DATA_SETS.values():
        screen.print(f"  dcpf data {one.name} {one.file} -o {one.name}.parquet", soft_wrap=True)


def _remark(file: Path, counts: "Counts", seconds: float) -> None:
    screen = console(stderr=True)
    screen.print(f"Read {printable(file)} in {seconds:.1f} s", soft_wrap=True)
    for note in counts.notes:
        screen.print(f"  {printable(note)}", soft_wrap=True)


def _as_dict(figures: "Figures") -> dict[str, Any]:
    return {**asdict(figures), "share": figures.share, "ratio": figures.ratio}


def _shape(figures: "Figures") -> str:
    return (
        f"{several(figures.users, 'user')} x {several(figures.items, 'item')}, "
        f"{several(figures.entries, 'non-zero')}, {figures.share:.2%}"
    )


def _tell(chosen: "DataSet", here: "Figures", output: Path, *, has_names: bool) -> None:
    """The data set in figures beside the paper's, and what to do with it."""
    screen = console()
    made = table(chosen.title, "here", "in the paper")
    for title, form in _ROWS.items():
        made.add_row(title, *(form.format(one, share=one.share, ratio=one.ratio) for one in (here, chosen.paper)))
    screen.print(made)
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
    "share of non-zeros": "{share:.2%}",
    "mean of non-zeros": "{0.mean:.2f}",
    "variance": "{0.variance:.2f}",
    "variance / mean": "{ratio:.1f}",
}
