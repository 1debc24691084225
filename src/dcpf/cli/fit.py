"""dcpf fit: from a file of counts to a model file."""

import math
import shlex
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
from dcpf.cli.groups import grouped
from dcpf.cli.inputs import Json, Threads, check_least, find_items, load
from dcpf.cli.output import check_output, console, number, plain, print_json, remark, size, tell_notes
from dcpf.cli.reading import USUAL, Reading
from dcpf.cli.settings import DEFAULTS, Settings
from dcpf.cli.stopping import Stop
from dcpf.text import plural

if TYPE_CHECKING:
    from dcpf.counts import Counts, Id
    from dcpf.model import DCPF


_POPULAR = 50  # items among which one is looked for that a user does not have


@grouped
def fit(
    file: Annotated[
        str,  # which may be an address that is no path
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="Counts: CSV or TSV (also .gz, .zst), Parquet (or a folder of it), MatrixMarket, npz. A table has a "
            "row for each user, item and count; without a count column each row counts 1.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", show_default=False, help="The model file to write: .safetensors.")
    ],
    settings: Settings = DEFAULTS,
    names: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A table with the ids of items and their names.")
    ] = None,
    reading: Reading = USUAL,
    min_per_user: Annotated[int, typer.Option(help="Drop users with fewer items.")] = 1,
    min_per_item: Annotated[int, typer.Option(help="Drop items with fewer users.")] = 1,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.")] = 0,
    max_iter: Annotated[int, typer.Option(help="Stop after so many iterations in any case.")] = 500,
    tol: Annotated[float, typer.Option(help="Stop when the bound rises by less than this part of it.")] = 1e-5,
    float64: Annotated[bool, typer.Option("--float64", help="Double precision: twice the memory.")] = False,
    warm_start: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            help="Start from an older model: its components, element, names, precision, and who is known.",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A folder to keep what the fit has reached: every 10 iterations or 60 seconds, and at a stop. "
            "It is removed when the model is written.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint, to the model of a fit that never stopped.")
    ] = False,
    no_history: Annotated[
        bool,
        typer.Option("--no-history", help="Leave the counts out of the model file."),
    ] = False,
    threads: Threads = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    insecure: Insecure = False,
    prepared: Prepared = None,
    user_factors: UserFactors = None,
    json: Json = False,
) -> None:
    """Learn from a file of counts, and write a model."""
    check_least(
        min_per_user=(min_per_user, 1),
        min_per_item=(min_per_item, 1), seed=(seed, 0), max_iter=(max_iter, 1), threads=(threads, 1),
    )  # fmt: skip
    if not 0.0 <= tol < math.inf:
        raise ValueError(f"--tol must be a number >= 0, found {tol}")
    if not file:
        raise ValueError("FILE is empty (a variable that is not set?): name a file of counts")
    check_output(output, inputs=(Path(file), names), endings=(".safetensors", ""))
    check_replaced(output)
    _check_checkpoint(checkpoint, output, resume=resume)
    given = settings.parameters() | ({"dtype": "float64"} if float64 else {})
    model = _model(warm_start, given).set_params(
        max_iter=max_iter, tol=tol, n_jobs=threads, random_state=seed, checkpoint=checkpoint
    )
    cluster = Cluster(workers, scheduler, insecure, threads)
    folders = {"prepared": prepared, "user_factors": user_factors}
    only_here = {
        **reading.more, "min_per_user": min_per_user > 1, "min_per_item": min_per_item > 1, "warm_start": warm_start,
    }  # fmt: skip
    if check_cluster(cluster, only_there={"insecure": insecure, **folders}, only_here=only_here):
        learn = partial(fit_on_cluster, model, file, names, cluster, folders, reading.columns)
    else:
        counts = _read(reading, Path(file), names)
        if max(min_per_user, min_per_item) > 1:
            counts = counts.filter(min_per_user, min_per_item)
        tell_notes(counts)
        learn = partial(model.fit, replace(counts, notes=()))
        _tell_compiling(model)
    seconds = _learn_and_save(model, learn, output, history=not no_history)
    if json:
        print_json(_as_dict(model, output, seconds))
    else:
        _tell(model, output, seconds)
        if user_factors is None:
            _tell_next(model, output, file, history=not no_history)


def check_replaced(output: Path) -> None:
    """Only a model may be replaced by a model."""
    if not output.exists() or output.stat().st_size == 0:
        return
    from dcpf import store

    try:
        store.read(output)
    except store.ModelFormatError:
        raise ValueError(f"{output} is there already and is no model; choose another name, or remove it") from None


