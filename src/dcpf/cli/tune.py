"""dcpf tune: the settings that rank best on your counts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dcpf.cli.files import check_output
from dcpf.cli.fit import check_replaced
from dcpf.cli.options import DEFAULT_DATA, Json, Threads, TrainingData, check_least, grouped
from dcpf.cli.output import console, print_json, print_result_table, printable, progress_bar

if TYPE_CHECKING:
    from dcpf.evaluation.trials import Tuned, TunedParameters

_FIGURES = (".png", ".svg", ".pdf")


@grouped
def tune(
    file: Annotated[Path, typer.Argument(metavar="COUNTS", show_default=False, help="A file of counts.")],
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME@K>S,...",
            help="Metric to choose by (ndcg, precision, recall, map, mrr, hit_rate, auc) of lists of K items, where "
            "a count above S is relevant; the mean of several.  [default: ndcg@100 above 0, 1, 2 and 5]",
        ),
    ] = None,
    trials: Annotated[int, typer.Option(help="Number of settings to try.")] = 40,
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
    seed: Annotated[int, typer.Option(help="Seed of the splits, the search and the fits.")] = 0,
    reading: TrainingData = DEFAULT_DATA,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Choose the settings of the model by held-out ranking.

    A fifth of the counts is held out, and settings are tried on the rest, the default first. The best is compared
    with the default once more, on another fifth. You can stop the command at any time; the same command resumes from
    there, also with more --trials.
    """
    check_least(
        trials=(trials, 1), seed=(seed, 0),
        threads=(threads, 1),
    )  # fmt: skip
    kept = journal or Path(f"{file.name.split('.')[0] or 'counts'}-tuned.jsonl")
    _check_files(file, kept, output, figure)
    from dcpf.evaluation.trials import DEFAULT_METRIC, Objective, as_command
    from dcpf.evaluation.tuning import tune as run

    objective = str(Objective.parse(DEFAULT_METRIC if metric is None else metric))
    counts = reading.read(file)
    start = "starting (compiles when run for the first time)"
    with progress_bar(start, trials, lambda: f"finished trials are kept in {kept}") as update:

        def watch(done: int, now: "TunedParameters", again: bool) -> None:
            what = f"{now}, once more" if again else str(now)
            update(done, description=what, line=what if again else f"{done + 1}/{trials} {what}")

        found = run(counts, objective, trials, seed=seed, journal=kept, threads=threads, watch=watch)
    if figure is not None:
        from dcpf.paper import figures

        figures.save(figures.what_mattered(found, title=printable(file.name)), figure)
    if output is not None:
        found.model(n_jobs=threads, verbose=True).fit(counts).save(output)
    more = [*reading.typed(), *(["--seed", str(seed)] if seed else [])]
    command = as_command(found.chosen, str(file), str(output or "model.safetensors"), more)
    if json:
        print_json(found.to_dict() | {"command": command, "model": None if output is None else str(output)})
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
    """Print the tables, the verdict, and the settings ready to use."""
    from dcpf.evaluation.trials import as_python, ranking, what_mattered

    print_result_table(ranking(found))
    print_result_table(what_mattered(found))
    screen = console()
    for line in found.verdict:
        screen.print(line)
    screen.print("\nChosen:")
    for line in (command, as_python(found.chosen, found.seed)):
        screen.print(f"  {printable(line)}", soft_wrap=True)
    screen.print(f"Written to {', '.join(printable(one) for one in files)}.", soft_wrap=True)
