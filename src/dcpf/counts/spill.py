"""Rows of counts on their way to a matrix: in memory, or in an unnamed temporary file when they are too many.

The position of a user among all users is known only after the last row, so rows go to the file as they come. Then
they are distributed to buckets of consecutive users, each small enough to be sorted in memory. Sorting and summing
bucket after bucket gives the entries of the matrix in order. On disk this takes 24 bytes per row, 12 of them while
rows come in.
"""

import weakref
from collections.abc import Iterator
from functools import reduce
from itertools import pairwise
from operator import add
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf import memory

Codes = NDArray[np.int32]

_ROW = np.dtype([("user", np.int32), ("item", np.int32), ("count", np.int32)])
_SUM = np.dtype([("item", np.int32), ("sum", np.int64)])  # of the same size, so that sums can replace rows
_WHOLE = np.dtype((np.void, _ROW.itemsize))  # a row as plain bytes, which numpy moves faster than three numbers
_BYTES_AT_WORK = 64  # per row, while rows are distributed or sorted


def cut(starts: NDArray[np.integer], most: int) -> list[int]:
    """Cut consecutive users into pieces of at most `most` rows each, or of a single user: where each piece starts.

    The rows of user u are starts[u] to starts[u + 1]. The last number is the end of the last piece.
    """
    cuts, users = [0], len(starts) - 1
    while cuts[-1] < users:
        full = int(np.searchsorted(starts, starts[cuts[-1]] + most, side="right")) - 1
        cuts.append(max(full, cuts[-1] + 1))
    return cuts


class Triplets:
    """Rows of a user, an item and a count. Users and items are codes, whose positions are given at the end."""

    def __init__(self) -> None:
        self._parts: list[tuple[Codes, Codes, Codes]] = []
        self._waiting = 0  # rows in these parts
        self._file: _File | None = None

    def __len__(self) -> int:
        return self._waiting + (0 if self._file is None else len(self._file))

    def add(self, users: Codes, items: Codes, counts: NDArray[np.int32]) -> None:
        """Add these rows."""
        self._parts.append((users, items, counts))
        self._waiting += len(counts)

    def make_room(self) -> None:
        """Move the rows to the file if they take more memory than an array may."""
        if self._waiting * _ROW.itemsize > memory.largest_in_memory():
            self._to_file()

    def columns(self, users: Codes, items: Codes) -> tuple[Codes, Codes, NDArray[np.int64]]:
        """The position of the user, that of the item, and the count of each row, in the order of the rows.

        `users` and `items` are the positions by code. Afterwards there are no rows left here.
        """
        if self._file is not None:
            self._to_file()
            rows = np.concatenate(list(self._file.pieces(len(self))))
            self._parts, self._file = [(rows["user"], rows["item"], rows["count"])], None
        parts, self._parts, self._waiting = self._parts, [], 0
        return (
            np.concatenate([users[codes] for codes, _, _ in parts]),
            np.concatenate([items[codes] for _, codes, _ in parts]),
            np.concatenate([counts for _, _, counts in parts]).astype(np.int64),
        )

    def matrix(self, users: Codes, items: Codes) -> sparse.csr_array:
        """The canonical matrix. Afterwards there are no rows left here."""
        if self._file is None:
            return canonical(*self.columns(users, items), (len(users), len(items)))
        self._to_file()
        file, self._file = self._file, None
        return _by_buckets(file, users, items)

    def _to_file(self) -> None:
        if self._file is None:
            self._file = _File()
        for part in self._parts:
            self._file.append(*part)
        self._parts, self._waiting = [], 0


class _File:
    """Rows in an unnamed file, in the order in which they came, and the number of rows of each user."""

    def __init__(self) -> None:
        self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - the next line closes it
        self.close = weakref.finalize(self, self._file.close)  # at the latest with this object, errors or not
        self.per_user = np.zeros(0, dtype=np.int64)  # by code

    def __len__(self) -> int:
        return int(self.per_user.sum())

    def append(self, users: Codes, items: Codes, counts: NDArray[np.int32]) -> None:
        """Write these rows to the end."""
        rows = np.empty(len(users), dtype=_ROW)
        rows["user"], rows["item"], rows["count"] = users, items, counts
        per_user = np.bincount(users, minlength=len(self.per_user))
        per_user[: len(self.per_user)] += self.per_user
        self.per_user = per_user
        with memory.room_on_disk(len(self) * _ROW.itemsize):
            left = rows.view(np.uint8).data
            while left:
                left = left[self._file.write(left) :]

    def pieces(self, rows: int) -> Iterator[NDArray[Any]]:
        """All rows, this many at a time."""
        self._file.seek(0)
        while len(piece := np.fromfile(self._file, dtype=_ROW, count=rows)):
            yield piece


