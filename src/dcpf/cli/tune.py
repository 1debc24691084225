"""dcpf tune: the settings that rank best on your counts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dcpf.cli.files import check_output
from dcpf.cli.fit import check_replaced
from dcpf.cli.options import DEFAULT_DATA, Json, Threads, TrainingData, check_least, grouped
from dcpf.cli.output import console, print_json, print_result_table, printable

if TYPE_CHECKING:
    from dcpf.experiments.search import Settings
    from dcpf.experiments.tuning import Tuned

_FIGURES = (".png", ".svg", ".pdf")


@grouped
def tune(
    file: Annotated[Path, typer.Argument(metavar="COUNTS", show_default=False, help="A file of counts.")],
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME@K>S,...",
            help="What to choose by: a metric (ndcg, precision, recall, map, mrr, hit_rate, auc) of lists of K "
            "items, where a count above S is relevant; several mean their average.  [default: ndcg@100 above 0, 1, 2 "
            "and 5]",
        ),
    ] = None,
    trials: Annotated[int, typer.Option(help="How many settings to try.")] = 40,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Fit all counts with the chosen settings: a .safetensors file."),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw what mattered: .png, .svg or .pdf.")
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where trials are kept.  [default: named after COUNTS, here]"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the splits, the search and the fits.")] = 0,
    reading: TrainingData = DEFAULT_DATA,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Choose the settings of the model by held-out ranking.

    A fifth of the counts is put aside, and settings are tried on the rest, the default first. The best is compared
    with the default once more, by another fifth. Can be stopped at any time: the same command goes on where it was,
    and with more --trials goes further.
    """
    check_least(
        trials=(trials, 1), seed=(seed, 0),
        threads=(threads, 1),
    )  # fmt: skip
    kept = journal or Path(f"{file.name.split('.')[0] or 'counts'}-tuned.jsonl")
    _check_files(file, kept, output, figure)
    from dcpf.experiments import tuned as telling
    from dcpf.experiments.objective import USUAL, Objective
    from dcpf.experiments.tuning import tune as run

    wanted = str(Objective.parse(USUAL if metric is None else metric))
    counts = reading.read(file)
    with _bar(trials, kept) as watch:
        found = run(counts, wanted, trials, seed=seed, journal=kept, threads=threads, watch=watch)
    if figure is not None:
        from dcpf.paper import figures

        figures.save(figures.what_mattered(found, title=printable(file.name)), figure)
    if output is not None:
        model = found.model(n_jobs=threads, verbose=True).fit(counts)
        model.set_params(verbose=False, n_jobs=None).save(output)  # of this run, not of the model
    more = [*reading.typed(), *(["--seed", str(seed)] if seed else [])]
    command = telling.as_command(found.chosen, str(file), str(output or "model.safetensors"), more)
    if json:
        print_json(telling.to_dict(found) | {"command": command, "model": None if output is None else str(output)})
    else:
        _tell(found, command, [one for one in (kept, figure, output) if one is not None])


def _check_files(file: Path, journal: Path, output: Path | None, figure: Path | None) -> None:
    """Refuse what cannot be written before anything is tried."""
    try:
        check_output(journal, inputs=(file,))
    except ValueError as error:
        raise ValueError(f"{error} (--journal names the file that trials are kept in)") from None
    if output is not None:
        check_output(output, inputs=(file, journal), endings=(".safetensors",))
        check_replaced(output)
    if figure is not None:
        check_output(figure, inputs=(file, journal), endings=_FIGURES)
        from dcpf.paper.figures import need_matplotlib

        try:
            need_matplotlib()
        except ImportError as error:
            raise ValueError(f"--figure: {error}") from None


def _tell(found: "Tuned", command: str, files: list[Path]) -> None:
    """Tables, what they say, and the settings ready to be used."""
    from dcpf.experiments import tuned as telling

    print_result_table(telling.ranking(found))
    print_result_table(telling.what_mattered(found))
    screen = console()
    for line in telling.verdict(found):
        screen.print(line)
    screen.print("\nChosen:")
    for line in (command, telling.as_python(found.chosen, found.seed)):
        screen.print(f"  {printable(line)}", soft_wrap=True)
    screen.print(f"Written to {', '.join(printable(one) for one in files)}.", soft_wrap=True)


@contextmanager
def _bar(trials: int, journal: Path) -> "Iterator[Callable[[int, Settings, bool], None]]":
    """A progress bar over trials; where there is no terminal, a line for each. An interrupt says what is kept."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    screen = console(stderr=True)
    shown = (
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*shown, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("starting (compiles when run for the first time)", total=trials)

        def watch(done: int, now: "Settings", again: bool) -> None:
            from dcpf.experiments.tuned import described

            what = f"{described(now)}, once more" if again else described(now)
            progress.update(task, completed=done, description=what)
            if not screen.is_terminal:
                screen.print(f"  {what}" if again else f"  {done + 1}/{trials} {what}", soft_wrap=True)

        try:
            yield watch
        except KeyboardInterrupt:
            kept = f"finished trials are kept in {journal}; the same command goes on from there"
            raise KeyboardInterrupt(kept) from None
