"""The stored counts in the orders in which kernels walk through them."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf import memory
from dcpf.counts.checks import occurring
from dcpf.counts.spill import cut
from dcpf.kernels.sweep import Entries, ItemEntries

# Entries of a block: enough to keep many threads busy, few enough that what a block needs of the users' factors stays
# in a processor's cache. Another number adds the same in another order, and so changes the last bits of a fit.
BLOCK_ENTRIES = 2**22


@dataclass(frozen=True, slots=True)
class Block:
    """The counts of some users that follow each other, by users and by items."""

    users: slice
    by_user: Entries
    by_item: ItemEntries


@dataclass(frozen=True)
class Data:
    """A canonical sparse matrix of counts, as a fit walks through it: block after block.

    What a block adds to what all share is added in this order. So the bits of a fit depend on where blocks are cut,
    and that is decided by the counts alone: not by threads, nor by where the arrays lie.
    """

    shape: tuple[int, int]
    counts: NDArray[np.int64]  # the distinct counts, ascending
    blocks: tuple[Block, ...]
    entries: int
    total: float  # sum of all counts

    @classmethod
    def from_matrix(cls, matrix: sparse.csr_array) -> Self:
        """Order the entries of a matrix with sorted indices and without repeated or stored zero entries."""
        users, items = (int(size) for size in matrix.shape)
        counts = distinct(matrix.data)
        cuts = cut(matrix.indptr, BLOCK_ENTRIES)
        # Arrays for all blocks together, which may lie in files
        entries = memory.empty((4, matrix.nnz), np.int32)
        ends = memory.empty((len(cuts) - 1, items + 1), np.int64)
        blocks = tuple(
            _block(matrix, counts, slice(start, stop), entries, ends[number])
            for number, (start, stop) in enumerate(pairwise(cuts))
        )
        total = float(matrix.data.sum(dtype=np.float64))
        return cls((users, items), counts, blocks, int(matrix.nnz), total)


def whole_block(matrix: sparse.csr_array, counts: NDArray[np.int64]) -> Block:
    """All of a matrix as one block, whose counts are among these distinct ones."""
    entries = memory.empty((4, matrix.nnz), np.int32)
    ends = np.empty(matrix.shape[1] + 1, np.int64)
    return _block(matrix, counts, slice(0, int(matrix.shape[0])), entries, ends)


@dataclass(frozen=True)
class CountRows:
    """A canonical sparse matrix of counts by users alone, in its own order."""

    shape: tuple[int, int]
    counts: NDArray[np.int64]  # the distinct counts, ascending
    by_user: Entries

    @classmethod
    def from_matrix(cls, matrix: sparse.csr_array) -> Self:
        """Entries stay where they are."""
        counts = distinct(matrix.data)
        codes, nowhere = codes_of(counts, matrix.data), np.empty(0, dtype=np.int32)
        entries = Entries(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), codes, nowhere)
        return cls((int(matrix.shape[0]), int(matrix.shape[1])), counts, entries)


def _block(
    matrix: sparse.csr_array,
    counts: NDArray[np.int64],
    users: slice,
    entries: NDArray[np.int32],
    ends: NDArray[np.int64],
) -> Block:
    """Both orders of these users' entries, kept at their place in `entries`; `ends` takes where columns end."""
    here = slice(int(matrix.indptr[users.start]), int(matrix.indptr[users.stop]))
    n, n_items = users.stop - users.start, int(matrix.shape[1])
    indptr = (matrix.indptr[users.start : users.stop + 1] - here.start).astype(np.int64)
    rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
    items, codes = matrix.indices[here], codes_of(counts, matrix.data[here])
    by_item = _stable_order(items, n_items)
    place = np.empty_like(by_item)
    place[by_item] = np.arange(len(by_item), dtype=np.int32)
    by_code = _stable_order(codes, len(counts))
    by_count = by_code[_stable_order(rows[by_code], n)]  # within each user
    for kept, array in zip(entries, (items[by_count], codes[by_count], place[by_count], rows[by_item]), strict=True):
        kept[here] = array
    ends[0] = 0
    np.cumsum(np.bincount(items, minlength=n_items), out=ends[1:])
    by_user = Entries(indptr, entries[0, here], entries[1, here], entries[2, here])
    return Block(users, by_user, ItemEntries(ends, entries[3, here]))


def distinct(data: NDArray[np.integer]) -> NDArray[np.int64]:
    """The distinct counts, ascending."""
    if len(data) and data.max() < BLOCK_ENTRIES:
        return occurring(data)
    pieces = [np.unique(data[start : start + BLOCK_ENTRIES]) for start in range(0, len(data), BLOCK_ENTRIES)]
    return np.unique(np.concatenate(pieces)).astype(np.int64) if pieces else np.empty(0, dtype=np.int64)


def codes_of(counts: NDArray[np.int64], data: NDArray[np.integer]) -> NDArray[np.int32]:
    """Which of the distinct counts each is."""
    if len(counts) and counts[-1] < BLOCK_ENTRIES:  # a table is quicker than a search
        table = np.zeros(int(counts[-1]) + 1, dtype=np.int32)
        table[counts] = np.arange(len(counts), dtype=np.int32)
        return np.asarray(table[data])
    return np.searchsorted(counts, data).astype(np.int32)


def _stable_order(keys: NDArray[np.integer], n_keys: int) -> NDArray[np.int32]:
    """Equivalent to np.argsort(keys, kind="stable") for keys from 0 to n_keys - 1, in linear time."""
    places, shape = np.arange(len(keys), dtype=np.int32), (n_keys, max(len(keys), 1))
    order = sparse.coo_array((np.ones(len(keys), dtype=np.int8), (keys, places)), shape=shape).tocsr().indices
    return np.asarray(order, dtype=np.int32)
