"""dcpf check: whether counts drawn from a model look like the data."""

from pathlib import Path
from typing import Annotated

import typer

import dcpf
from dcpf.cli.files import check_output
from dcpf.cli.options import DEFAULT_READING, Json, Model, ReadingOptions, check_least, grouped
from dcpf.cli.output import print_json, print_note, printable, progress_bar


@grouped
def check(
    model: Model,
    counts: Annotated[
        Path | None,
        typer.Argument(
            metavar="COUNTS",
            help="What to compare with, as much as was fitted to.  [default: that]",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Draw the check into this file: .png, .svg or .pdf."),
    ] = None,
    draws: Annotated[int, typer.Option(help="How many matrices to draw from the model.")] = 10,
    seed: Annotated[int, typer.Option(help="For the draws.")] = 0,
    reading: ReadingOptions = DEFAULT_READING,
    json: Json = False,
) -> None:
    """Check a model: draw counts from it, and compare them with the data."""
    check_least(draws=(draws, 1), seed=(seed, 0))
    from dcpf.evaluation.predictive import predictive_check
    from dcpf.paper import figures

    if output is not None:
        check_output(output, inputs=(model, counts), endings=figures.ENDINGS)
        try:
            figures.need_matplotlib()
        except ImportError as error:
            raise ValueError(f"{output}: {error}") from None
    fitted = dcpf.load(model)
    given = None if counts is None else reading.read(counts)
    with progress_bar("drawing") as progress:
        found = predictive_check(fitted, given, seed, draws, progress=progress)
    if output is not None:
        figures.save(figures.predictive_check(found), output)
        print_note(f"figure written to {output}")
    if json:
        print_json(found.to_dict())
    else:
        typer.echo("\n".join(map(printable, str(found).splitlines())))
