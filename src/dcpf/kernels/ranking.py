"""The best items of each user, exactly, without a look at most of them.

The score of item i is sum_k w_k h_ik, added up in float64 in the order of k, plus sum_j x_j s_ji, added up in the
order of j. Nothing is fused or reordered, so `ranking.rates.scores` gives the same bits in numpy.

Items lie in tiles of WIDTH that are alike. The peak of a tile has the largest of each component in it. Rounding is
monotone, so the peak's own score, plus the largest of the sparse sums in the tile, is never below a score in it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels import Csr
from dcpf.kernels.compile import exact_kernel, unfused_step

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]
Integers = NDArray[np.integer]

WIDTH = 32  # items of a tile, and tiles of a group
UNROLLED = 4  # components that are added at once: tiles have room for a multiple of it
_FEW = 4  # items of a tile up to which each is scored alone


class Tiles(NamedTuple):
    """Items in the order of their places. `factors` and `peaks` are zero where the last tile or group has no item."""

    item_at: NDArray[np.int32]  # place -> item
    place_of: NDArray[np.int32]  # item -> place
    factors: Floats  # tiles x K x WIDTH
    peaks: Floats  # groups x K x WIDTH: the peak of tile g * WIDTH + j


class Room(NamedTuple):
    """Working memory of one thread."""

    w: Doubles  # a user's factors
    added: Doubles  # by place: the sparse sum, -inf where an item is not to be ranked
    tops: Doubles  # by tile: the largest of these, or 0
    reach: Doubles  # by tile: the largest w . h
    bounds: Doubles  # of a heap of tiles, the largest first
    tiles: NDArray[np.int64]
    scores: Doubles  # of one tile


@exact_kernel
def fill_tiles(start: int, stop: int, H: Floats, item_at: NDArray[np.int32], factors: Floats, peaks: Floats) -> None:
    """Copy rows of H into tiles that are zeros, and the largest of each component of a tile into its peak."""
    for t in range(start, stop):
        for j in range(min(WIDTH, len(item_at) - t * WIDTH)):
            for k in range(H.shape[1]):
                value = H[item_at[t * WIDTH + j], k]
                factors[t, k, j] = value
                peaks[t // WIDTH, k, t % WIDTH] = max(peaks[t // WIDTH, k, t % WIDTH], value)


@exact_kernel
def rank_rows(
    start: int,
    stop: int,
    W: Floats,
    X: Csr,
    excluded: tuple[Integers, Integers],
    tiles: Tiles,
    S: Csr,
    out: tuple[NDArray[np.int64], Doubles, NDArray[np.int64]],
) -> None:
    """The best items of the users start .. stop: out = (items, scores, sizes), best first, equal scores by number.

    S has a row for each source j, with places in place of items. Equivalent to the first columns of
    np.lexsort((items, -scores)) without `excluded` = (indptr, items).
    """
    items, scores, sizes = out
    n_tiles = len(tiles.factors)
    room = Room(
        np.zeros(tiles.factors.shape[1]), np.zeros(n_tiles * WIDTH), np.zeros(n_tiles),
        np.empty(len(tiles.peaks) * WIDTH), np.empty(n_tiles), np.empty(n_tiles, np.int64), np.empty(WIDTH),
    )  # fmt: skip
    for u in range(start, stop):
        for k in range(W.shape[1]):
            room.w[k] = W[u, k]
        mask(excluded, u, tiles, -np.inf, room)
        scatter(X, u, S, room)
        sizes[u] = rank_user(tiles, room, items[u], scores[u])
        mask(excluded, u, tiles, 0.0, room)
        for t in range(n_tiles):
            if room.tops[t] > 0.0:
                room.tops[t] = 0.0
                for place in range(t * WIDTH, (t + 1) * WIDTH):
                    room.added[place] = 0.0


@unfused_step
def scatter(X: Csr, u: int, S: Csr, room: Room) -> None:
    """added[p] += sum_j x_uj s_jp."""
    for e in range(X.indptr[u], X.indptr[u + 1]):
        x, j = np.float64(X.data[e]), X.indices[e]
        for f in range(S.indptr[j], S.indptr[j + 1]):
            place = np.uint64(S.indices[f])  # which cannot count from the end
            total = room.added[place] + x * np.float64(S.data[f])
            room.added[place] = total
            top = room.tops[place // np.uint64(WIDTH)]
            room.tops[place // np.uint64(WIDTH)] = total if total > top else top


@unfused_step
def mask(excluded: tuple[Integers, Integers], u: int, tiles: Tiles, value: float, room: Room) -> None:
    """Put this at the items that are not to be ranked for a user, and where the last tile has none."""
    indptr, items = excluded
    for e in range(indptr[u], indptr[u + 1]):
        room.added[tiles.place_of[items[e]]] = value
    for place in range(len(tiles.item_at), len(room.added)):
        room.added[place] = value


@unfused_step
def rank_user(tiles: Tiles, room: Room, items: NDArray[np.int64], scores: Doubles) -> int:
    """Walk through tiles by their bounds until none can hold an item that belongs into the list."""
    n_tiles, size, n = len(room.bounds), 0, len(items)
    for g in range(len(tiles.peaks)):
        dense_scores(room.w, tiles.peaks[g], room.reach[g * WIDTH : (g + 1) * WIDTH])
    for t in range(n_tiles):
        room.bounds[t], room.tiles[t] = -(room.reach[t] + room.tops[t]), t
    for t in range(n_tiles // 2 - 1, -1, -1):
        sink(room.bounds, room.tiles, t, n_tiles)
    left = n_tiles
    while left > 0 and (size < n or -room.bounds[0] >= scores[0]):
        size = rank_tile(tiles, room, room.tiles[0], items, scores, size)
        left -= 1
        room.bounds[0], room.tiles[0] = room.bounds[left], room.tiles[left]
        sink(room.bounds, room.tiles, 0, left)
    for last in range(size - 1, 0, -1):  # from a heap with the worst first to a list with the best first
        scores[0], scores[last] = scores[last], scores[0]
        items[0], items[last] = items[last], items[0]
        sink(scores, items, 0, last)
    return size


@unfused_step
def rank_tile(tiles: Tiles, room: Room, t: int, items: NDArray[np.int64], scores: Doubles, size: int) -> int:
    """Put the items of a tile into the heap of the best, whose worst comes first; how many it holds then."""
    n, first = len(items), t * WIDTH
    least = scores[0] if size == n else np.finfo(np.float64).min  # which leaves out what is masked
    dense_scores(room.w, tiles.factors[t], room.scores)
    for j in range(WIDTH):
        score = room.scores[j] + room.added[first + j]
        if score < least:
            continue
        item = np.int64(tiles.item_at[first + j])
        if size < n:  # a heap grows from the end
            child = size
            while child > 0 and worse(score, item, scores[(child - 1) // 2], items[(child - 1) // 2]):
                scores[child], items[child] = scores[(child - 1) // 2], items[(child - 1) // 2]
                child = (child - 1) // 2
            scores[child], items[child] = score, item
            size += 1
        elif worse(scores[0], items[0], score, item):
            scores[0], items[0] = score, item
            sink(scores, items, 0, n)
        least = scores[0] if size == n else least
    return size


@unfused_step
def dense_scores(w: Doubles, tile: Floats, out: Doubles) -> None:
    """out[j] = sum_k w_k tile[k, j], in the order of k."""
    for j in range(WIDTH):
        out[j] = 0.0
    for k in range(0, len(tile), UNROLLED):
        w0, w1, w2, w3 = w[k], w[k + 1], w[k + 2], w[k + 3]
        h0, h1, h2, h3 = tile[k], tile[k + 1], tile[k + 2], tile[k + 3]
        for j in range(WIDTH):
            total = out[j] + w0 * np.float64(h0[j]) + w1 * np.float64(h1[j])
            out[j] = total + w2 * np.float64(h2[j]) + w3 * np.float64(h3[j])


@unfused_step
def worse(score: float, item: Any, than: float, other: Any) -> bool:
    """Whether an item comes after another one in a list."""
    return score < than or (score == than and item > other)


@unfused_step
def sink(keys: Doubles, numbers: NDArray[np.int64], place: int, size: int) -> None:
    """Restore a heap whose entry at `place` may belong further down. The smallest key comes first, of equal ones the
    largest number.
    """
    key, number = keys[place], numbers[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and worse(keys[child + 1], numbers[child + 1], keys[child], numbers[child]):
            child += 1
        if not worse(keys[child], numbers[child], key, number):
            break
        keys[place], numbers[place] = keys[child], numbers[child]
        place = child
    keys[place], numbers[place] = key, number


@exact_kernel
def rates_at(
    start: int,
    stop: int,
    pairs: tuple[Integers, Integers],
    W: Floats,
    X: Csr,
    H: Floats,
    S: Csr,
    out: Doubles,
) -> None:
    """out[e] = sum_k w_uk h_ik + sum_j x_uj s_ji at each pair e = (u, i); pairs = (indptr, items) by users."""
    indptr, items = pairs
    added = np.zeros(len(H))
    for u in range(start, stop):
        if indptr[u] == indptr[u + 1]:
            continue
        spread(X, u, S, True, added)
        for e in range(indptr[u], indptr[u + 1]):
            out[e] = dot(W, u, H, items[e]) + added[items[e]]
        spread(X, u, S, False, added)


@unfused_step
def spread(X: Csr, u: int, S: Csr, add: bool, added: Doubles) -> None:
    """added[i] += sum_j x_uj s_ji; or make it zero again."""
    for e in range(X.indptr[u], X.indptr[u + 1]):
        x, j = np.float64(X.data[e]), X.indices[e]
        for f in range(S.indptr[j], S.indptr[j + 1]):
            i = np.uint64(S.indices[f])
            added[i] = added[i] + x * np.float64(S.data[f]) if add else 0.0


@unfused_step
def dot(W: Floats, u: int, H: Floats, i: int) -> float:
    """sum_k w_uk h_ik in float64, in the order of k."""
    total = 0.0
    for k in range(W.shape[1]):
        total += np.float64(W[u, k]) * np.float64(H[i, k])
    return total
