"""Which columns can be among the best, by what is added to their scores and by the bounds of their tiles."""

import numpy as np
import pytest
from tests.kernels.compiled import compiled

from dcpf.kernels import promising, tiles
from dcpf.kernels.best import PADDING
from dcpf.kernels.threads import Threads
from dcpf.kernels.tiles import WIDTH, Reaches, Row, Tiled
from dcpf.ranking.top import tiled

nth_added = compiled(promising.nth_added)
promising = compiled(promising.promising)
clear = compiled(tiles.clear)
find_tops = compiled(tiles.find_tops)

TILES = 2 * WIDTH
ALL = np.arange(TILES)
K = 5
NO_ERROR = (np.float32(0.0), np.float32(0.0))


def a_row(seed: int, spread: float) -> tuple[Row, float]:
    """A row with unit 2, in which a third of the places has nothing and a tenth is not to be ranked."""
    rng = np.random.default_rng(seed)
    added = rng.lognormal(0.0, spread, TILES * WIDTH).astype(np.float32)
    added[rng.random(len(added)) < 0.3] = 0.0
    added[rng.random(len(added)) < 0.1] = -np.inf
    added[:WIDTH] = -np.inf
    tops = np.empty(TILES, np.float32)
    most = find_tops(added, ALL, tops)
    W, w = rng.random((1, K)).astype(np.float32), np.zeros((1, 16), np.float32)
    w[:, :K] = W
    return Row(W, 0, 2.0, w, NO_ERROR, added, tops), most


def some_tiles(columns: int) -> Tiled:
    with Threads(1) as threads:
        return tiled(np.random.default_rng(5).gamma(0.3, 1.0, (columns, K)).astype(np.float32), np.ones(K), threads)


def reaches() -> Reaches:
    return Reaches(np.empty(TILES + PADDING, np.int64), np.empty(TILES + PADDING, np.float32))


def scratch() -> np.ndarray:
    return np.empty(TILES * WIDTH + PADDING, np.float32)


def test_tops_are_the_largest_of_tiles_and_are_cleared_with_them() -> None:
    mine, most = a_row(0, 1.0)
    np.testing.assert_array_equal(mine.tops, np.maximum(mine.added.reshape(TILES, WIDTH).max(axis=1), 0.0))
    assert most == mine.added.max()
    clear(mine.added, ALL[2:], mine.tops)
    assert mine.tops[:2].any()
    assert not mine.tops[2:].any()
    assert mine.added[: 2 * WIDTH].any()
    assert not mine.added[2 * WIDTH :].any()


@pytest.mark.parametrize("n", [1, 10, 100, 500])
def test_at_least_n_are_larger_than_the_nth_and_hardly_more(n: int) -> None:
    mine, most = a_row(n, 0.4)
    above = (mine.added >= nth_added(mine, n, most, reaches(), scratch())).sum()
    assert n <= above <= n + 40


@pytest.mark.parametrize(("n", "spread"), [(2000, 0.4), (700, 5.0)])
def test_there_is_no_nth_if_too_few_are_large(n: int, spread: float) -> None:
    mine, most = a_row(1, spread)
    assert nth_added(mine, n, most, reaches(), scratch()) == 0.0


@pytest.mark.parametrize("columns", [TILES * WIDTH, (TILES - 7) * WIDTH - 3])
def test_peaks_are_the_largest_of_each_component_in_a_tile_and_in_a_group(columns: int) -> None:
    items = some_tiles(columns)
    laid = np.zeros((TILES * WIDTH, K), np.float32)
    laid[:columns] = items.H[items.order] / np.float32(items.scale)
    for peaks, width in ((items.peaks, WIDTH), (items.group_peaks, WIDTH * WIDTH)):
        np.testing.assert_allclose(peaks[:, :K], laid.reshape(-1, width, K).max(axis=1), rtol=1e-6)
        assert not peaks[:, K:].any()


@pytest.mark.parametrize("least", [0.5, 2.0, 3.0, 10.0, 100.0])
def test_promising_places_are_those_that_can_reach_what_is_needed(least: float) -> None:
    mine, _ = a_row(2, 1.0)
    items = some_tiles(TILES * WIDTH)
    reach = 2.0 * (items.peaks @ mine.w[0])
    expected = np.flatnonzero(mine.added + np.repeat(reach, WIDTH) >= least)
    out = np.empty(len(mine.added) + WIDTH, np.int64)
    size = promising(mine, items, least, reaches(), out)
    assert out[:size].tolist() == expected.tolist()
    assert promising(mine, items, least, reaches(), out[: max(len(expected) - 1, 0)]) == (
        0 if len(expected) == 0 else -1
    )
