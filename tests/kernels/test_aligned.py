"""Arrays that start a line."""

import numba
import pytest

from dcpf.kernels.aligned import aligned_zeros
from dcpf.kernels.lines import LINE


@numba.njit
def first_byte_size_and_sum(size):
    zeros = aligned_zeros(size)
    return zeros.ctypes.data, len(zeros), zeros.sum()


@pytest.mark.parametrize("size", [0, 1, 7, 1000, 100_000])
def test_zeros_of_kernels_start_a_line(size):
    first, length, total = first_byte_size_and_sum(size)
    assert (first % LINE, length, total) == (0, size, 0.0)
