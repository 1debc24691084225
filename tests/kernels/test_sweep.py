"""The local step equals its formulas in numpy: in both precisions, rows of any length, any number of threads."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln
from tests.kernels.compiled import compiled

from dcpf.elements import Logarithmic, Raw
from dcpf.inference.data import Data
from dcpf.inference.posterior_tables import PosteriorTables
from dcpf.kernels import sweep as steps
from dcpf.kernels.sweep import (
    HIGHEST,
    LOG_EVIDENCE,
    LOWEST,
    SESSIONS,
    SHAPE,
    TALLIES,
    sweep_items,
    sweep_users,
)
from dcpf.kernels.threads import Threads

add_weighted_rows = compiled(steps.add_weighted_rows)
log_rates = compiled(steps.log_rates)
rates = compiled(steps.rates)
sum_of_logs = compiled(steps.sum_of_logs)

PRIOR = 0.3
C = -0.4
LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 0, 63, 64, 65, 67, 68, 127, 128, 129, 193, 0)  # around fours
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
ELEMENTS = pytest.mark.parametrize("element", [Raw(), Logarithmic(0.5)], ids=["raw", "logarithmic"])
COMPONENTS = pytest.mark.parametrize("n", [1, 3, 4, 100])


def digits(dtype, element):
    """What the precision of the factors leaves, or that of the table where one is looked up."""
    if dtype == np.float32:
        return 2e-5
    return 1e-12 if isinstance(element, Raw) else 1e-8


def example(n, dtype, seed=0):
    """Counts with rows of all LENGTHS, and factors."""
    rng = np.random.default_rng(seed)
    items = 200
    lengths = LENGTHS * 4
    dense = np.zeros((len(lengths), items), dtype=np.int64)
    for u, length in enumerate(lengths):
        dense[u, rng.choice(items - 5, length, replace=False)] = rng.integers(1, 30, length)  # five items have none
    eW, eH = rng.gamma(1.0, 1.0, (len(lengths), n)).astype(dtype), rng.gamma(1.0, 1.0, (items, n)).astype(dtype)
    return Data.from_matrix(sparse.csr_array(dense)), dense, eW, eH


def sweep(data, eW, eH, element, c=C, n_jobs=1):
    shape, item_shape = np.empty_like(eW), np.empty_like(eH)
    (block,) = data.blocks
    ratio = np.empty(data.entries, dtype=eW.dtype)
    tallies = np.empty((len(eW), TALLIES))
    with Threads(n_jobs) as threads:
        table = PosteriorTables(data.counts, threads, learn_shape=False).covering(element, (-10.0, 10.0))
        out = shape, ratio, tallies
        threads.run(sweep_users, block.by_user.indptr, block.by_user, table, c, (eW, eH), PRIOR, out)
        threads.run(sweep_items, block.by_item.indptr, block.by_item, ratio, (eW, eH), PRIOR, item_shape)
    return shape, ratio, tallies, item_shape


def by_numpy(dense, eW, eH, element):
    """lam, E[n] and log Z in closed form; the last two are zero where nothing is stored."""
    lam = eW.astype(np.float64) @ eH.astype(np.float64).T
    t, stored = np.log(lam) - C, dense > 0
    if isinstance(element, Raw):
        return lam, dense.astype(np.float64), np.where(stored, dense * t - gammaln(dense + 1.0), 0.0)
    r, s = np.exp(t)[..., None], np.arange(1.0, dense.max())
    terms = s < dense[..., None]
    sessions = np.where(stored, 1.0 + (r / (r + s) * terms).sum(axis=-1), 0.0)
    log_z = t - np.log(np.maximum(dense, 1)) + (np.log1p(r / s) * terms).sum(axis=-1)
    return lam, sessions, np.where(stored, log_z, 0.0)


@ELEMENTS
@DTYPES
@COMPONENTS
def test_users_get_their_sessions_and_shapes(n, dtype, element):
    data, dense, eW, eH = example(n, dtype)
    shape, ratio, tallies, _ = sweep(data, eW, eH, element)
    lam, sessions, log_z = by_numpy(dense, eW, eH, element)
    weights, rtol = sessions / lam, digits(dtype, element)
    np.testing.assert_allclose(ratio, weights.T[dense.T > 0], rtol=rtol)  # in the order by columns
    np.testing.assert_allclose(shape, PRIOR + eW * (weights @ eH.astype(np.float64)), rtol=rtol)
    np.testing.assert_allclose(tallies[:, SESSIONS], sessions.sum(axis=1), rtol=rtol)
    scale = 1.0 + np.abs(log_z).sum(axis=1)
    np.testing.assert_allclose(tallies[:, LOG_EVIDENCE] / scale, log_z.sum(axis=1) / scale, atol=rtol)
    assert not tallies[:, SHAPE].any()


@ELEMENTS
@DTYPES
@COMPONENTS
def test_items_get_their_shapes(n, dtype, element):
    data, dense, eW, eH = example(n, dtype)
    *_, item_shape = sweep(data, eW, eH, element)
    lam, sessions, _ = by_numpy(dense, eW, eH, element)
    wanted = PRIOR + eH * ((sessions / lam).T @ eW.astype(np.float64))
    np.testing.assert_allclose(item_shape, wanted, rtol=digits(dtype, element))


@DTYPES
def test_who_has_no_entries_keeps_the_prior(dtype):
    _, dense, eW, eH = example(4, dtype)
    dense[:64] = 0
    data = Data.from_matrix(sparse.csr_array(dense))
    shape, _, tallies, item_shape = sweep(data, eW, eH, Logarithmic(0.5))
    nobody, nothing = dense.sum(axis=1) == 0, dense.sum(axis=0) == 0
    assert np.all(shape[nobody] == dtype(PRIOR))
    assert np.all(item_shape[nothing] == dtype(PRIOR))
    assert not tallies[0, [LOG_EVIDENCE, SESSIONS, SHAPE]].any()
    assert tallies[0, LOWEST] > tallies[0, HIGHEST]


@DTYPES
@COMPONENTS
def test_shapes_share_out_all_sessions(n, dtype):
    """sum_k (shape_uk - prior) = sum_i E[n_ui] for each user, and the same for each item."""
    data, dense, eW, eH = example(n, dtype)
    shape, _, _, item_shape = sweep(data, eW, eH, Raw())
    for found, axis in ((shape, 1), (item_shape, 0)):
        shares = (found.astype(np.float64) - dtype(PRIOR)).sum(axis=1)
        np.testing.assert_allclose(shares, dense.sum(axis=axis), rtol=digits(dtype, Raw()), atol=1e-13)


def test_the_span_of_log_rates_is_that_of_the_entries_that_were_looked_up():
    data, dense, eW, eH = example(3, np.float64)
    _, _, tallies, _ = sweep(data, eW, eH, Logarithmic(0.5))
    t = np.log(eW @ eH.T) - C
    for user, tally in enumerate(tallies):
        looked_up = t[user][dense[user] > 1]  # a count of 1 needs no table
        span = [looked_up.min(initial=np.inf), looked_up.max(initial=-np.inf)]
        np.testing.assert_allclose(tally[[LOWEST, HIGHEST]], span, rtol=1e-12)


@DTYPES
def test_the_bits_do_not_depend_on_the_number_of_threads(dtype):
    data, _, eW, eH = example(10, dtype)
    one, two, four = (sweep(data, eW, eH, Logarithmic(0.5), n_jobs=n) for n in (1, 2, 4))
    for a, b, c in zip(one, two, four, strict=True):
        assert a.tobytes() == b.tobytes() == c.tobytes()


@DTYPES
def test_a_rate_that_underflows_leaves_shapes_finite(dtype):
    """A small prior shape makes exp(E[log h]) of an item without entries zero; then a count of many sessions."""
    data = Data.from_matrix(sparse.csr_array(np.array([[40, 1]])))
    eW, eH = np.array([[1.0, 0.0]], dtype=dtype), np.array([[0.0, 1.0], [1.0, 0.0]], dtype=dtype)
    shape, ratio, tallies, item_shape = sweep(data, eW, eH, Raw(), c=0.0)
    for found in (shape, ratio, tallies[:, [LOG_EVIDENCE, SESSIONS]], item_shape):
        assert np.all(np.isfinite(found))


# -- its parts -------------------------------------------------------------------------------------------


@DTYPES
@COMPONENTS
@pytest.mark.parametrize("length", sorted(set(LENGTHS)))
def test_rates_are_products_with_picked_rows(length, n, dtype):
    rng = np.random.default_rng(n)
    eW, eH = rng.gamma(1.0, 1.0, (3, n)).astype(dtype), rng.gamma(1.0, 1.0, (50, n)).astype(dtype)
    items = rng.integers(0, 50, length).astype(np.int32)
    out = np.full(length + 1, np.nan)
    rates(eW, 2, eH, items, out)
    wanted = eH[items].astype(np.float64) @ eW[2].astype(np.float64)
    np.testing.assert_allclose(out[:-1], wanted, rtol=20 * np.finfo(dtype).eps)
    assert np.isnan(out[-1])


@DTYPES
@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 8, 31, 100])
def test_the_sum_of_logarithms_is_that_of_all_rates(length, dtype):
    lam = np.exp(np.random.default_rng(length).uniform(-80.0, 80.0, length)).astype(dtype)
    assert sum_of_logs(lam) == pytest.approx(np.log(lam.astype(np.float64)).sum(), rel=1e-13, abs=1e-11)
    for bad in (np.inf, np.nan):
        for place in range(length):
            assert np.isnan(sum_of_logs(np.where(np.arange(length) == place, dtype(bad), lam)))


@DTYPES
def test_a_rate_of_zero_is_the_smallest_number_instead(dtype):
    out = np.empty(5)
    rates(np.zeros((1, 3), dtype), 0, np.ones((1, 3), dtype), np.zeros(5, dtype=np.int32), out)
    np.testing.assert_array_equal(out, float(np.finfo(dtype).tiny))


@DTYPES
@COMPONENTS
@pytest.mark.parametrize("length", sorted(set(LENGTHS)))
def test_add_weighted_rows_is_a_product_with_picked_rows(length, n, dtype):
    rng = np.random.default_rng(length)
    factors, weights = rng.gamma(1.0, 1.0, (50, n)).astype(dtype), rng.gamma(1.0, 1.0, length).astype(dtype)
    rows = rng.integers(0, 50, length).astype(np.int32)
    out = np.full(n, np.nan)
    add_weighted_rows(weights, rows, factors, out)
    wanted = weights.astype(np.float64) @ factors[rows].astype(np.float64)
    np.testing.assert_allclose(out, wanted, rtol=20 * np.finfo(dtype).eps)


def test_a_long_row_keeps_the_digits_of_single_precision():
    """Four rows at a time are added up in double precision: few roundings, however long the row."""
    length = 100_000
    factors, weights = np.full((1, 1), 0.1, dtype=np.float32), np.ones(length, dtype=np.float32)
    out = np.empty(1)
    add_weighted_rows(weights, np.zeros(length, dtype=np.int32), factors, out)
    assert out[0] == pytest.approx(length * float(np.float32(0.1)), rel=float(4 * np.finfo(np.float32).eps))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@DTYPES
def test_sums_that_may_be_reassociated_still_honour_nan_and_inf(bad, dtype):
    factors = np.ones((8, 3), dtype=dtype)
    factors[5, 1] = bad
    out = np.empty(3)
    add_weighted_rows(np.ones(8, dtype), np.arange(8, dtype=np.int32), factors, out)
    np.testing.assert_array_equal(out, [8.0, bad, 8.0])
    lam = np.empty(1)
    rates(factors, 5, factors, np.zeros(1, dtype=np.int32), lam)
    np.testing.assert_array_equal(lam, bad)


def test_log_rates_are_logarithms_less_c():
    lam = np.random.default_rng(0).lognormal(0.0, 30.0, 100)
    out = np.full(103, np.nan)
    log_rates(lam, C, out)
    np.testing.assert_allclose(out[:100], np.log(lam) - C, rtol=1e-14)
    assert np.all(np.isnan(out[100:]))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_rate_that_is_not_finite_has_no_logarithm_that_looks_like_one(bad):
    out = np.zeros(9)
    log_rates(np.array([1.0, bad, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, bad]), C, out)
    np.testing.assert_array_equal(np.isnan(out), [False, True, *[False] * 6, True])
