"""A fit on a cluster: the same model, the same loop, the same bits as on one machine."""

import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
from distributed import Client
from scipy import sparse

from dcpf import elements, memory
from dcpf.counts import Counts, Id, Ids
from dcpf.distributed.engine import Engine
from dcpf.distributed.keeping import Keeper, KeptPosition
from dcpf.distributed.manifest import Manifest, read_counts_of, read_items
from dcpf.distributed.preparing import prepare, summary
from dcpf.distributed.shelf import shelf, sweep
from dcpf.distributed.storage import Folder, absolute
from dcpf.distributed.users import RemoteUsers, Times
from dcpf.distributed.worker import Plan
from dcpf.inference.blocks import random_start
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.vbem import Ascent, State
from dcpf.kernels.threads import Threads
from dcpf.model import DCPF
from dcpf.model.checkpoint import Checkpoint, Position, facts_of
from dcpf.model.climbing import Climb
from dcpf.model.fitted import generator
from dcpf.progress import ProgressBar
from dcpf.ranking.lists import Catalogue
from dcpf.readers.names import read_names
from dcpf.readers.read import with_names
from dcpf.store.checkpoint import MORE
from dcpf.text import plural, shape_words

Address = str | os.PathLike[str]
_BYTES_OF_ENTRY = 16  # in memory, as a model has it


def fit(
    model: DCPF,
    data: Address,
    client: Client,
    *,
    prepared: Address | None = None,
    user_factors: Address | None = None,
    names: Address | Mapping[Id, str] | None = None,
    user_column: str | int | None = None,
    item_column: str | int | None = None,
    count_column: str | int | None = None,
    insecure: bool = False,
    watch: Callable[[Times], object] | None = None,
) -> DCPF:
    """Fit a model to files of counts on a Dask cluster: to the bits of `model.fit` on one machine.

    Parameters
    ----------
    model : DCPF
        With its parameters. It is fitted in place and returned. Workers must see the folder of a `checkpoint`.
    data : path or address
        A folder of Parquet files, or a file of counts of any kind; also where fsspec reaches: "s3://bucket/plays/".
    client : distributed.Client
        The cluster. One on another host must use TLS.
    prepared : path or address
        A folder that all workers see, for the counts in blocks; without it, `data` with ".dcpf" at its end. What it
        holds is used again as long as the files stay as they are.
    user_factors : path or address
        Where workers write the factors of users as Parquet, when these are too many for one file and one machine. The
        model then holds the items and all parameters, and one user, "average". Without it the model is whole.
    names : mapping or path
        Names of items by id, or a file with them, as for `dcpf.read_counts`. The driver alone reads it.
    user_column, item_column, count_column : str or int
        As for `dcpf.read_counts`.
    insecure : bool
        Let a scheduler on another host do without TLS.
    watch : callable
        Called after each round with a `Times`: the seconds of `compute`, `transfer` and `waiting`.
    """
    engine = Engine(client, insecure=insecure)
    settings = model._settings()
    _check_possible(model, user_factors)
    if names is not None and not isinstance(names, Mapping):
        read_names(names)  # what is wrong with the file is told before any work
    columns = {"user_column": user_column, "item_column": item_column, "count_column": count_column}
    data = absolute(data)
    folder = Folder(f"{data.rstrip('/')}.dcpf" if prepared is None else absolute(prepared))
    with ProgressBar(model.max_iter, shown=bool(model.verbose)) as bar, Threads(model.n_jobs) as threads:
        if engine.dashboard:
            bar.say(f"Dask's dashboard: {engine.dashboard}")
        manifest = prepare(data, folder.address, engine, columns, bar.say)
        _check_size(manifest, model, elsewhere=user_factors is not None)
        items = _items(folder, names)
        spent: list[Times] = []

        def told(times: Times) -> None:
            spent.append(times)
            bar.aside = f"  ({times})"
            if watch is not None:
                watch(times)

        plan = Plan(uuid.uuid4().hex, folder.address, manifest.source, settings)
        checkpoint, users = _checkpoint(model, manifest), RemoteUsers(engine, plan, manifest, told)
        for line in (*manifest.notes, *items.notes, _told(manifest, engine), *checkpoint.notes, *sweep(folder)):
            bar.say(line)
        with _shelf(model, folder, plan) as kept, Keeper(checkpoint, kept, users) as keeper:
            climb = Climb(model.max_iter, model.tol, model.callback, keeper, bar)
            climb.run(_states(model, Ascent(users, elements.get(model.element), settings, threads), manifest, keeper))
            assert climb.reached is not None
            if user_factors is None:
                counts = replace(read_counts_of(folder, manifest), names=items.names)
                _bring_all(model, climb.reached, users, counts)
            else:
                average = users.export(_with_workers(climb.reached), absolute(user_factors))
                _bring_items(model, climb.reached, average, Catalogue(items.items, items.names), manifest)
        bar.say(_spent(spent))
        if settings.n_neighbors and not climb.told_to_stop:
            bar.say("Learning which items bring which, on this machine")
            model._learn_excitation(threads)
    model._warn_unsettled(climb)
    return model


