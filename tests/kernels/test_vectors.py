"""The loops in vector instructions: over whole lines they are products, and they touch nothing beyond them."""

import numpy as np
import pytest
from numba.core.errors import TypingError
from numpy.polynomial import Polynomial
from tests.kernels.compiled import compiled

from dcpf.kernels.lines import LINE
from dcpf.kernels.vectors import (
    ENTRY_BITS,
    TOGETHER,
    add_rows,
    dots,
    exact_dot,
    fetch,
    fetch_line,
    mixed_line,
    polynomials,
)

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
COLUMNS = pytest.mark.parametrize("columns", [1, 7, 8, 15, 16, 17, 31, 48, 64, 80, 100, 128])
ROWS = pytest.mark.parametrize("integer", [np.int32, np.int64])


put_dots, add, mixed, evaluated = compiled(dots), compiled(add_rows), compiled(mixed_line), compiled(polynomials)
exact = compiled(exact_dot)


def whole(columns, dtype):
    return columns - columns % (LINE // np.dtype(dtype).itemsize)


@DTYPES
@COLUMNS
@ROWS
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_dots_are_a_product_of_whole_lines(precision, integer, columns, dtype):
    rng = np.random.default_rng(columns)
    eW, eH = rng.gamma(1.0, 1.0, (3, columns)).astype(dtype), rng.gamma(1.0, 1.0, (9, columns)).astype(dtype)
    rows, n = rng.integers(0, 9, 2 + TOGETHER).astype(integer), whole(columns, dtype)
    out = np.full(2 + TOGETHER, 7.0, np.promote_types(precision, dtype))
    put_dots(eW, 2, eH, rows, 1, out)
    wanted = eH[rows[1:-1], :n].astype(np.float64) @ eW[2, :n].astype(np.float64)
    np.testing.assert_allclose(out, [7.0, *wanted, 7.0], rtol=20 * np.finfo(dtype).eps)


@DTYPES
@COLUMNS
@pytest.mark.parametrize("other", [np.float32, np.float64])
def test_an_exact_dot_is_a_product_of_whole_rows_in_float64(other, columns, dtype):
    rng = np.random.default_rng(columns)
    W, H = rng.gamma(1.0, 1.0, (3, columns)).astype(dtype), rng.gamma(1.0, 1.0, (4, columns)).astype(other)
    wanted = np.dot(W[1].astype(np.float64), H[3].astype(np.float64))
    np.testing.assert_allclose(exact(W, 1, H, 3), wanted, rtol=1e-14)


def test_rows_that_are_not_contiguous_are_refused_and_not_misread():
    with pytest.raises(TypingError, match="rows must be contiguous"):
        exact(np.ones((2, 4))[:, :3], 0, np.ones((2, 3)), 0)


@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
@pytest.mark.parametrize("fetched", [compiled(fetch), compiled(fetch_line)])
def test_to_fetch_beyond_the_end_does_no_harm(fetched, dtype):
    fetched(np.zeros(3, dtype), 2)
    fetched(np.zeros(3, dtype), 10**9)


@DTYPES
@COLUMNS
@ROWS
@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_rows_are_added_up_with_their_weights_and_the_rest_is_left(count, integer, columns, dtype):
    rng = np.random.default_rng(columns)
    factors, weights = rng.gamma(1.0, 1.0, (5, columns)).astype(dtype), rng.gamma(1.0, 1.0, 12).astype(dtype)
    rows, before, n = rng.integers(0, 5, 12).astype(integer), rng.random(columns).astype(dtype), whole(columns, dtype)
    sums, these = before.copy(), slice(3, 3 + count)
    add(weights, rows, 3, 3 + count, factors, sums)
    wanted = weights[these].astype(np.float64) @ factors[rows[these], :n].astype(np.float64)
    np.testing.assert_allclose(sums[:n], wanted, rtol=20 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(sums[n:], before[n:])


@DTYPES
def test_a_mixed_line_is_a_weighted_sum_of_lines(dtype):
    rng = np.random.default_rng(0)
    weights, matrix = rng.normal(size=(3, TOGETHER)), rng.normal(size=(60, LINE // np.dtype(dtype).itemsize))
    weights, matrix = weights.astype(dtype), matrix.astype(dtype)
    wanted = weights[2].astype(np.float64) @ matrix[5 : 5 + 7 * TOGETHER : 7].astype(np.float64)
    np.testing.assert_allclose(mixed(weights, 2, matrix, 5, 7), wanted, rtol=0, atol=20 * np.finfo(dtype).eps)


@DTYPES
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 11])
def test_polynomials_are_evaluated_where_the_jobs_say(count, dtype):
    rng, size = np.random.default_rng(count), LINE // np.dtype(dtype).itemsize
    P, Q = rng.normal(size=(2, 6, size)).astype(dtype)
    rows, entries, x = rng.integers(0, 6, count), rng.permutation(20)[:count], rng.random(20).astype(dtype)
    slopes = np.full(20, 7.0, dtype)
    sums = evaluated(P, Q, np.append(rows << ENTRY_BITS | entries, [-1]), count, x, slopes)
    p, q = ([Polynomial(matrix[row].astype(np.float64)) for row in rows] for matrix in (P, Q))
    wanted = np.array([[a(x[e]), a.deriv()(x[e]), b(x[e])] for a, b, e in zip(p, q, entries, strict=True)])
    tolerance = 500 * np.finfo(dtype).eps
    np.testing.assert_allclose(sums, wanted.reshape(-1, 3).sum(axis=0), atol=tolerance)
    np.testing.assert_allclose(slopes[entries], wanted.reshape(-1, 3)[:, 1], atol=tolerance)
    assert (np.delete(slopes, entries) == 7.0).all()


def test_the_slope_of_a_polynomial_does_not_depend_on_its_neighbours():
    rng = np.random.default_rng(0)
    P, x, jobs = rng.normal(size=(3, 8)), rng.random(7), np.array([2, 0, 1, 2, 0, 1, 1]) << ENTRY_BITS | np.arange(7)
    together, alone = np.empty(7), np.empty(7)
    evaluated(P, P, jobs, 7, x, together)
    for job in range(7):
        evaluated(P, P, jobs[job:], 1, x, alone)
    np.testing.assert_array_equal(together, alone)
