"""The loops in vector instructions: over whole lines they are products, and they touch nothing beyond them."""

import numpy as np
import pytest
from numba.core.errors import TypingError
from tests.kernels.compiled import compiled

from dcpf.kernels.lines import LINE
from dcpf.kernels.vectors import (
    TOGETHER,
    dots,
    exact_dot,
    fetch,
    fetch_line,
)

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
COLUMNS = pytest.mark.parametrize("columns", [1, 7, 8, 15, 16, 17, 31, 48, 64, 80, 100, 128])
ROWS = pytest.mark.parametrize("integer", [np.int32, np.int64])


put_dots = compiled(dots)
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
