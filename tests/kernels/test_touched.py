"""Bits of tiles: against sets of numbers."""

import numpy as np
import pytest
from tests.kernels.compiled import compiled

from dcpf.kernels import touched
from dcpf.kernels.tiles import WIDTH

mark, tiles_of = compiled(touched.mark), compiled(touched.tiles_of)


@pytest.mark.parametrize("places", [1, 700, 512 * WIDTH, 512 * WIDTH + 1, 2048 * WIDTH])
def test_tiles_that_were_marked_are_listed(places):
    bits = touched.no_bits(3, places)
    some = np.unique(np.append(np.random.default_rng(0).integers(places, size=90), [0, places - 1]))
    for place in some:
        mark(bits, 1, place)
    out = np.empty(-(-places // WIDTH), np.int64)
    assert out[: tiles_of(bits[1], out)].tolist() == np.unique(some // WIDTH).tolist()
    assert not bits[[0, 2]].any()


def test_bits_are_whole_lines_and_of_very_many_tiles_there_are_none():
    assert [touched.no_bits(5, places).shape for places in (1, 512 * WIDTH + 1)] == [(5, 8), (5, 16)]
    none = touched.no_bits(5, 2048 * WIDTH + 1)
    assert none.shape == (5, 0)
    mark(none, 1, 7)
    assert tiles_of(none[1], np.empty(1, np.int64)) == 0
