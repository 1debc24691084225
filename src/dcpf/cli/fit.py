"""dcpf fit: from a file of counts to a model file."""

import math
import shlex
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dcpf
from dcpf.cli.cluster import (
    Cluster,
    Insecure,
    Prepared,
    Scheduler,
    UserFactors,
    Workers,
    check_cluster,
    fit_on_cluster,
)
from dcpf.cli.files import check_output
from dcpf.cli.options import (
    DEFAULT_DATA,
    DEFAULT_MODEL,
    Json,
    ModelOptions,
    Threads,
    TrainingData,
    check_least,
    grouped,
)
from dcpf.cli.output import console, format_number, format_size, print_json, print_note, printable
from dcpf.cli.stopping import Stop
from dcpf.text import plural

if TYPE_CHECKING:
    from dcpf.counts import Id
    from dcpf.model import DCPF, FittedModel

_POPULAR = 50  # items among which one is looked for that a user does not have


@grouped
def fit(
    file: Annotated[
        str,  # which may be an address that is no path
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="Counts: CSV or TSV (also .gz, .zst), Parquet (a file or a folder), MatrixMarket or npz. A table "
            "has a row for each user, item and count; without a column of counts, each row counts 1.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", show_default=False, help="Model file to write: .safetensors.")
    ],
    settings: ModelOptions = DEFAULT_MODEL,
    names: Annotated[Path | None, typer.Option(metavar="FILE", help="Table of item ids and item names.")] = None,
    reading: TrainingData = DEFAULT_DATA,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same model.")] = 0,
    max_iter: Annotated[int, typer.Option(help="Maximum number of iterations.")] = 500,
    tol: Annotated[
        float, typer.Option(help="Relative tolerance on the bound: stop once an iteration gains less.")
    ] = 1e-5,
    float64: Annotated[bool, typer.Option("--float64", help="Use double precision, with twice the memory.")] = False,
    warm_start: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            help="Start from an older model, with its settings, names and precision. New users and items start at "
            "random.",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder for a checkpoint, written every 10 iterations or 60 seconds and when you stop the fit. It "
            "is removed once the model is written.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Resume from the checkpoint. The result is identical to an uninterrupted fit."),
    ] = False,
    no_history: Annotated[
        bool, typer.Option("--no-history", help="Leave the training counts out of the model file.")
    ] = False,
    threads: Threads = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    insecure: Insecure = False,
    prepared: Prepared = None,
    user_factors: UserFactors = None,
    json: Json = False,
) -> None:
    """Fit a model to a file of counts, and write it to a file."""
    check_least(seed=(seed, 0), max_iter=(max_iter, 1), threads=(threads, 1))
    if not 0.0 <= tol < math.inf:
        raise ValueError(f"--tol must be a number >= 0, found {tol}")
    if not file:
        raise ValueError("FILE is empty (an unset variable?): name a file of counts")
    check_output(output, inputs=(Path(file), names), endings=(".safetensors", ""))
    check_replaced(output)
    _check_checkpoint(checkpoint, output, resume=resume)
    stop = Stop()
    model = _model(
        warm_start,
        **settings.parameters(), **({"dtype": "float64"} if float64 else {}),
        max_iter=max_iter, tol=tol, random_state=seed, n_jobs=threads, verbose=True, checkpoint=checkpoint,
        callback=None if checkpoint is None else stop,
    )  # fmt: skip
    cluster = Cluster(workers, scheduler, insecure, threads)
    folders = {"prepared": prepared, "user_factors": user_factors}
    only_here = {name: value for name, value in reading.given.items() if name not in reading.columns}
    only_here["warm_start"] = warm_start
    learn: Callable[[], object]
    if check_cluster(cluster, only_there={"insecure": insecure, **folders}, only_here=only_here):
        learn = partial(fit_on_cluster, model, file, names, cluster, folders, reading.columns)
    else:
        learn = partial(model.fit, reading.read(Path(file), names, verbose=True))
    seconds = _learn_and_save(model, learn, stop, output, history=not no_history)
    if json:
        print_json(_as_dict(model, output, seconds))
    else:
        _print_summary(model, output, seconds)
        if user_factors is None:
            _print_next(model.fitted_, output, file, history=not no_history)


def check_replaced(output: Path) -> None:
    """Only a model may be replaced by a model."""
    if not output.exists() or output.stat().st_size == 0:
        return
    from dcpf import store

    try:
        store.read(output)
    except store.ModelFormatError:
        raise ValueError(f"{output} already exists and is not a model; choose another name, or remove it") from None


