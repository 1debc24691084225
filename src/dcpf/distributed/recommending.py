"""Lists for all users, made where their counts are."""

import os

from distributed import Client

from dcpf.counts import Counts
from dcpf.distributed.engine import Engine
from dcpf.distributed.manifest import Manifest, manifest_of, read_block, read_items
from dcpf.distributed.storage import Folder, absolute
from dcpf.model import DCPF


def recommend(
    model: DCPF,
    prepared: str | os.PathLike[str],
    client: Client,
    output: str | os.PathLike[str],
    n: int = 10,
    *,
    exclude_seen: bool = True,
    insecure: bool = False,
) -> int:
    """Write the best n items for each user of prepared counts, as Parquet files in a folder that all workers see.

    Each user's counts are folded in, as `model.recommend(history=...)` does it: so users may be new, the model may be
    one of items alone, and lists differ by little from those for the users of the fit. Items that the model does not
    know are passed over. Returns the number of users.
    """
    engine, address = Engine(client, insecure=insecure), absolute(prepared)
    manifest = Manifest.read(Folder(address))
    if manifest is None:
        raise FileNotFoundError(f"{address} holds no prepared counts: dcpf.distributed.fit prepares them")
    task = (_without_users(model), address, manifest.source, absolute(output), n, exclude_seen)
    return sum(engine.each(_recommend_block, [(number,) for number in range(len(manifest.blocks))], task))


def _recommend_block(task: tuple[DCPF, str, str, str, int, bool], number: int) -> int:
    model, prepared, source, output, n, exclude_seen = task
    folder, manifest = Folder(prepared), manifest_of(prepared, source)
    users, matrix = read_block(folder, manifest, number)
    counts = Counts(matrix, users, read_items(folder))
    lists = model.recommend(history=counts, n=n, exclude_seen=exclude_seen).to_frame()
    Folder(output).write_table(f"recommendations-{number:05}.parquet", lists)
    return len(users)


def _without_users(model: DCPF) -> DCPF:
    """What workers need of a model: not its users, and not what they have."""
    small = model.__class__(**model.get_params(deep=False))
    small.__dict__.update(model.__getstate__())
    small._keep_items(model._catalogue, model._average_user(), model.item_posterior_)
    small._excitation, small._typical_rates = model.excitation_, model._typical_rates
    small.set_params(callback=None, checkpoint=None, verbose=False)
    return small
