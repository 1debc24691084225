"""Rates of sessions as `W H' + X S`: at pairs, as ranked lists, and in total.

Every part of a model has this form for any users: dense times dense plus sparse times sparse, nothing negative. W
and X depend on the users of a question, H and S are fixed. A rate is the sum over k of w_k h_k, in that order, plus
the sum over j of x_j s_j, in that order, all in float64. `scores` is that sentence in numpy. Compiled code adds up in
the same order, to the same bits, and does not look at most items when it ranks.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf import memory
from dcpf.kernels import Csr
from dcpf.kernels.threads import Threads

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]
Positions = NDArray[np.int64]

_FEW = 8  # users whose lists and pairs numpy answers before compiled code is loaded
_AT_A_TIME = 2**14  # rows that are converted to float64 together


class UserSide(NamedTuple):
    """W (users x K) and X (users x J)."""

    W: Floats
    X: sparse.csr_array


class ItemSide(NamedTuple):
    """H (items x K) and S (J x items)."""

    H: Floats
    S: sparse.csr_array


def joined_users(sides: Sequence[UserSide], weights: Sequence[float]) -> UserSide:
    """The user sides of some parts as one, each times its weight."""
    rows = len(sides[0].W)
    W = [_times(side.W, weight) for side, weight in zip(sides, weights, strict=True) if side.W.shape[1]]
    X = [
        sparse.csr_array((_times(side.X.data, weight), side.X.indices, side.X.indptr), shape=side.X.shape)
        for side, weight in zip(sides, weights, strict=True)
        if side.X.shape[1]
    ]
    none = no_sparse(rows, 0)
    return UserSide(
        W[0] if len(W) == 1 else np.concatenate([np.empty((rows, 0), np.float32), *W], axis=1),
        X[0] if len(X) == 1 else sparse.csr_array(sparse.hstack([none, *X], format="csr")),
    )


def joined_items(sides: Sequence[ItemSide]) -> ItemSide:
    """The item sides of some parts as one."""
    size = len(sides[0].H)
    H, S = [side.H for side in sides if side.H.shape[1]], [side.S for side in sides if side.S.shape[0]]
    none = no_sparse(0, size)
    return ItemSide(
        H[0] if len(H) == 1 else np.concatenate([np.empty((size, 0), np.float32), *H], axis=1),
        S[0] if len(S) == 1 else sparse.csr_array(sparse.vstack([none, *S], format="csr")),
    )


def no_sparse(rows: int, columns: int) -> "sparse.csr_array[Any, tuple[int, int]]":
    """X, or S, of a part that has none."""
    none = np.empty(0, np.int32)
    return sparse.csr_array((none.astype(np.float32), none, np.zeros(rows + 1, np.int32)), shape=(rows, columns))


def weighted_sums(rows: Floats, weights: Doubles) -> Doubles:
    """Equivalent to rows @ weights in float64, without a copy of all rows in float64."""
    pieces = (rows[start : start + _AT_A_TIME] @ weights for start in range(0, len(rows), _AT_A_TIME))
    return np.concatenate([np.empty(0), *pieces])


def pairs_of(users: Positions, items: Positions, shape: tuple[int, int]) -> tuple[sparse.csr_array, Positions]:
    """A matrix with an entry for each of these pairs, user by user, and which pair each entry is."""
    order = np.argsort(users, kind="stable")
    indptr = np.searchsorted(users[order], np.arange(shape[0] + 1))
    return sparse.csr_array((np.ones(len(order), dtype=np.int8), items[order], indptr), shape=shape), order


def _times(values: Floats, weight: float) -> Floats:
    return values if weight == 1.0 else (values * weight).astype(values.dtype, copy=False)


@dataclass(frozen=True)
class Ranked:
    """Ranked lists one after another: row r has columns and scores indptr[r] to indptr[r + 1], best first."""

    indptr: Positions
    columns: Positions
    scores: Doubles

    def renumbered(self, numbers: Positions) -> "Ranked":
        """The same lists, in which column j is called numbers[j]."""
        return replace(self, columns=numbers[self.columns])

    @classmethod
    def of(cls, lists: Sequence[tuple[Positions, Doubles]]) -> "Ranked":
        """Lists of (columns, scores) one after another."""
        lengths = [len(columns) for columns, _ in lists]
        columns, scores = (np.concatenate([one[part] for one in lists] or [np.empty(0)]) for part in (0, 1))
        return cls(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), columns.astype(np.int64), scores)


class Items:
    """The item side of a model, laid out for ranking when compiled code is first asked for lists."""

    def __init__(self, side: ItemSide, weights: Doubles) -> None:
        """`weights` say how much the average user has of each column of H: it decides which items lie together."""
        self.H, self.S = np.ascontiguousarray(side.H), side.S
        check_finite(self.H)
        check_finite(self.S.data)
        self._weights = weights

    def __len__(self) -> int:
        return len(self.H)

    def only(self, items: Positions) -> "Items":
        """The side of some items."""
        return Items(ItemSide(self.H[items], sparse.csr_array(self.S[:, items])), self._weights)

    @property
    def is_laid_out(self) -> bool:
        """Whether compiled code can rank at once."""
        return "layout" in self.__dict__

    @cached_property
    def totals(self) -> tuple[Doubles, Doubles]:
        """The sums of H over items, by component, and of S, by source."""
        return self.H.sum(axis=0, dtype=np.float64), np.asarray(self.S @ np.ones(len(self)))

    @cached_property
    def layout(self) -> tuple[object, object]:
        """Tiles of items whose sessions come mostly from one component, and S with places in place of items."""
        from dcpf.kernels.ranking import UNROLLED, WIDTH, Tiles, fill_tiles

        H, size = self.H, len(self)
        main, sizes = np.empty(size, np.int32), np.empty(size)
        for start in range(0, size, _AT_A_TIME):
            some = slice(start, start + _AT_A_TIME)
            shares = H[some] * self._weights
            sizes[some] = shares.sum(axis=1)
            main[some] = shares.argmax(axis=1) if shares.shape[1] else 0
        item_at = np.lexsort((-sizes, main)).astype(np.int32)
        place_of = np.empty_like(item_at)
        place_of[item_at] = np.arange(size, dtype=np.int32)
        n_tiles, rows = -(-size // WIDTH), -(-H.shape[1] // UNROLLED) * UNROLLED
        factors = memory.zeros((n_tiles, rows, WIDTH), H.dtype)
        peaks = np.zeros((-(-n_tiles // WIDTH), rows, WIDTH), H.dtype)
        fill_tiles(0, n_tiles, H, item_at, factors, peaks)
        S = Csr(self.S.indptr.astype(np.int64), place_of[self.S.indices], self.S.data)
        return Tiles(item_at, place_of, factors, peaks), S


@dataclass(frozen=True)
class Link:
    """What makes the sum of the parts a rate of sessions: today they are the same.

    Whatever it becomes, it grows with the sum of a user, so it never changes the order of a list.
    """

    def __call__(self, sums: Doubles) -> Doubles:
        """The rates."""
        return sums


IDENTITY = Link()


@dataclass(frozen=True)
class Rates:
    """The rates of some users: sums of the parts, and the link that makes them rates."""

    users: UserSide
    items: Items
    link: Link = IDENTITY

    def __len__(self) -> int:
        return len(self.users.W)

    def at(self, pairs: sparse.csr_array, threads: Threads) -> Doubles:
        """The rates at the stored entries of a users x items matrix; never quite 0."""
        if len(self) <= _FEW and "dcpf.kernels.ranking" not in sys.modules:  # same bits, without loading numba
            lists = [
                self._of_one(row, pairs.indices[slice(*pairs.indptr[row : row + 2])]) for row in range(len(self))
            ]
            sums = np.concatenate([np.empty(0), *lists])
        else:
            from dcpf.kernels.ranking import rates_at

            sums, (W, X), S = np.empty(pairs.nnz), self.users, self.items.S
            entries = (pairs.indptr, pairs.indices)
            given, by_source = Csr(X.indptr, X.indices, X.data), Csr(S.indptr, S.indices, S.data)
            threads.run(rates_at, pairs.indptr, entries, W, given, self.items.H, by_source, sums)
        return np.maximum(self.link(sums), np.finfo(np.float64).tiny)

    def lists(
        self, n: int, excluded: sparse.csr_array, threads: Threads, candidates: Positions | None = None
    ) -> Ranked:
        """For each user the n items with the largest rates, without the stored entries of `excluded`.

        Equal ones are ranked by their number. With `candidates`, only these items are ranked.
        """
        if excluded.shape != (len(self), len(self.items)):
            raise ValueError(f"shapes do not fit: {len(self)} x {len(self.items)} rates, excluded {excluded.shape}")
        check_finite(self.users.W)
        check_finite(self.users.X.data)
        if len(self) <= _FEW and (candidates is not None or not self.items.is_laid_out):
            ranked = self._ranked_by_numpy(n, excluded, candidates)
        elif candidates is None:
            ranked = _ranked(self.users, self.items, n, excluded, threads)
        else:
            ranked = _ranked(self.users, self.items.only(candidates), n, excluded[:, candidates], threads)
            ranked = ranked.renumbered(candidates)
        check_finite(ranked.scores)
        return replace(ranked, scores=self.link(ranked.scores))

    def by_user(self) -> Doubles:
        """The sum of each user's rates over all items."""
        dense, sparse_sums = self.items.totals
        return np.asarray(self.link(weighted_sums(self.users.W, dense) + self.users.X @ sparse_sums))

    def _of_one(self, row: int, items: NDArray[np.integer] | None = None) -> Doubles:
        """The sums of one user with some items, or with all."""
        H, S = self.items.H if items is None else self.items.H[items], self.items.S
        one = UserSide(self.users.W[row : row + 1], self.users.X[[row]])
        S = sparse.csr_array(S[one.X.indices]) if items is None else sparse.csr_array(S[one.X.indices][:, items])
        x = sparse.csr_array(one.X.data[None, :])
        sums: Doubles = scores(UserSide(one.W, x), ItemSide(H, S))[0]
        return sums

    def _ranked_by_numpy(self, n: int, excluded: sparse.csr_array, candidates: Positions | None) -> Ranked:
        items, lists = np.arange(len(self.items)) if candidates is None else candidates, []
        for row in range(len(self)):
            sums = self._of_one(row, candidates)
            left_out = np.isin(items, excluded.indices[slice(*excluded.indptr[row : row + 2])])
            sums[left_out] = -np.inf
            best = np.lexsort((items, -sums))[: min(n, len(items) - int(left_out.sum()))]
            lists.append((items[best], sums[best]))
        return Ranked.of(lists)


