"""What is large among many values: against numpy."""

import numpy as np
import pytest
from tests.kernels.compiled import compiled

from dcpf.kernels.large import GROUP, first_bit, larger, reaching, tops_of
from dcpf.kernels.lines import LINE

find_tops, reached, lowest, counted = compiled(tops_of), compiled(reaching), compiled(first_bit), compiled(larger)


def test_groups_of_lines_have_tops_and_tell_what_reaches_a_level():
    values = np.random.default_rng(0).normal(0.0, 1.0, (24, GROUP * LINE // 8))
    values[1] = -np.inf
    values[2, 5] = 0.5
    tops = np.empty(len(values))
    assert find_tops(values.ravel(), tops) == values.max()
    np.testing.assert_array_equal(tops, np.maximum(values.max(axis=1), 0.0))
    for group in (0, 1, 2, 23):
        bits, found = reached(values.ravel(), group, 0.5), []
        while bits:
            found.append(lowest(bits))
            bits &= bits - 1
        assert found == np.flatnonzero(values[group] >= 0.5).tolist()


@pytest.mark.parametrize("size", [0, 1, 16, 17, 63, 200])
def test_larger_ones_are_counted_in_whole_lines(size):
    values = np.random.default_rng(size).random(256).astype(np.float32)
    whole = -(-size // 16) * 16
    assert counted(values, size, np.float32(0.3)) == (values[:whole] > np.float32(0.3)).sum()
