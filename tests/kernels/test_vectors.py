"""The loops in vector instructions: over whole lines they are products, and they touch nothing beyond them."""

import numpy as np
import pytest

from dcpf.kernels.jit import summing_kernel
from dcpf.kernels.vectors import LINE, TOGETHER, add_row, add_rows, four_dots, line_at, mixed_line

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
COLUMNS = pytest.mark.parametrize("columns", [1, 7, 8, 15, 16, 17, 48, 100, 128])
ROWS = pytest.mark.parametrize("integer", [np.int32, np.int64])


@summing_kernel
def dots(eW, u, eH, rows):
    return four_dots(eW, u, eH, rows[0], rows[1], rows[2], rows[3])


@summing_kernel
def add(weights, rows, first, factors, sums, count):
    if count == 1:
        add_row(weights, rows, first, factors, sums)
    else:
        add_rows(weights, rows, first, factors, sums)


def whole(columns, dtype):
    return columns - columns % (LINE // np.dtype(dtype).itemsize)


@DTYPES
@COLUMNS
def test_four_dots_are_a_product_of_whole_lines(columns, dtype):
    rng = np.random.default_rng(columns)
    eW, eH = rng.gamma(1.0, 1.0, (3, columns)).astype(dtype), rng.gamma(1.0, 1.0, (9, columns)).astype(dtype)
    rows, n = np.array([5, 0, 8, 5]), whole(columns, dtype)
    wanted = eH[rows, :n].astype(np.float64) @ eW[2, :n].astype(np.float64)
    np.testing.assert_allclose(dots(eW, 2, eH, rows), wanted, rtol=20 * np.finfo(dtype).eps)


@DTYPES
@COLUMNS
@ROWS
@pytest.mark.parametrize("count", [1, TOGETHER])
def test_rows_are_added_with_their_weights_and_the_rest_is_left(count, integer, columns, dtype):
    rng = np.random.default_rng(columns)
    factors, weights = rng.gamma(1.0, 1.0, (5, columns)).astype(dtype), rng.gamma(1.0, 1.0, 12).astype(dtype)
    rows, before, n = rng.integers(0, 5, 12).astype(integer), rng.random(columns).astype(dtype), whole(columns, dtype)
    sums, these = before.copy(), slice(3, 3 + count)
    add(weights, rows, 3, factors, sums, count)
    wanted = before[:n] + weights[these].astype(np.float64) @ factors[rows[these], :n].astype(np.float64)
    np.testing.assert_allclose(sums[:n], wanted, rtol=20 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(sums[n:], before[n:])


@summing_kernel
def mixed(weights, one, matrix, first, apart):
    return mixed_line(weights, one, matrix, first, apart)


@DTYPES
def test_a_mixed_line_is_a_weighted_sum_of_lines(dtype):
    rng = np.random.default_rng(0)
    weights, matrix = rng.normal(size=(3, TOGETHER)), rng.normal(size=(60, LINE // np.dtype(dtype).itemsize))
    weights, matrix = weights.astype(dtype), matrix.astype(dtype)
    wanted = weights[2].astype(np.float64) @ matrix[5 : 5 + 7 * TOGETHER : 7].astype(np.float64)
    np.testing.assert_allclose(mixed(weights, 2, matrix, 5, 7), wanted, rtol=0, atol=20 * np.finfo(dtype).eps)


@summing_kernel
def line(matrix, number):
    return line_at(matrix, number)


@DTYPES
def test_a_line_is_a_row_as_numbers(dtype):
    matrix = np.arange(5.0 * LINE).astype(dtype).reshape(-1, LINE // np.dtype(dtype).itemsize)
    assert line(matrix, 3) == tuple(matrix[3])
