"""Prepared counts: from files of any kind to blocks of users, made once on the cluster, that every worker can read.

Rows never pass through the process that runs the fit. A worker reads each file as `dcpf.read_counts` does, with all
checks, and writes its rows ordered by user. Then users are divided into ranges with about as many entries each, and a
worker collects the rows of each range from all files. So all rows of a user end up in one range, and a user with
enough entries has a range alone. Ranges are cut into blocks exactly as on one machine.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Counts, Id, Ids, InvalidCounts
from dcpf.counts.codes import as_strings
from dcpf.counts.spill import cut
from dcpf.distributed.cluster import DaskCluster
from dcpf.distributed.kept import SCRATCH, check_unused
from dcpf.distributed.storage import Folder, local_copy
from dcpf.inference.data import BLOCK_ENTRIES, distinct
from dcpf.readers import read_counts
from dcpf.readers.parquet import ENDINGS
from dcpf.text import plural

_MANIFEST, _ITEMS, _FORMAT = "manifest.json", "items.parquet", 1
_OURS = re.compile(rf"manifest\.json|items\.parquet|users-\d+\.parquet|draft|.*\.draft|{SCRATCH.pattern}")
_SAMPLES = 1000  # users of a file that stand for all its users when ranges are chosen
_LARGEST = 2**31 - 1
Columns = dict[str, str | int | None]


@dataclass(frozen=True)
class BlockFacts:
    """The size of a block, and the rows of files that it consists of."""

    users: int
    entries: int
    rows: tuple[tuple[str, int, int], ...]  # file, first row, number of rows


@dataclass(frozen=True)
class BlockManifest:
    """All that is known of prepared counts without reading them."""

    source: str  # the version of the files that were prepared
    users: int
    items: int
    total: int
    counts: tuple[int, ...]  # the distinct counts, ascending
    blocks: tuple[BlockFacts, ...]
    notes: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Users and items."""
        return self.users, self.items

    @property
    def entries(self) -> int:
        """The number of stored counts."""
        return sum(block.entries for block in self.blocks)

    @property
    def first_users(self) -> list[int]:
        """The first user of each block, and at the end the number of users."""
        return list(accumulate((block.users for block in self.blocks), initial=0))

    @property
    def summary(self) -> dict[str, Any]:
        """What a model says of its data. No machine has seen all counts, so the checksum is that of the files."""
        return {
            "users": self.users,
            "items": self.items,
            "entries": self.entries,
            "total": self.total,
            "largest": self.counts[-1],
            "checksum": self.source,
        }

    @classmethod
    def read(cls, folder: Folder) -> Self | None:
        """The manifest of a folder, None if there is none of this format."""
        values = folder.read_json(_MANIFEST)
        if values is None or values.pop("format", None) != _FORMAT:
            return None
        blocks = tuple(
            BlockFacts(block["users"], block["entries"], tuple((file, first, n) for file, first, n in block["rows"]))
            for block in values.pop("blocks")
        )
        return cls(**values | {"blocks": blocks, "counts": tuple(values["counts"]), "notes": tuple(values["notes"])})


@lru_cache(maxsize=4)
def manifest_of(address: str, source: str) -> BlockManifest:
    """The manifest of a folder, if its counts were prepared from this version of the files."""
    manifest = BlockManifest.read(Folder(address))
    if manifest is None or manifest.source != source:
        raise FileNotFoundError(f"the prepared counts in {address} are gone; prepare them again")
    return manifest


def read_items(folder: Folder) -> Ids:
    """The ids of the items, in the order of their codes in the blocks."""
    return _ids_of(folder.scan_table(_ITEMS).collect()["item"])


def read_block(folder: Folder, manifest: BlockManifest, number: int) -> tuple[Ids, sparse.csr_array]:
    """The users of a block, and their counts."""
    parts = [folder.scan_table(file).slice(first, rows) for file, first, rows in manifest.blocks[number].rows]
    table = pl.concat(parts).collect()
    starts = _run_starts(table["user"])
    indptr = np.append(starts, len(table)).astype(np.int64)
    matrix = sparse.csr_array(
        (table["count"].to_numpy().astype(np.int64), table["item"].to_numpy().astype(np.int32), indptr),
        shape=(len(starts), manifest.items),
    )
    return _ids_of(table["user"].gather(starts)), matrix


