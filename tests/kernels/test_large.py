"""What is large among many values: against numpy."""

import numpy as np
import pytest
from tests.kernels.compiled import compiled

from dcpf.kernels.large import GROUP, clear_group, first_bit, larger, reaching, top_of
from dcpf.kernels.lines import LINE

largest, cleared = compiled(top_of), compiled(clear_group)
reached, lowest, counted = compiled(reaching), compiled(first_bit), compiled(larger)


def test_groups_of_lines_have_a_top_and_tell_what_reaches_a_level():
    values = np.random.default_rng(0).normal(0.0, 1.0, (24, GROUP * LINE // 4)).astype(np.float32)
    values[1] = -np.inf
    values[2, 5] = 0.5
    for group in (0, 1, 2, 23):
        assert largest(values.ravel(), group) == max(values[group].max(), 0.0)
        bits, found = reached(values.ravel(), group, 0.5), []
        while bits:
            found.append(lowest(bits))
            bits &= bits - 1
        assert found == np.flatnonzero(values[group] >= 0.5).tolist()


def test_a_group_is_cleared_and_no_other():
    values = np.ones((3, GROUP * LINE // 4), np.float32)
    cleared(values.ravel(), 1)
    assert values.sum(axis=1).tolist() == [values.shape[1], 0.0, values.shape[1]]


@pytest.mark.parametrize("size", [0, 1, 16, 17, 63, 200])
def test_larger_ones_are_counted_in_whole_lines(size):
    values = np.random.default_rng(size).random(256).astype(np.float32)
    whole = -(-size // 16) * 16
    assert counted(values, size, np.float32(0.3)) == (values[:whole] > np.float32(0.3)).sum()