def _bring_all(model: DCPF, reached: Position, users: RemoteUsers, counts: Counts) -> None:
    """Make the model whole: q(W) comes here from the workers."""
    state = replace(reached.state, W=users.fetch(_with_workers(reached)), last=None)
    model._take_over(counts, model._settings(), state, reached.bounds)


def _bring_items(
    model: DCPF, reached: Position, average: GammaPosterior, items: Catalogue, manifest: Manifest
) -> None:
    """Give the model items and parameters, and one user who stands for all that stay elsewhere."""
    state = replace(reached.state, W=average, last=None)
    model._take_over_items(items, summary(manifest), model._settings(), state, reached.bounds)


def _with_workers(reached: Position) -> Any:
    """q(W), whose rows are with the workers."""
    return reached.state.W


def _states(model: DCPF, ascent: Ascent, manifest: Manifest, keeper: Keeper) -> Iterator[State]:
    """The loop of one machine, from its start or from what was kept."""
    if keeper.position is not None:
        return model._states(ascent, keeper.position.state.element, keeper.position.state)
    rng, dtype = generator(model.random_state), np.dtype(model.dtype)
    start = random_start(manifest, model._size, rng, dtype)
    return model._states(ascent, elements.get(model.element), start)


def _check_possible(model: DCPF, user_factors: Address | None) -> None:
    if model.warm_start or not (isinstance(model.init, str) and model.init == "random"):
        raise ValueError("a distributed fit starts at random: leave out init and warm_start, or fit on one machine")
    if user_factors is not None and model.n_neighbors:
        raise ValueError(
            f"n_neighbors={model.n_neighbors} is learned from all counts on one machine, and user_factors is for "
            "users who are too many for that; set n_neighbors=0"
        )


def _check_size(manifest: Manifest, model: DCPF, *, elsewhere: bool) -> None:
    """Say before the fit, not after it, that its result has no room here."""
    needed = manifest.users * model._size * np.dtype(model.dtype).itemsize + manifest.entries * _BYTES_OF_ENTRY
    if not elsewhere and needed > memory.memory():
        raise ValueError(
            f"the model of {plural(manifest.users, 'user')} with {plural(manifest.entries, 'count')} takes "
            f"{needed / 1e9:.1f} GB on this machine, which has {memory.memory() / 1e9:.1f}; pass user_factors, a "
            "folder for the workers to write to"
        )


def _checkpoint(model: DCPF, manifest: Manifest) -> Checkpoint:
    parameters = model.get_params(deep=False)
    found = Checkpoint(model.checkpoint, lambda: facts_of(parameters, summary(manifest)), kind=KeptPosition)
    found.check_not_beyond(model.max_iter)
    return found


@contextmanager
def _shelf(model: DCPF, folder: Folder, plan: Plan) -> Iterator[Folder]:
    """Where blocks are kept while the fit runs: with the checkpoint, or with the counts.

    Beside the counts there is a shelf in any case: it tells others that a fit reads them.
    """
    with ExitStack() as stack:
        if model.checkpoint is None:
            yield stack.enter_context(shelf(folder, plan.fit))
            return
        with suppress(OSError):  # where nothing may be written, nothing is removed either
            stack.enter_context(shelf(folder, plan.fit))
        yield Folder(absolute(model.checkpoint)) / MORE


def _told(manifest: Manifest, engine: Engine) -> str:
    return (
        f"{shape_words(*manifest.shape, manifest.entries)} up to {manifest.counts[-1]:,}, in "
        f"{plural(len(manifest.blocks), 'block')} on {plural(len(engine.workers()), 'worker')}"
    )


def _spent(times: list[Times]) -> str:
    """Where the time of an iteration went, in the middle."""
    middle = Times(*(median(getattr(one, name) for one in times) for name in ("compute", "transfer", "waiting")))
    return f"An iteration took {middle}"


def _items(folder: Folder, names: Address | Mapping[Id, str] | None) -> Counts:
    """The items with their names, as counts of no users: names find their items as they do on one machine."""
    items = read_items(folder)
    counts = Counts(sparse.csr_array((0, len(items)), dtype=np.int64), Ids.of([]), items)
    return counts if names is None else with_names(counts, names)
