"""Which columns can be among the best, by what is added to their scores and by the bounds of their tiles."""

import numpy as np
import pytest
from tests.kernels.compiled import compiled

from dcpf.kernels import large, promising, tiles
from dcpf.kernels.best import PADDING
from dcpf.kernels.tiles import WIDTH, Row

nth_added = compiled(promising.nth_added)
promising = compiled(promising.promising)
clear = compiled(tiles.clear)
tops_of = compiled(large.tops_of)

TILES = 40


def a_row(seed: int, spread: float) -> tuple[Row, float]:
    """A row with unit 2, in which a third of the places has nothing and a tenth is not to be ranked."""
    rng = np.random.default_rng(seed)
    added = rng.lognormal(0.0, spread, TILES * WIDTH)
    added[rng.random(len(added)) < 0.3] = 0.0
    added[rng.random(len(added)) < 0.1] = -np.inf
    added[:WIDTH] = -np.inf
    tops = np.empty(TILES)
    most = tops_of(added, tops)
    w = np.zeros(4, np.float32)
    return Row(np.zeros((1, 4), np.float32), 0, 2.0, w, added, tops, rng.random(TILES)), most


def scratch() -> np.ndarray:
    return np.empty(TILES * WIDTH + PADDING, np.float32)


def test_tops_are_the_largest_of_tiles_and_are_cleared_with_them() -> None:
    mine, most = a_row(0, 1.0)
    np.testing.assert_array_equal(mine.tops, np.maximum(mine.added.reshape(TILES, WIDTH).max(axis=1), 0.0))
    assert most == mine.added.max()
    clear(mine.added, mine.tops)
    assert not mine.tops.any()
    assert not mine.added[WIDTH:].any()


@pytest.mark.parametrize("n", [1, 10, 100, 500])
def test_at_least_n_are_larger_than_the_nth_and_hardly_more(n: int) -> None:
    mine, most = a_row(n, 0.4)
    above = (mine.added >= nth_added(mine, n, most, scratch())).sum()
    assert n <= above <= n + 40


@pytest.mark.parametrize(("n", "spread"), [(2000, 0.4), (700, 5.0)])
def test_there_is_no_nth_if_too_few_are_large(n: int, spread: float) -> None:
    mine, most = a_row(1, spread)
    assert nth_added(mine, n, most, scratch()) == 0.0


@pytest.mark.parametrize("least", [0.5, 2.0, 3.0, 100.0])
def test_promising_places_are_those_that_can_reach_what_is_needed(least: float) -> None:
    mine, _ = a_row(2, 1.0)
    expected = np.flatnonzero(mine.added + 2.0 * np.repeat(mine.reach, WIDTH) >= least)
    out = np.empty(len(mine.added) + WIDTH, np.int64)
    size = promising(mine, least, out)
    assert out[:size].tolist() == expected.tolist()
    assert promising(mine, least, out[: max(len(expected) - 1, 0)]) == (0 if len(expected) == 0 else -1)
