"""A fit on a cluster: the same model, the same loop and the same bits as on one machine. And lists for all users."""

import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from statistics import median

import numpy as np
from distributed import Client
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from dcpf import elements, memory
from dcpf.counts import Counts, Id, Ids
from dcpf.distributed.blocks import RemoteBlocks, RoundTimes
from dcpf.distributed.cluster import DaskCluster, threads_here
from dcpf.distributed.kept import ClusterCheckpoint, remove_leftovers, scratch_folder
from dcpf.distributed.prepared import BlockManifest, manifest_of, prepare, read_block, read_items
from dcpf.distributed.storage import Folder, absolute
from dcpf.distributed.worker import Plan
from dcpf.inference.blocks import random_start
from dcpf.kernels.threads import Threads
from dcpf.model import DCPF, FittedModel
from dcpf.model.checkpoint import Checkpoint
from dcpf.model.checks import generator
from dcpf.model.fitted import describe_data
from dcpf.parts import Learning
from dcpf.progress import ProgressBar
from dcpf.readers.names import read_names
from dcpf.readers.read import with_names
from dcpf.store.checkpoints import MORE
from dcpf.text import plural, shape_words

Address = str | os.PathLike[str]
_BYTES_OF_ENTRY = 16  # in memory, as a model holds it


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
    watch: Callable[[RoundTimes], object] | None = None,
) -> DCPF:
    """Fit a model to files of counts on a Dask cluster. The result has the same bits as `model.fit` on one machine.

    Parameters
    ----------
    model : DCPF
        The parameters. The model is fitted in place and returned. Workers must see the folder of a `checkpoint`.
    data : path or address
        A folder of Parquet files, or one file of counts of any kind. Addresses that fsspec knows work too, such as
        "s3://bucket/plays/".
    client : distributed.Client
        The cluster. A scheduler on another host must use TLS.
    prepared : path or address
        A folder that all workers see, for the counts in blocks; by default `data` with ".dcpf" appended. It is used
        again as long as the files do not change.
    user_factors : path or address
        A folder where workers write the factors of users as Parquet, if they are too many for one file or one
        machine. The model then holds the items, all parameters and one user, "average".
    names : mapping or path
        Names of items by id, or a file with them, as for `dcpf.read_counts`. Only this process reads it.
    user_column, item_column, count_column : str or int
        As for `dcpf.read_counts`.
    insecure : bool
        Accept a scheduler on another host without TLS.
    watch : callable
        Called after each round with its `RoundTimes`.
    """
    cluster, settings = DaskCluster(client, insecure=insecure), model.checked_settings()
    _check_possible(model, user_factors)
    if names is not None and not isinstance(names, Mapping):
        read_names(names)  # an error in the file is reported before any work
    columns = {"user_column": user_column, "item_column": item_column, "count_column": count_column}
    data = absolute(data)
    folder = Folder(f"{data.rstrip('/')}.dcpf" if prepared is None else absolute(prepared))
    exported = None if user_factors is None else absolute(user_factors)
    with ProgressBar(model.max_iter, shown=bool(model.verbose)) as bar, Threads(model.n_jobs) as threads:
        if cluster.dashboard:
            bar.say(f"Dask's dashboard: {cluster.dashboard}")
        manifest = prepare(data, folder.address, cluster, columns, bar.say)
        if user_factors is None:
            _check_memory(manifest, model)
        items = _items(folder, names)
        times: list[RoundTimes] = []

        def spent(round_times: RoundTimes) -> None:
            times.append(round_times)
            bar.aside = f"  ({round_times})"
            if watch is not None:
                watch(round_times)

        plan = Plan(uuid.uuid4().hex, folder.address, manifest.source, settings)
        checkpoint = Checkpoint.of(model.get_params(deep=False), manifest.summary)
        blocks = RemoteBlocks(cluster, plan, manifest, exported, spent)
        notes = (*manifest.notes, *items.notes, _sizes(manifest, cluster), *checkpoint.notes)
        for line in (*notes, *remove_leftovers(folder)):
            bar.say(line)
        with (
            _folder_of_blocks(model, folder, plan) as saved,
            ClusterCheckpoint(checkpoint, saved, blocks) as both,
        ):
            start = None
            if both.position is None:
                start = random_start(manifest, model.size, generator(model.random_state), np.dtype(model.dtype))
            element = elements.get(model.element)
            job = Learning(blocks, element, lambda pairs: np.zeros(pairs.nnz), 0.0, settings, threads, start)
            run = model.fit_with(job, manifest.entries, both, bar)
            run.run()
            names_of_items = (items.items, items.names)
            if user_factors is None:
                counts = blocks.counts
                described = describe_data(counts.matrix)
                model.take(run, counts.users, *names_of_items, counts.matrix, described)
            else:
                model.take(run, _average(), *names_of_items, None, manifest.summary)
        bar.say(f"An iteration took {_typical(times)}")
    model.warn_unsettled(run)
    return model