def canonical(users: Codes, items: Codes, counts: NDArray[np.int64], shape: tuple[int, int]) -> sparse.csr_array:
    """The matrix of these rows: sorted by users and items, repeated pairs summed."""
    matrix = sparse.csr_array((counts, (users, items)), shape=shape)
    matrix.sum_duplicates()
    return matrix


def _by_buckets(file: _File, users: Codes, items: Codes) -> sparse.csr_array:
    """Equivalent to `canonical` of all rows, in little memory."""
    at_once = max(memory.largest_in_memory() // _BYTES_AT_WORK, 1)
    starts = np.zeros(len(users) + 1, dtype=np.int64)  # of the rows of each user, by position
    starts[1:][users] = file.per_user
    np.cumsum(starts, out=starts)
    cuts = cut(starts, at_once)
    rows = _distributed(file.pieces(at_once), users, items, starts, cuts)
    file.close()  # frees disk space for the next steps
    sums, per_user = _summed(rows, starts, cuts, len(items), at_once)
    index = np.int32 if len(sums) <= np.iinfo(np.int32).max else np.int64
    indptr = memory.zeros(len(users) + 1, index)
    np.cumsum(per_user, out=indptr[1:])
    indices, data = memory.empty(len(sums), index), memory.empty(len(sums), np.int64)
    indices[:], data[:] = sums["item"], sums["sum"]
    matrix = sparse.csr_array((data, indices, indptr), shape=(len(users), len(items)))
    matrix.has_canonical_format = True
    return matrix


def _distributed(
    pieces: Iterator[NDArray[Any]], users: Codes, items: Codes, starts: NDArray[np.int64], cuts: list[int]
) -> NDArray[Any]:
    """All rows with positions instead of codes, bucket after bucket, unsorted within a bucket."""
    rows = memory.empty(int(starts[-1]), _ROW)
    free = starts[cuts[:-1]]  # where the next row of each bucket goes
    buckets = np.arange(len(free), dtype=np.min_scalar_type(len(free)))  # 16 bits at most are sorted in linear time
    bucket_of_user = np.repeat(buckets, np.diff(cuts))
    for piece in pieces:
        piece["user"], piece["item"] = users[piece["user"]], items[piece["item"]]
        bucket = bucket_of_user[piece["user"]]
        order = np.argsort(bucket, kind="stable")
        sizes = np.bincount(bucket, minlength=len(free))
        before = np.cumsum(sizes) - sizes
        there = np.arange(len(piece)) + np.repeat(free - before, sizes)
        rows.view(_WHOLE)[there] = piece.view(_WHOLE)[order]
        free += sizes
    return rows


def _summed(
    rows: NDArray[Any], starts: NDArray[np.int64], cuts: list[int], n_items: int, at_once: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The entries of the matrix in order, and their number by user. They overwrite the rows."""
    sums, entries = rows.view(_SUM), 0
    per_user = np.empty(len(starts) - 1, dtype=np.int64)
    for first, last in pairwise(cuts):
        bucket = rows[starts[first] : starts[last]]
        pieces = (bucket[start : start + at_once] for start in range(0, len(bucket), at_once))
        matrix = reduce(add, (_of_bucket(piece, first, (last - first, n_items)) for piece in pieces))
        per_user[first:last] = np.diff(matrix.indptr)
        fresh = sums[entries : entries + matrix.nnz]
        fresh["item"], fresh["sum"] = matrix.indices, matrix.data
        entries += matrix.nnz
    return sums[:entries], per_user


def _of_bucket(rows: NDArray[Any], first: int, shape: tuple[int, int]) -> sparse.csr_array:
    return canonical(rows["user"] - np.int32(first), rows["item"], rows["count"].astype(np.int64), shape)