def read_counts_of(folder: Folder, manifest: BlockManifest) -> Counts:
    """All counts in memory, as `dcpf.read_counts` would have read them."""
    parts: list[Any] = [read_block(folder, manifest, number) for number in range(len(manifest.blocks))]
    matrix = sparse.csr_array(sparse.vstack([matrix for _, matrix in parts], format="csr"))
    users = _ids_of(pl.concat([column_of_ids(ids) for ids, _ in parts]))
    return Counts(matrix, users, read_items(folder), notes=manifest.notes)


def column_of_ids(ids: Ids) -> pl.Series:
    """Ids as a column of a table."""
    return pl.Series(list(ids), dtype=pl.String) if ids.are_strings else pl.Series(np.asarray(ids.values))


def _ids_of(column: pl.Series) -> Ids:
    """The ids in a column, which has them in ascending order."""
    return Ids(as_strings(column) if column.dtype == pl.String else column.to_numpy().astype(np.int64))


def _run_starts(column: pl.Series) -> NDArray[np.int64]:
    """The first row of each value of a sorted column."""
    new = (column != column.shift(1)).fill_null(True)
    return new.arg_true().to_numpy().astype(np.int64)


@dataclass(frozen=True)
class _FileFacts:
    """What a worker found in a file."""

    entries: int
    items: Ids
    users: list[Id]  # a sample, at equal distances in entries
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _RangeFacts:
    """What a worker wrote for a range of users."""

    starts: NDArray[np.int64]  # the first row of each user, and the number of rows
    total: int
    counts: NDArray[np.int64]  # distinct


def prepare(
    data: str, prepared: str, cluster: DaskCluster, columns: Columns, say: Callable[[str], object] = lambda line: None
) -> BlockManifest:
    """Prepare counts and return their manifest. Nothing is done if the same files were prepared already."""
    folder, files = Folder(prepared), Folder(data).files(ENDINGS)
    if not files:
        raise InvalidCounts(f"{data}: no Parquet file in this folder")
    source = _version_of(files, columns)
    known = BlockManifest.read(folder)
    if known is not None and known.source == source:
        say(f"{data} is already prepared in {prepared}")
        return known
    foreign = [name for name in folder.names() if not _OURS.fullmatch(name)]
    if foreign:
        raise ValueError(
            f"{prepared} holds files other than prepared counts, such as {foreign[0]!r}, which would be lost; name a "
            "new or empty folder with prepared="
        )
    check_unused(folder)
    folder.remove()
    say(f"Preparing {plural(len(files), 'file')} of {data} in {prepared}")
    draft = folder / "draft"
    calls = [(address, draft.address, number) for number, (address, _) in enumerate(files)]
    facts: list[_FileFacts] = cluster.each(_order_file, calls, columns)
    items = _all_items([address for address, _ in files], facts)
    folder.write_table(_ITEMS, pl.DataFrame({"item": column_of_ids(items)}))
    limits = [(number, low, high) for number, (low, high) in enumerate(_ranges(facts))]
    ranges: list[_RangeFacts] = cluster.each(_collect_range, limits, (len(files), draft.address, prepared))
    blocks = tuple(_blocks([facts.starts for facts in ranges]))
    manifest = BlockManifest(
        source=source,
        users=sum(block.users for block in blocks),
        items=len(items),
        total=sum(facts.total for facts in ranges),
        counts=tuple(np.unique(np.concatenate([facts.counts for facts in ranges])).tolist()),
        blocks=blocks,
        notes=facts[0].notes,
    )
    folder.write_json(_MANIFEST, {"format": _FORMAT} | asdict(manifest))  # last: until then nothing is prepared
    draft.remove()
    return manifest


def _version_of(files: Sequence[tuple[str, str]], columns: Columns) -> str:
    text = repr((sorted(files), sorted(columns.items()), BLOCK_ENTRIES))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _order_file(columns: Columns, address: str, draft: str, number: int) -> _FileFacts:
    """Read a file, and write its rows ordered by user."""
    with local_copy(address) as path:
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
    sample = np.unique(np.linspace(0, matrix.nnz - 1, min(_SAMPLES, matrix.nnz)).astype(np.int64))
    return _FileFacts(matrix.nnz, counts.items, table["user"].gather(sample).to_list(), counts.notes)