def recommend(
    model: DCPF | FittedModel,
    prepared: Address,
    client: Client,
    output: Address,
    n: int = 10,
    *,
    exclude_seen: bool = True,
    insecure: bool = False,
) -> int:
    """Recommend n items to each user of prepared counts. Returns the number of users.

    Workers write the lists to `output`, a folder of Parquet files that all of them see. The counts of each user are
    folded in, as with `model.recommend(history=...)`: users may be new, the model may hold items only, and lists
    differ a little from those of the users of the fit. Items that the model does not know are ignored.
    """
    if isinstance(model, DCPF):
        check_is_fitted(model)
        model = model.fitted_
    cluster, address = DaskCluster(client, insecure=insecure), absolute(prepared)
    manifest = BlockManifest.read(Folder(address))
    if manifest is None:
        raise FileNotFoundError(f"there are no prepared counts in {address}; dcpf.distributed.fit prepares them")
    # Workers need neither the users of the model nor their counts
    parts = tuple(part.without_users() for part in model.parts)
    small = replace(model, parts=parts, users=_average(), history=None)
    shared = (small, address, manifest.source, absolute(output), n, exclude_seen)
    return sum(cluster.each(_recommend_block, [(number,) for number in range(len(manifest.blocks))], shared))


def _recommend_block(shared: tuple[FittedModel, str, str, str, int, bool], number: int) -> int:
    model, prepared, source, output, n, exclude_seen = shared
    folder, manifest = Folder(prepared), manifest_of(prepared, source)
    users, matrix = read_block(folder, manifest, number)
    counts = Counts(matrix, users, read_items(folder))
    lists = model.recommend(history=counts, n=n, exclude_seen=exclude_seen, n_jobs=threads_here()).to_frame()
    Folder(output).write_table(f"recommendations-{number:05}.parquet", lists)
    return len(users)


def _average() -> Ids:
    """The one user of a model without its users."""
    return Ids.of(["average"])


def _check_possible(model: DCPF, user_factors: Address | None) -> None:
    if model.warm_start or not (isinstance(model.init, str) and model.init == "random"):
        raise ValueError("a fit on a cluster starts at random: leave out init and warm_start, or fit on one machine")
    if user_factors is not None and model.n_neighbors:
        raise ValueError(
            f"n_neighbors={model.n_neighbors} is learned on one machine from all counts, but user_factors is for "
            "counts that do not fit there; set n_neighbors=0"
        )


def _check_memory(manifest: BlockManifest, model: DCPF) -> None:
    """Say before the fit, not after it, that the model would not fit in memory here."""
    needed = manifest.users * model.size * np.dtype(model.dtype).itemsize + manifest.entries * _BYTES_OF_ENTRY
    if needed > memory.memory():
        raise ValueError(
            f"the model of {plural(manifest.users, 'user')} with {plural(manifest.entries, 'count')} takes "
            f"{needed / 1e9:.1f} GB, but this machine has {memory.memory() / 1e9:.1f} GB; pass user_factors, a "
            "folder for the workers to write to"
        )


@contextmanager
def _folder_of_blocks(model: DCPF, folder: Folder, plan: Plan) -> Iterator[Folder]:
    """Where blocks are saved during the fit: with the checkpoint, or beside the counts.

    The scratch folder beside the counts is made in any case: it tells others that a fit reads them.
    """
    with ExitStack() as stack:
        if model.checkpoint is None:
            yield stack.enter_context(scratch_folder(folder, plan.fit))
            return
        with suppress(OSError):  # where nothing can be written, nothing can be removed either
            stack.enter_context(scratch_folder(folder, plan.fit))
        yield Folder(absolute(model.checkpoint)) / MORE


def _sizes(manifest: BlockManifest, cluster: DaskCluster) -> str:
    return (
        f"{shape_words(*manifest.shape, manifest.entries)} up to {manifest.counts[-1]:,}, in "
        f"{plural(len(manifest.blocks), 'block')} on {plural(len(cluster.workers()), 'worker')}"
    )


def _typical(times: list[RoundTimes]) -> RoundTimes:
    """The medians."""
    return RoundTimes(*(median(getattr(each, name) for each in times) for name in ("compute", "transfer", "waiting")))


def _items(folder: Folder, names: Address | Mapping[Id, str] | None) -> Counts:
    """The items with their names, as counts without users: names are matched to items as on one machine."""
    items = read_items(folder)
    counts = Counts(sparse.csr_array((0, len(items)), dtype=np.int64), Ids.of([]), items)
    return counts if names is None else with_names(counts, names)
