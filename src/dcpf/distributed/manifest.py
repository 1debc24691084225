"""What a folder of prepared counts holds: blocks of users, in files that any worker can read."""

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Counts, Ids
from dcpf.counts.codes import as_strings
from dcpf.distributed.storage import Folder

NAME, FORMAT = "manifest.json", 1
ITEMS = "items.parquet"


@dataclass(frozen=True)
class BlockFacts:
    """One block: how much it has, and which rows of which files it is."""

    users: int
    entries: int
    rows: tuple[tuple[str, int, int], ...]  # file, first row, number of rows


@dataclass(frozen=True)
class Manifest:
    """All there is to know of prepared counts without reading them."""

    source: str  # what was prepared: changes when the files do
    users: int
    items: int
    total: int
    counts: tuple[int, ...]  # the distinct ones, ascending
    blocks: tuple[BlockFacts, ...]
    notes: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Users and items."""
        return self.users, self.items

    @property
    def entries(self) -> int:
        """How many counts there are."""
        return sum(block.entries for block in self.blocks)

    @property
    def first_users(self) -> list[int]:
        """Where each block begins among all users, and at the end how many users there are."""
        return list(accumulate((block.users for block in self.blocks), initial=0))

    def write(self, folder: Folder) -> None:
        """Comes last: before it is there, nothing is prepared."""
        folder.write_json(NAME, {"format": FORMAT} | asdict(self))

    @classmethod
    def read(cls, folder: Folder) -> Self | None:
        """None if there is none, or one of another format."""
        if not folder.exists(NAME):
            return None
        said = json.loads(folder.read(NAME))
        if said.pop("format", None) != FORMAT:
            return None
        blocks = tuple(
            BlockFacts(one["users"], one["entries"], tuple((file, first, n) for file, first, n in one["rows"]))
            for one in said.pop("blocks")
        )
        return cls(**said | {"blocks": blocks, "counts": tuple(said["counts"]), "notes": tuple(said["notes"])})


@lru_cache(maxsize=4)
def manifest_of(address: str, source: str) -> Manifest:
    """The manifest of a folder that was prepared from this source."""
    found = Manifest.read(Folder(address))
    if found is None or found.source != source:
        raise FileNotFoundError(f"{address} holds no prepared counts any more; prepare them again")
    return found


def read_items(folder: Folder) -> Ids:
    """The ids of the items, whose places are the codes in the blocks."""
    return ids_of_column(folder.scan_table(ITEMS).collect()["item"])


def read_block(folder: Folder, manifest: Manifest, number: int) -> tuple[Ids, sparse.csr_array]:
    """The users of a block, and their counts."""
    parts = [folder.scan_table(file).slice(first, rows) for file, first, rows in manifest.blocks[number].rows]
    table = pl.concat(parts).collect()
    starts = run_starts(table["user"])
    indptr = np.append(starts, len(table)).astype(np.int64)
    matrix = sparse.csr_array(
        (table["count"].to_numpy().astype(np.int64), table["item"].to_numpy().astype(np.int32), indptr),
        shape=(len(starts), manifest.items),
    )
    return ids_of_column(table["user"].gather(starts)), matrix


def run_starts(column: pl.Series) -> NDArray[np.int64]:
    """Where each value of a sorted column is first."""
    new = (column != column.shift(1)).fill_null(True)
    return new.arg_true().to_numpy().astype(np.int64)


def read_counts_of(folder: Folder, manifest: Manifest) -> Counts:
    """All of it as one matrix in memory, as `dcpf.read_counts` would have read it."""
    parts: list[Any] = [read_block(folder, manifest, number) for number in range(len(manifest.blocks))]
    matrix = sparse.csr_array(sparse.vstack([matrix for _, matrix in parts], format="csr"))
    users = ids_of_column(pl.concat([column_of_ids(ids) for ids, _ in parts]))
    return Counts(matrix, users, read_items(folder), notes=manifest.notes)


def ids_of_column(column: pl.Series) -> Ids:
    """The ids in a column of a table, ascending as they are there."""
    return Ids(as_strings(column) if column.dtype == pl.String else column.to_numpy().astype(np.int64))


def column_of_ids(ids: Ids) -> pl.Series:
    """Ids as a column of a table."""
    return pl.Series(list(ids), dtype=pl.String) if ids.are_strings else pl.Series(np.asarray(ids.values))
