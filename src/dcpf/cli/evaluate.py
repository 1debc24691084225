"""dcpf evaluate: how well a model finds what was held out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dcpf
from dcpf.cli.files import TABLES, check_output, write_frames
from dcpf.cli.options import (
    DEFAULT_DATA,
    DEFAULT_MODEL,
    History,
    Json,
    ModelOptions,
    Threads,
    TrainingData,
    check_least,
    grouped,
)
from dcpf.cli.output import console, print_json, printable
from dcpf.text import plural

if TYPE_CHECKING:
    from dcpf.counts import Counts
    from dcpf.evaluation import Evaluation
    from dcpf.model import DCPF

_HELD_OUT = 0.2


@grouped
def evaluate(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="COUNTS | MODEL", show_default=False, help="Counts, of which a part is held out; or a model."
        ),
    ],
    test: Annotated[
        Path | None,
        typer.Argument(metavar="TEST", show_default=False, help="With a model: the counts that it should find."),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Length of a list.")] = 100,
    thresholds: Annotated[
        str, typer.Option(metavar="S,S,...", help="An item is relevant if its test count is larger than S.")
    ] = "0,1,2,5",
    test_fraction: Annotated[float, typer.Option(help="Of COUNTS: how much to hold out.")] = _HELD_OUT,
    settings: ModelOptions = DEFAULT_MODEL,
    seed: Annotated[int, typer.Option(help="Of COUNTS: the same seed gives the same split and model.")] = 0,
    history: History = None,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL", help="Compare with this model, user by user. Both should know the same counts."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the values by user: .parquet, .csv or .json.")
    ] = None,
    reading: TrainingData = DEFAULT_DATA,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Rank items for users, and compare with what was held out.

    dcpf evaluate COUNTS holds a part of the counts out, fits the rest, with settings as in dcpf fit, and judges the
    lists. dcpf evaluate MODEL TEST judges a model by counts that it was not fitted to.
    """
    check_least(k=(k, 1), seed=(seed, 0), threads=(threads, 1))
    levels = _levels(thresholds)
    _check_model_or_counts(file, test, history, against)
    if test is not None and settings != DEFAULT_MODEL:
        raise ValueError(f"{file} is fitted already: leave out --components and the other settings of a fit")
    if test is not None and (test_fraction, reading.min_per_user, reading.min_per_item, seed) != (_HELD_OUT, 1, 1, 0):
        raise ValueError(
            f"{file} should find all of {test}: leave out --test-fraction, --min-per-user, --min-per-item and --seed"
        )
    if output is not None:
        check_output(output, inputs=(file, test, history, against), endings=TABLES)
    if test is None:
        new = dcpf.DCPF(**settings.parameters(), random_state=seed, n_jobs=threads, verbose=True)
        counts = reading.read(file)
        model, held_out = _fitted(new, counts, test_fraction, seed)
    else:
        model, held_out = _load(file, threads), reading.read(test)
    before = None if history is None else reading.read(history)
    from dcpf.evaluation import evaluate as judge

    found = judge(model, held_out, k, levels, history=before)
    other = None if against is None else judge(_load(against, threads), held_out, k, levels, history=before)
    if output is not None:
        rows = write_frames(output, [found.per_user()])
        console(stderr=True).print(f"Wrote {plural(rows, 'row')} to {printable(output)}", soft_wrap=True)
    _tell(model, held_out, before, found, other, as_json=json)


def _tell(
    model: "DCPF",
    held_out: "Counts",
    before: "Counts | None",
    found: "Evaluation",
    other: "Evaluation | None",
    *,
    as_json: bool,
) -> None:
    from dcpf.evaluation import log_likelihood

    likelihood = log_likelihood(model, held_out, history=before)
    compared = None if other is None else found.compare(other)
    if as_json:
        told: dict[str, Any] = found.to_dict() | {"log_likelihood": likelihood.to_dict()}
        print_json(told if compared is None else told | {"against": compared.to_dict()})
        return
    screen = console()
    texts = [str(found), "", str(likelihood)]
    if compared is not None:
        texts += ["", f"first: this model, second: the other, over {plural(compared.users, 'user')}", str(compared)]
    for line in "\n".join(texts).splitlines():
        screen.print(printable(line), soft_wrap=True)


def _fitted(model: "DCPF", counts: "Counts", test_fraction: float, seed: int) -> "tuple[DCPF, Counts]":
    """The model of one part of the counts, and the other part."""
    train, test = counts.split(test_fraction, seed)
    console(stderr=True).print(
        f"{plural(test.nnz, 'count')} held out, {plural(train.nnz, 'count')} to learn from", soft_wrap=True
    )
    return model.fit(train), test


def _load(path: Path, threads: int | None) -> "DCPF":
    """The model in a file, with so many threads for its lists."""
    return dcpf.DCPF.from_fitted(dcpf.load(path), n_jobs=threads)


def _check_model_or_counts(file: Path, test: Path | None, history: Path | None, against: Path | None) -> None:
    if test is None and file.suffix == ".safetensors":
        raise ValueError(f"{file} is a model; name the counts that it should find as well: dcpf evaluate MODEL TEST")
    for option, value in (("--history", history), ("--against", against)):
        if test is None and value is not None:
            raise ValueError(f"{option} goes with a model: dcpf evaluate MODEL TEST {option} {value}")


def _levels(typed: str) -> tuple[int, ...]:
    parts = [part.strip() for part in typed.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ValueError(
            f"--thresholds must be whole numbers with commas between them, such as 0,1,2,5; found {typed!r}"
        )
    return tuple(map(int, parts))
