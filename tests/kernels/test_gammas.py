"""Gamma posteriors row by row equal scipy's formulas, in both precisions and for any number of threads."""

import math

import numpy as np
import pytest
from scipy import special
from tests.kernels.compiled import compiled

from dcpf.kernels import gammas
from dcpf.kernels.gammas import BLOCK, gamma_kernels, gamma_means
from dcpf.kernels.threads import Threads

sum_of_logs = compiled(gammas.sum_of_logs)
total = compiled(gammas.total)

PRIOR = 0.3


def posterior(rows, n, dtype, seed=0):
    """Shapes from nearly the prior's to those of heavy users, and rates."""
    rng = np.random.default_rng(seed)
    shape = (PRIOR + rng.gamma(0.2, 50.0, (rows, n))).astype(dtype)
    return shape, rng.gamma(2.0, 1.0, rows), rng.gamma(2.0, 10.0, n)


def moments(shape, b, s, prior=PRIOR, n_jobs=1):
    rows, n = shape.shape
    blocks = -(-rows // BLOCK)
    geometric = np.empty_like(shape)
    sums = np.zeros((blocks, n)), np.empty(rows), np.empty(rows)
    with Threads(n_jobs) as threads:
        threads.run(gamma_kernels(shape.dtype).moments, blocks, shape, b, s, prior, geometric, sums)
    return geometric, *sums


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 100])
@pytest.mark.parametrize("rows", [1, BLOCK, BLOCK + 1])
def test_moments_are_those_of_gamma_distributions(n, rows):
    shape, b, s = posterior(rows, n, np.float64)
    geometric, block_means, row_means, row_bounds = moments(shape, b, s)
    wide, rate, a = shape.astype(np.float64), b[:, None] + s, PRIOR
    digamma = special.digamma(wide)
    np.testing.assert_allclose(geometric, np.exp(digamma) / rate, rtol=1e-13)
    np.testing.assert_allclose(row_means, (wide / rate).sum(axis=1), rtol=1e-13)
    for block, found in enumerate(block_means):
        these = slice(block * BLOCK, (block + 1) * BLOCK)
        np.testing.assert_allclose(found, (wide / rate)[these].sum(axis=0), rtol=1e-13)
    terms = (a - wide) * digamma + special.gammaln(wide) + wide - a * np.log(rate) - b[:, None] * wide / rate
    terms += a * np.log(b)[:, None] - special.gammaln(a)
    np.testing.assert_allclose(row_bounds, terms.sum(axis=1), rtol=1e-10, atol=1e-10 * np.abs(terms).max())


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 100])
@pytest.mark.parametrize("rows", [1, BLOCK, BLOCK + 1])
def test_moments_in_single_precision_are_those_in_double(n, rows):
    shape, b, s = posterior(rows, n, np.float32)
    geometric, *sums = moments(shape, b, s)
    wide, *wide_sums = moments(shape.astype(np.float64), b, s)
    np.testing.assert_allclose(geometric, wide, rtol=2e-6)
    for found, wanted in zip(sums[:2], wide_sums[:2], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=3e-7)
    np.testing.assert_allclose(sums[2], wide_sums[2], rtol=1e-6, atol=1e-6 * n)