def _check_checkpoint(checkpoint: Path | None, output: Path, *, resume: bool) -> None:
    """A fit resumes only if asked to, and never overwrites another checkpoint."""
    if checkpoint is None:
        if resume:
            raise ValueError("--resume needs --checkpoint, the folder to resume from")
        return
    from dcpf.store import CheckpointFolder

    if output.parent.resolve() == checkpoint.resolve():
        raise ValueError(f"{output} is in the checkpoint folder, which is removed at the end; choose another name")
    folder = CheckpointFolder(checkpoint)
    folder.check()
    found = folder.manifest()
    if found is not None and not resume:
        raise ValueError(
            f"{checkpoint} holds the checkpoint of a fit after iteration {found.number}: add --resume to continue "
            f"it, or remove {checkpoint} to start afresh"
        )
    if found is None and resume:
        console(stderr=True).print(f"No checkpoint in {printable(checkpoint)}: the fit starts afresh", soft_wrap=True)


def _model(warm_start: Path | None, **parameters: Any) -> "DCPF":
    """An estimator that is new, or that starts from an older model."""
    from dcpf import DCPF

    if warm_start is None:
        return DCPF(**parameters)
    return DCPF.from_fitted(dcpf.load(warm_start), warm_start=True, **parameters)


def _learn_and_save(model: "DCPF", learn: Callable[[], object], stop: Stop, output: Path, *, history: bool) -> float:
    """Fit with a progress bar and write the model. Returns the seconds that the fit took."""
    began = time.perf_counter()
    not_written = f"{output} was not written"
    if model.checkpoint is not None:
        not_written += "; run the same command with --resume to continue"
    try:
        with nullcontext() if model.checkpoint is None else stop:
            learn()
        if stop.signal is not None:
            print_note(f"stopped after iteration {stop.iteration}; {not_written}")
            raise typer.Exit(stop.code)
        seconds = time.perf_counter() - began
        model.save(output, history=history)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(not_written) from None
    return seconds


def _as_dict(model: "DCPF", output: Path, seconds: float) -> dict[str, Any]:
    about = model.describe(1, 1)
    return {
        "model": str(output),
        "users": about.users,
        "items": about.items,
        "entries": about.data["entries"],
        "total": about.data["total"],
        "sessions_per_count": about.sessions_per_count,
        "components": about.components,
        "neighbors": about.neighbors,
        "element": about.element,
        "parameters": about.parameters,
        "iterations": model.n_iter_,
        "bound": about.bounds[-1],
        "seconds": round(seconds, 3),
    }


def _print_summary(model: "DCPF", output: Path, seconds: float) -> None:
    """Print what was learned."""
    about, screen = model.describe(1, 1), console()
    components = plural(about.components, "component") + (" and excitation" if about.neighbors else "")
    screen.print(
        f"Learned {components} in {plural(model.n_iter_, 'iteration')} and {seconds:.1f} seconds. {about.meaning}"
    )
    if about.sessions_per_count is not None:
        mean = format_number(about.data["total"] / about.data["entries"])
        screen.print(
            f"The mean count, {mean}, corresponds to about {format_number(about.sessions_per_count)} sessions."
        )
    screen.print(f"Written to {printable(output)} ({format_size(output.stat().st_size)}).", soft_wrap=True)


def _print_next(model: "FittedModel", output: Path, counts: str, *, history: bool) -> None:
    """Print commands to try, with ids of this model."""
    about, screen = model.describe(1, _POPULAR), console()
    user, popular = about.most_active[0], about.most_popular[0]
    commands = [
        _command("recommend", output, user=user.id) + ("" if history else f" --history {shlex.quote(counts)}"),
        _command("similar", output, item=_shortest(model, popular.id, popular.name)),
    ]
    place = model.users.find(user.id)
    has = set() if model.history is None or place is None else set(model.history[[place]].indices.tolist())
    new = next((item for item in about.most_popular if model.items.find(item.id) not in has), None)
    if history and new is not None:
        commands.append(_command("explain", output, user=user.id, item=_shortest(model, new.id, new.name)))
    screen.print("\nNext:")
    for command in (*commands, _command("inspect", output)):
        screen.print(f"  {printable(command)}", soft_wrap=True)


def _command(command: str, model: Path, **options: "Id") -> str:
    quoted = {name: shlex.quote(str(value)) for name, value in options.items()}
    words = [f"--{name}={value}" if value.startswith("-") else f"--{name} {value}" for name, value in quoted.items()]
    return " ".join(["dcpf", command, shlex.quote(str(model)), *words])


def _shortest(model: "FittedModel", item: "Id", name: str) -> "Id":
    """What to type for an item: its name, if no other item has it."""
    try:
        return name if model.catalogue.find(name) == item else item
    except ValueError:
        return item
