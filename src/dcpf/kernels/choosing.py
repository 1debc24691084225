"""The best n by score, from tiles in the order of their bounds, until one is not larger than the n-th best so far.

Rounded scores only choose whom to score exactly. The ranking is that of the exact scores, in float64.
"""

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.best import column_of, insert, key_of, partition, score_of, sort_best
from dcpf.kernels.compile import step
from dcpf.kernels.tiles import WIDTH, Row, Scored, Tiled, exact, rank_places, score_tile

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

_FIRST = 8  # tiles to begin with


@step
def choose(mine: Row, tiles: Singles, bounds: Integers, kept: Integers) -> tuple[int, np.float32]:
    """Keep the keys of the largest rounded scores, in any order: how many, and what no other is larger than.

    The second is negative if nothing was dropped. Tiles are sorted a few at a time: most are never needed.
    """
    stay, n_tiles = (len(kept) - WIDTH) // 2, len(bounds)
    rounded = np.empty(WIDTH, np.float32)
    size, least = 0, np.float32(-1.0)
    sorted_, step = 0, _FIRST + stay // WIDTH
    while sorted_ < n_tiles and (sorted_ == 0 or score_of(bounds[sorted_ - 1]) > least):
        step = min(step, n_tiles - sorted_)
        sort_best(bounds[sorted_:], n_tiles - sorted_, step)
        for next_ in range(sorted_, sorted_ + step):
            if score_of(bounds[next_]) <= least:
                break
            t = column_of(bounds[next_])
            first = t * WIDTH
            score_tile(mine.w[0], tiles[t], rounded)
            for j in range(WIDTH):
                rounded[j] += np.float32(mine.added[first + j] / mine.unit)
            for j in range(WIDTH):  # written in any case and kept if larger: nothing for the processor to guess
                kept[size] = key_of(rounded[j], first + j)
                size += int(rounded[j] > least)
            if size > 2 * stay:
                partition(kept, 0, size, stay)
                size, least = stay, score_of(kept[stay - 1])
        sorted_ += step
        step *= 2
    if size <= stay:
        return size, least
    partition(kept, 0, size, stay)
    return stay, score_of(kept[stay - 1])


@step
def rank_exactly(
    mine: Row, tiled: Tiled, kept: Integers, dropped: float, scored: Scored, out: tuple[Integers, Doubles]
) -> int:
    """Rank what was kept by exact scores: out = (columns, scores). How many there are.

    No exact score of the others is larger than `dropped`. If one of them could belong to the best, all are ranked.
    """
    columns, scores = out
    for c in range(len(kept)):
        scored.places[c] = column_of(kept[c])
    found = rank_places(mine, tiled, scored, len(kept), out)
    if dropped >= 0.0 and dropped >= scores[found - 1]:
        found = 0
        for column in range(len(tiled.H)):
            place = tiled.places[column]
            if mine.added[place] >= 0.0:
                found = insert(columns, scores, found, column, exact(mine, tiled, place))
    return found
