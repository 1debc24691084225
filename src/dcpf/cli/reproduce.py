"""dcpf reproduce: the paper's experiments on its data sets, or on any counts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dcpf.cli.files import check_folder
from dcpf.cli.options import DEFAULT_DATA, Json, Threads, TrainingData, check_least, grouped
from dcpf.cli.output import console, print_json, print_notes, print_result_table, printable, progress_bar
from dcpf.text import plural, shape_words

if TYPE_CHECKING:
    from dcpf.counts import Counts
    from dcpf.paper.reproduce import Reproduction, Standing


@grouped
def reproduce(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="taste-profile, lastfm or nips, followed by its file; or any file of counts alone.",
        ),
    ],
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="The data set's file as it is published, or as dcpf data has prepared it.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Where results go.  [default: named after the data, here]"
        ),
    ] = None,
    grid: Annotated[
        bool,
        typer.Option("--grid", help="Search p on the paper's grids as well: five times as many fits."),
    ] = False,
    choose: Annotated[
        bool,
        typer.Option("--choose", help="Choose alpha in .1, .3, 1 and K in 50, 100, 200 by NDCG0 of PFbin first."),
    ] = False,
    components: Annotated[
        int | None, typer.Option(help="K.  [default: 100 for taste-profile, 50 for all others]")
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Shape of the gamma priors.  [default: 0.3]")] = None,
    starts: Annotated[int, typer.Option(help="Random starts of each model.")] = 5,
    seed: Annotated[int, typer.Option(help="The same seed gives the same tables.")] = 0,
    max_iter: Annotated[int, typer.Option(help="Stop a fit after so many iterations in any case.")] = 3000,
    tol: Annotated[float, typer.Option(help="Stop a fit when the bound rises by less than this part of it.")] = 1e-5,
    reading: TrainingData = DEFAULT_DATA,
    no_figures: Annotated[bool, typer.Option("--no-figures", help="Only tables.")] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Throw away what an earlier run has left in the folder.")
    ] = False,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Compare the paper's models on its data or on yours, and write its tables and figures.

    You can stop the command at any time; the same command resumes from there.
    """
    check_least(
        components=(components, 1), starts=(starts, 1), seed=(seed, 0), max_iter=(max_iter, 1),
        threads=(threads, 1),
    )  # fmt: skip
    if choose and (components is not None or alpha is not None):
        raise ValueError("--choose finds alpha and K: leave out --alpha and --components, or --choose")
    from dcpf.paper import published
    from dcpf.paper.data_sets import find
    from dcpf.paper.protocol import Protocol

    dataset, path = _what(data, file)
    settings = Protocol(
        components=components or published.COMPONENTS.get(dataset or "", 50),
        alpha=0.3 if alpha is None else alpha,
        starts=starts, seed=seed, max_iter=max_iter, tol=tol, grid=grid, choose=choose,
    )  # fmt: skip
    folder = output or Path(f"{dataset or path.name.split('.')[0] or 'counts'}-reproduced")
    check_folder(folder)
    counts = _read(dataset, path, seed, reading)
    from dcpf.paper.reproduce import reproduce as run

    last: list[Standing] = []

    def kept() -> str:
        fits = f"{last[0].done} of {plural(last[0].total, 'fit')}" if last else "finished fits"
        return f"{fits} are kept in {folder}"

    with progress_bar("starting (compiles when run for the first time)", None, kept) as update:

        def watch(now: "Standing") -> None:
            last[:] = [now]
            what = _described(now)
            line = None if now.record is None else f"{now.done}/{now.total} {what}"
            update(now.done, description=what, line=line, total=now.total)

        done = run(
            counts, folder, settings, name=path.name if dataset is None else find(dataset).title, dataset=dataset,
            threads=threads, restart=restart, figures=not no_figures, watch=watch,
        )  # fmt: skip
    if json:
        print_json(done.to_dict())
    else:
        _tell(done)


def _what(data: str, file: Path | None) -> tuple[str | None, Path]:
    """The name of the data set, if it is one of the paper's, and the file."""
    from dcpf.paper.data_sets import DATA_SETS

    if file is None:
        if data in DATA_SETS and not Path(data).exists():
            raise ValueError(
                f"{data} needs a file: dcpf reproduce {data} FILE, with {DATA_SETS[data].original.source}"
            )
        return None, Path(data)
    if data not in DATA_SETS:
        raise ValueError(
            f"unknown data set {data!r}: choose one of {', '.join(DATA_SETS)}; a file of counts stands alone, "
            "dcpf reproduce FILE"
        )
    return data, file


def _read(dataset: str | None, path: Path, seed: int, reading: TrainingData) -> "Counts":
    """The counts, with what was done to them told on standard error."""
    if dataset is None:
        counts = reading.read(path, verbose=True)
    else:
        if reading != DEFAULT_DATA:
            raise ValueError(f"{dataset} has its own columns and filter: leave out {reading.typed()[0]}")
        from dcpf.paper.data_sets import read_original_or_prepared

        with progress_bar(f"reading {path.name}", of_bytes=True) as progress:
            counts = read_original_or_prepared(dataset, path, seed, progress)
    console(stderr=True).print(f"  {shape_words(*counts.shape, counts.nnz)}", soft_wrap=True)
    print_notes(counts)
    return counts


def _described(now: "Standing") -> str:
    from dcpf.text import clock

    left = "" if now.left is None else f", about {clock(now.left)} left"
    return f"{now.job}, iteration {now.iteration}  {clock(now.seconds)}{left}"


def _tell(done: "Reproduction") -> None:
    """The tables, and where they were written to."""
    for one in done.tables:
        print_result_table(one)
    screen = console()
    for note in done.notes:
        screen.print(printable(note), soft_wrap=True)
    screen.print(f"Written to {printable(done.folder)}:", soft_wrap=True)
    figures = "figures as PNG and SVG, " if any(path.suffix == ".png" for path in done.files) else ""
    screen.print(f"  tables.md, each table as CSV and LaTeX, {figures}fits in runs.jsonl, times.csv")