def _check_checkpoint(checkpoint: Path | None, output: Path, *, resume: bool) -> None:
    """A checkpoint is gone on from only if that is asked for, and never overwritten."""
    if checkpoint is None:
        if resume:
            raise ValueError("--resume needs --checkpoint, the folder to go on from")
        return
    from dcpf.store import CheckpointFolder

    if output.parent.resolve() == checkpoint.resolve():
        raise ValueError(f"{output} is in the folder of the checkpoint, which is removed at the end; name another")
    folder = CheckpointFolder(checkpoint)
    folder.check()
    found = folder.manifest()
    if found is not None and not resume:
        raise ValueError(
            f"{checkpoint} holds the checkpoint of a fit after iteration {found.number}: add --resume to go on from "
            f"it, or remove {checkpoint} to begin anew"
        )
    if found is None and resume:
        console(stderr=True).print(f"No checkpoint in {plain(checkpoint)}: the fit begins anew", soft_wrap=True)


def _model(warm_start: Path | None, given: dict[str, Any]) -> "DCPF":
    """An estimator that is new, or that starts from an older model."""
    if warm_start is not None:
        old = load(warm_start)
        same = {"n_components": old.item_factors.shape[1], "element": old.element_.name}
        old.set_params(**same | given, warm_start=True)
        return old
    from dcpf import DCPF

    return DCPF(**given)


def _read(reading: Reading, file: Path, names: Path | None) -> "Counts":
    began = time.perf_counter()
    counts = reading.read(file, names)
    screen = console(stderr=True)
    screen.print(f"Read {plain(file)} in {time.perf_counter() - began:.1f} s", soft_wrap=True)
    return counts


def _tell_compiling(model: "DCPF") -> None:
    """Say what is going on in the first seconds of a first fit."""
    from dcpf.kernels.excitation import learn_strengths
    from dcpf.kernels.jit import is_kept
    from dcpf.kernels.sweep import sweep_users

    if not (is_kept(sweep_users) and (model.n_neighbors == 0 or is_kept(learn_strengths))):
        console(stderr=True).print("Compiling, as in every first run: this may take half a minute", soft_wrap=True)


def _learn_and_save(model: "DCPF", learn: Callable[[], object], output: Path, *, history: bool) -> float:
    """Fit with a progress bar and write the model. Returns the seconds that the fit took."""
    began, stop = time.perf_counter(), Stop()
    not_written = f"{output} was not written"
    if model.checkpoint is not None:
        model.set_params(callback=stop)
        not_written += "; the same command with --resume goes on"
    try:
        with stop if model.checkpoint is not None else nullcontext():
            model.set_params(verbose=True)
            learn()
        if stop.signal is not None:
            remark(f"stopped after iteration {stop.iteration}; {not_written}")
            raise typer.Exit(stop.code)
        seconds = time.perf_counter() - began
        model.set_params(verbose=False, warm_start=False, n_jobs=None)  # of this run, not of the model
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


def _tell(model: "DCPF", output: Path, seconds: float) -> None:
    """What was learned, in words, and what to try next."""
    about, screen = model.describe(1, 1), console()
    entries, total = about.data["entries"], about.data["total"]
    screen.print(
        f"Learned {plural(about.components, 'component')} in {plural(model.n_iter_, 'iteration')}"
        + (
            f", and which items bring which, in {seconds:.1f} seconds. "
            if about.neighbors
            else f" and {seconds:.1f} seconds. "
        )
        + about.meaning
    )
    if about.sessions_per_count is not None:
        read_as = number(about.sessions_per_count)
        screen.print(f"The mean count, {number(total / entries)}, is read as about {read_as} sessions.")
    screen.print(f"Written to {plain(output)} ({size(output.stat().st_size)}).", soft_wrap=True)


def _tell_next(model: "DCPF", output: Path, counts: str, *, history: bool) -> None:
    """Commands to try, with ids of this model. No list is made for that, which would compile what makes lists."""
    about, screen = model.describe(1, _POPULAR), console()
    user, popular = about.most_active[0], about.most_popular[0]
    commands = [
        _command("recommend", output, user=user.id) + ("" if history else f" --history {shlex.quote(counts)}")
    ]
    commands.append(_command("similar", output, item=_shortest(model, popular.id, popular.name)))
    place = model.users_.find(user.id)
    has = set() if model.history_ is None or place is None else set(model.history_[[place]].indices.tolist())
    new = next((one for one in about.most_popular if model.items_.find(one.id) not in has), None)
    if history and new is not None:
        commands.append(_command("explain", output, user=user.id, item=_shortest(model, new.id, new.name)))
    screen.print("\nNext:")
    for command in (*commands, _command("inspect", output)):
        screen.print(f"  {plain(command)}", soft_wrap=True)


def _command(command: str, model: Path, **options: "Id") -> str:
    spelt = {name: shlex.quote(str(one)) for name, one in options.items()}
    words = [f"--{name}={one}" if one.startswith("-") else f"--{name} {one}" for name, one in spelt.items()]
    return " ".join(["dcpf", command, shlex.quote(str(model)), *words])


def _shortest(model: "DCPF", item: "Id", name: str) -> "Id":
    """What to type for an item: its name, if no other has it."""
    try:
        return name if find_items(model, [name]) == [item] else item
    except ValueError:
        return item