def _all_items(addresses: Sequence[str], facts: Sequence[_FileFacts]) -> Ids:
    """The items of all files. Ids must be of the same type in all files."""
    names = {True: "strings", False: "integers"}
    for address, file in zip(addresses, facts, strict=True):
        for what, are_strings, first in (
            ("item", file.items.are_strings, facts[0].items.are_strings),
            ("user", isinstance(file.users[0], str), isinstance(facts[0].users[0], str)),
        ):
            if are_strings != first:
                raise InvalidCounts(
                    f"{what} ids are {names[are_strings]} in {address} and {names[first]} in {addresses[0]}; convert "
                    "them to one type first"
                )
    return _ids_of(pl.concat([column_of_ids(file.items) for file in facts]).unique().sort())


def _ranges(facts: Sequence[_FileFacts]) -> Iterator[tuple[Id | None, Id | None]]:
    """Ranges of users with about as many entries as a block has: from the first user to before the second."""
    entries = sum(file.entries for file in facts)
    samples = pl.concat(
        [pl.DataFrame({"user": file.users, "weight": file.entries / len(file.users)}) for file in facts]
    ).sort("user")
    reached = samples["weight"].cum_sum().to_numpy()
    cuts = np.searchsorted(reached, np.arange(BLOCK_ENTRIES, entries, BLOCK_ENTRIES))
    limits = samples["user"].gather(np.minimum(cuts, len(samples) - 1)).unique(maintain_order=True).to_list()
    yield from zip([None, *limits], [*limits, None], strict=True)


def _collect_range(shared: tuple[int, str, str], number: int, low: Id | None, high: Id | None) -> _RangeFacts:
    """Collect the rows of a range of users from all files, summed, ordered by user and by code of the item."""
    files, draft, prepared = shared
    folder = Folder(prepared)
    within = pl.lit(True) if low is None else pl.col("user") >= low
    within = within if high is None else within & (pl.col("user") < high)
    parts = [Folder(draft).scan_table(f"file-{file:05}.parquet").filter(within) for file in range(files)]
    rows = pl.concat(parts).group_by("user", "item").agg(pl.col("count").sum()).collect()
    largest = rows["count"].max() if len(rows) else 0
    if isinstance(largest, int) and largest > _LARGEST:
        user, item, count = rows.filter(pl.col("count") == largest).row(0)
        raise InvalidCounts(f"the counts of user {user!r} and item {item!r} sum to {count}, above {_LARGEST}")
    items = column_of_ids(read_items(folder))
    codes = pl.DataFrame({"item": items, "code": np.arange(len(items), dtype=np.int32)})
    rows = rows.join(codes, on="item", how="left").select("user", item="code", count=pl.col("count").cast(pl.Int32))
    rows = rows.sort("user", "item")
    folder.write_table(_range_file(number), rows)
    starts = np.append(_run_starts(rows["user"]), len(rows))
    return _RangeFacts(starts, int(rows["count"].sum()), distinct(rows["count"].to_numpy()))


def _blocks(starts_of_ranges: Sequence[NDArray[np.int64]]) -> Iterator[BlockFacts]:
    """Cut the users of all ranges, one range after another, into blocks as one machine would."""
    lengths = np.concatenate([np.diff(starts) for starts in starts_of_ranges])
    range_of = np.repeat(np.arange(len(starts_of_ranges)), [len(starts) - 1 for starts in starts_of_ranges])
    row = np.concatenate([starts[:-1] for starts in starts_of_ranges])
    cuts = cut(np.concatenate([[0], np.cumsum(lengths)]), BLOCK_ENTRIES)
    for begin, end in pairwise(cuts):
        pieces: list[tuple[str, int, int]] = []
        for number in np.unique(range_of[begin:end]).tolist():
            users = np.flatnonzero(range_of[begin:end] == number) + begin
            pieces.append((_range_file(number), int(row[users[0]]), int(lengths[users].sum())))
        yield BlockFacts(end - begin, int(lengths[begin:end].sum()), tuple(pieces))


def _range_file(number: int) -> str:
    return f"users-{number:05}.parquet"
