"""From any files of counts to blocks of users with shared codes of items, on the cluster, once.

Rows never pass through the driver. Each file is read by a worker as `dcpf.read_counts` reads it, checks included, and
written again in the order of its users. Then users are cut into ranges of about as many entries, and for each range a
worker collects its rows from all files. So a user is in one range, however many files have rows of that user, and a
range is one user if that user has enough. Where blocks begin is decided as it is on one machine.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcpf.counts import Counts, Id, Ids, InvalidCounts
from dcpf.counts.spill import cut
from dcpf.distributed import shelf
from dcpf.distributed.engine import Engine
from dcpf.distributed.manifest import (
    ITEMS,
    BlockFacts,
    Manifest,
    column_of_ids,
    ids_of_column,
    read_items,
    run_starts,
)
from dcpf.distributed.storage import Fetched, Folder
from dcpf.inference.data import BLOCK_ENTRIES, distinct
from dcpf.readers import read_counts
from dcpf.readers.parquet import ENDINGS
from dcpf.text import plural

_SAMPLES = 1000  # users of a file that stand for all of them when ranges are chosen
_LARGEST = 2**31 - 1
_OURS = re.compile(rf"manifest\.json|items\.parquet|users-\d+\.parquet|draft|.*\.draft|{shelf.NAME.pattern}")
Columns = dict[str, str | int | None]


@dataclass(frozen=True)
class _FileFacts:
    """What a worker found in a file."""

    entries: int
    items: Ids
    users: list[Id]  # some of them, as many entries apart
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _RangeFacts:
    """What a worker put into the file of a range of users."""

    starts: NDArray[np.int64]  # the first row of each user, and the number of rows
    total: int
    counts: NDArray[np.int64]  # distinct


def prepare(
    data: str, prepared: str, engine: Engine, columns: Columns, say: Callable[[str], object] = lambda line: None
) -> Manifest:
    """Prepare counts, unless that was done already with the same files, and tell what there is."""
    folder, files = Folder(prepared), Folder(data).files(ENDINGS)
    if not files:
        raise InvalidCounts(f"{data}: no Parquet file in this folder")
    source = _fingerprint(files, columns)
    found = Manifest.read(folder)
    if found is not None and found.source == source:
        say(f"{data} was prepared already, in {prepared}")
        return found
    foreign = [name for name in folder.names() if not _OURS.fullmatch(name)]
    if foreign:
        raise ValueError(
            f"{prepared} holds other files than prepared counts, such as {foreign[0]!r}, which would be lost; name a "
            "new or empty folder (prepared=, --prepared)"
        )
    shelf.check_unused(folder)
    folder.remove()
    say(f"Preparing {plural(len(files), 'file')} of {data} in {prepared}")
    draft = folder / "draft"
    calls = [(address, draft.address, number) for number, (address, _) in enumerate(files)]
    facts: list[_FileFacts] = engine.each(_order_file, calls, columns)
    items = _all_items([address for address, _ in files], facts)
    folder.write_table(ITEMS, pl.DataFrame({"item": column_of_ids(items)}))
    places = (len(files), draft.address, prepared)
    limits = [(number, low, high) for number, (low, high) in enumerate(_ranges(facts))]
    ranges: list[_RangeFacts] = engine.each(_collect_range, limits, places)
    counts = np.unique(np.concatenate([one.counts for one in ranges]))
    blocks = tuple(_blocks([one.starts for one in ranges]))
    manifest = Manifest(
        source=source,
        users=sum(block.users for block in blocks),
        items=len(items),
        total=sum(one.total for one in ranges),
        counts=tuple(counts.tolist()),
        blocks=blocks,
        notes=facts[0].notes,
    )
    manifest.write(folder)
    draft.remove()
    return manifest


def _fingerprint(files: Sequence[tuple[str, str]], columns: Columns) -> str:
    said = repr((sorted(files), sorted(columns.items()), BLOCK_ENTRIES))
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


def _order_file(columns: Columns, address: str, draft: str, number: int) -> _FileFacts:
    """Read a file, and write it with rows by user."""
    with Fetched(address) as path:
        counts: Counts = read_counts(path, **columns)  # type: ignore[arg-type]
    matrix = counts.matrix
    users, items = column_of_ids(counts.users), column_of_ids(counts.items)
    table = pl.DataFrame(
        {
            "user": users.gather(counts.entry_users.astype(np.uint32)),
            "item": items.gather(matrix.indices.astype(np.uint32)),
            "count": matrix.data.astype(np.int64),
        }
    )
    Folder(draft).write_table(f"file-{number:05}.parquet", table)
    places = np.unique(np.linspace(0, matrix.nnz - 1, min(_SAMPLES, matrix.nnz)).astype(np.int64))
    return _FileFacts(matrix.nnz, counts.items, table["user"].gather(places).to_list(), counts.notes)


def _all_items(addresses: Sequence[str], facts: Sequence[_FileFacts]) -> Ids:
    """The items of all files; ids must be of one kind in all of them."""
    for address, one in zip(addresses, facts, strict=True):
        for what, kind, first in (
            ("item", one.items.are_strings, facts[0].items.are_strings),
            ("user", isinstance(one.users[0], str), isinstance(facts[0].users[0], str)),
        ):
            if kind != first:
                spelt = {True: "strings", False: "integers"}
                raise InvalidCounts(
                    f"{what} ids are {spelt[kind]} in {address} and {spelt[first]} in {addresses[0]}; convert them "
                    "to one type first"
                )
    columns = [column_of_ids(one.items) for one in facts]
    return ids_of_column(pl.concat(columns).unique().sort())


def _ranges(facts: Sequence[_FileFacts]) -> Iterator[tuple[Id | None, Id | None]]:
    """Ranges of users (from the first on, up to but without the second) of about as many entries as a block has."""
    entries = sum(one.entries for one in facts)
    samples = pl.concat(
        [pl.DataFrame({"user": one.users, "weight": one.entries / len(one.users)}) for one in facts]
    ).sort("user")
    reached = samples["weight"].cum_sum().to_numpy()
    cuts = np.searchsorted(reached, np.arange(BLOCK_ENTRIES, entries, BLOCK_ENTRIES))
    limits = samples["user"].gather(np.minimum(cuts, len(samples) - 1)).unique(maintain_order=True).to_list()
    yield from zip([None, *limits], [*limits, None], strict=True)


def _collect_range(places: tuple[int, str, str], number: int, low: Id | None, high: Id | None) -> _RangeFacts:
    """Collect the rows of a range of users from all files, summed, by user and by code of the item."""
    files, draft, prepared = places
    folder = Folder(prepared)
    wanted = pl.lit(True) if low is None else pl.col("user") >= low
    wanted = wanted if high is None else wanted & (pl.col("user") < high)
    parts = [Folder(draft).scan_table(f"file-{one:05}.parquet").filter(wanted) for one in range(files)]
    rows = pl.concat(parts).group_by("user", "item").agg(pl.col("count").sum()).collect()
    largest = rows["count"].max() if len(rows) else 0
    if isinstance(largest, int) and largest > _LARGEST:
        user, item, count = rows.filter(pl.col("count") == largest).row(0)
        raise InvalidCounts(f"the counts of user {user!r} and item {item!r} sum to {count}, above {_LARGEST}")
    items = column_of_ids(read_items(folder))
    codes = pl.DataFrame({"item": items, "code": np.arange(len(items), dtype=np.int32)})
    rows = rows.join(codes, on="item", how="left").select("user", item="code", count=pl.col("count").cast(pl.Int32))
    rows = rows.sort("user", "item")
    folder.write_table(_range_name(number), rows)
    starts = np.append(run_starts(rows["user"]), len(rows))
    return _RangeFacts(starts, int(rows["count"].sum()), distinct(rows["count"].to_numpy()))


def _blocks(ranges: Sequence[NDArray[np.int64]]) -> Iterator[BlockFacts]:
    """Cut the users of all ranges, one after another, into blocks as one machine would."""
    lengths = np.concatenate([np.diff(starts) for starts in ranges])
    of_range = np.repeat(np.arange(len(ranges)), [len(starts) - 1 for starts in ranges])
    row = np.concatenate([starts[:-1] for starts in ranges])
    cuts = cut(np.concatenate([[0], np.cumsum(lengths)]), BLOCK_ENTRIES)
    for begin, end in pairwise(cuts):
        pieces: list[tuple[str, int, int]] = []
        for one in np.unique(of_range[begin:end]).tolist():
            mine = np.flatnonzero(of_range[begin:end] == one) + begin
            pieces.append((_range_name(one), int(row[mine[0]]), int(lengths[mine].sum())))
        yield BlockFacts(end - begin, int(lengths[begin:end].sum()), tuple(pieces))


def _range_name(number: int) -> str:
    return f"users-{number:05}.parquet"


def summary(manifest: Manifest) -> dict[str, Any]:
    """What a model file says of its data. Nobody has seen all of them at once, so the checksum is of the files."""
    return {
        "users": manifest.users,
        "items": manifest.items,
        "entries": manifest.entries,
        "total": manifest.total,
        "largest": manifest.counts[-1],
        "checksum": manifest.source,
    }