@pytest.mark.parametrize("shape", [0.01, 0.05, 0.3, 1.0, 30.0, 1e4, 1e9])
@pytest.mark.parametrize("rate", [1e-9, 1.0, 1e9])
def test_single_precision_stays_finite_and_close_from_small_to_large(shape, rate):
    q = np.full((3, 11), shape, dtype=np.float32), np.full(3, rate), np.full(11, rate)
    geometric, block_means, row_means, row_bounds = moments(*q)
    wide = moments(q[0].astype(np.float64), *q[1:])
    least = 1e-36 / rate  # exp(-87) is 0
    np.testing.assert_allclose(geometric, wide[0], rtol=2e-7 * (8.0 + 1.0 / shape), atol=least)
    np.testing.assert_allclose(block_means, wide[1], rtol=3e-7)
    np.testing.assert_allclose(row_means, wide[2], rtol=3e-7)
    np.testing.assert_allclose(row_bounds, wide[3], rtol=1e-6, atol=1e-6 * shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_means_alone_are_those_among_the_moments(dtype):
    shape, b, s = posterior(BLOCK + 9, 7, dtype)
    found = np.zeros((2, 7))
    gamma_means(0, 2, shape, b, s, found)
    np.testing.assert_allclose(found, moments(shape, b, s)[1], rtol=3e-7 if dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("shape", [0.02, 0.3, 1.0, 7.9, 8.1, 1e4, 1e9])
@pytest.mark.parametrize("prior", [0.05, 1.0, 12.0])
def test_the_bound_of_one_number_is_minus_a_divergence(shape, prior):
    """E[log p] + H[q] = -KL(Gamma(shape, b + s) || Gamma(prior, b)), whatever the sizes."""
    b, s = 0.7, 2.9
    *_, row_bounds = moments(np.array([[shape]]), np.array([b]), np.array([s]), prior)
    rate = b + s
    divergence = (
        (shape - prior) * special.digamma(shape)
        - special.gammaln(shape)
        + special.gammaln(prior)
        + prior * math.log(rate / b)
        + shape * (b - rate) / rate
    )
    assert row_bounds[0] == pytest.approx(-divergence, rel=1e-9, abs=1e-9)


def test_a_posterior_that_is_its_prior_has_no_divergence():
    shape = np.full((3, 5), PRIOR)
    *_, row_bounds = moments(shape, np.array([0.1, 1.0, 40.0]), np.zeros(5))
    np.testing.assert_allclose(row_bounds, 0.0, atol=1e-12)


def test_the_geometric_mean_of_a_tiny_shape_goes_to_zero_without_a_nan():
    geometric, *_ = moments(np.array([[1e-4, 1e-2, 1.0]], dtype=np.float32), np.ones(1), np.ones(3))
    assert np.all(np.isfinite(geometric))
    assert np.all(np.diff(geometric[0]) > 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_bits_do_not_depend_on_the_number_of_threads(dtype):
    one, two, four = (moments(*posterior(5 * BLOCK + 7, 10, dtype), n_jobs=n) for n in (1, 2, 4))
    for a, b, c in zip(one, two, four, strict=True):
        assert a.tobytes() == b.tobytes() == c.tobytes()


def test_the_bits_of_a_row_do_not_depend_on_the_other_rows():
    shape, b, s = posterior(2 * BLOCK, 7, np.float64)
    together, alone = moments(shape, b, s), moments(shape[200:201], b[200:201], s)
    assert together[0][200].tobytes() == alone[0][0].tobytes()
    assert [x[200] for x in together[2:]] == [x[0] for x in alone[2:]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 8, 16, 104])
def test_a_sum_of_logs_is_that_of_numpy(dtype, n):
    x = np.exp(np.random.default_rng(n).uniform(-43.0, 43.0, n)).astype(dtype)
    rtol = 1e-6 if dtype == np.float32 else 1e-13
    assert sum_of_logs(x) == pytest.approx(np.log(x.astype(np.float64)).sum(), rel=rtol, abs=rtol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 1003])
def test_a_total_is_added_up_in_double(dtype, n):
    x = np.random.default_rng(n).gamma(1.0, 1.0, n).astype(dtype)
    assert total(x) == pytest.approx(x.sum(dtype=np.float64), rel=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extrapolation_is_the_power_in_its_docstring(dtype):
    rng = np.random.default_rng(0)
    new, old = rng.gamma(0.3, 10.0, 1001).astype(dtype) + 1e-3, rng.gamma(0.3, 10.0, 1001).astype(dtype) + 1e-3
    out = np.empty_like(new)
    with Threads(2) as threads:
        threads.run(gamma_kernels(new.dtype).extrapolate, 1001, new, old, out, 0.9, 1e-2)
    expected = new.astype(np.float64) * (new.astype(np.float64) / old) ** 0.9
    assert (expected < 1e-2).any()
    np.testing.assert_allclose(out, np.maximum(expected, 1e-2), rtol=16 * np.finfo(dtype).eps)