def scores(users: UserSide, items: ItemSide) -> Doubles:
    """W H' + X S, users x items: the definition that compiled code follows to the bit."""
    W, H = users.W.astype(np.float64), items.H.astype(np.float64)
    total = np.zeros((len(W), len(H)))
    for k in range(W.shape[1]):
        total += W[:, k, None] * H[:, k]
    return np.asarray(total + (users.X.astype(np.float64) @ items.S.astype(np.float64)).toarray())


def _ranked(users: UserSide, items: Items, n: int, excluded: sparse.csr_array, threads: Threads) -> Ranked:
    """The same ranking by compiled code."""
    from dcpf.kernels.ranking import rank_rows

    rows, n = len(users.W), min(n, len(items))
    best, scored, sizes = np.empty((rows, n), np.int64), np.empty((rows, n)), np.zeros(rows, np.int64)
    if rows and n:
        tiles, S = items.layout
        X = Csr(users.X.indptr.astype(np.int64), users.X.indices.astype(np.int32, copy=False), users.X.data)
        left_out = (excluded.indptr.astype(np.int64), excluded.indices.astype(np.int32, copy=False))
        W = np.ascontiguousarray(users.W)
        threads.run(rank_rows, rows, W, X, left_out, tiles, S, (best, scored, sizes))
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    if indptr[-1] == rows * n:
        return Ranked(indptr, best.ravel(), scored.ravel())
    used = np.arange(n) < sizes[:, None]
    return Ranked(indptr, best[used], scored[used])


def check_finite(values: Floats) -> None:
    """Refuse numbers that no fit gives and that cannot be ranked."""
    if not np.isfinite(values).all():
        raise ValueError(
            "the model holds numbers that are not finite, so its file is damaged: `dcpf doctor MODEL` checks it; "
            "restore a copy of it, or fit again"
        )
