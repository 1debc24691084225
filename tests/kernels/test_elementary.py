"""exp, log and the gamma function's relatives are what their docstrings say."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from tests.kernels.compiled import compiled

from dcpf.kernels import special as elementary

digamma_and_log_gamma_tails = compiled(elementary.digamma_and_log_gamma_tails)
fast_exp = compiled(elementary.fast_exp)
fast_exp_single = compiled(elementary.fast_exp_single)
fast_log = compiled(elementary.fast_log)
fast_log_single = compiled(elementary.fast_log_single)
log_gamma_and_digamma = compiled(elementary.log_gamma_and_digamma)
log_rising = compiled(elementary.log_rising)
trigamma = compiled(elementary.trigamma)

often = settings(max_examples=200, deadline=None, derandomize=True)
POSITIVE = [1e-8, 0.01, 0.3, 0.5, 1.0, 1.5, 2.0, 7.0, 7.999, 8.0, 8.001, 20.0, 1e3, 1e6, 2.0**31, 1e15]
LARGE = [x for x in POSITIVE if x >= 8.0]


def ulps(found, wanted):
    return abs(found - float(wanted)) / np.spacing(abs(float(wanted)))


# -- exp and log -----------------------------------------------------------------------------------------


@often
@given(st.floats(-708.0, 709.0))
def test_fast_exp_is_exp_to_two_ulps(x):
    assert ulps(fast_exp(x), mp.exp(x)) <= 2.0


@pytest.mark.parametrize("x", [-708.0, -1.0, -0.5 * math.log(2), 0.0, 0.5 * math.log(2), 1.0, 709.0])
def test_fast_exp_is_right_at_the_seams(x):
    assert ulps(fast_exp(x), mp.exp(x)) <= 2.0


@pytest.mark.parametrize("x", [-708.1, -1e4, -1e300, -np.inf])
def test_fast_exp_of_less_than_its_range_is_that_of_its_end(x):
    assert fast_exp(x) == fast_exp(-708.0) > 0.0


@often
@given(st.floats(-87.0, 88.0, width=32))
def test_fast_exp_single_is_exp_to_two_ulps(x):
    found, wanted = fast_exp_single(np.float32(x)), float(mp.exp(x))
    assert abs(found - wanted) <= 2.0 * np.spacing(np.float32(wanted))
    assert fast_exp_single(np.float32(-1e30)) == fast_exp_single(np.float32(-87.0)) > 0.0


@often
@given(st.floats(float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max), width=32))
def test_fast_log_single_is_log_to_two_ulps(x):
    found, wanted = fast_log_single(np.float32(x)), float(mp.log(x))
    assert abs(found - wanted) <= 2.0 * np.spacing(np.float32(abs(wanted)))


@often
@given(st.floats(np.finfo(np.float64).tiny, np.finfo(np.float64).max))
def test_fast_log_is_log_to_two_ulps(x):
    assert x == 1.0 or ulps(fast_log(x), mp.log(x)) <= 2.0


@often
@given(st.floats(0.5, 2.0))
def test_fast_log_is_right_near_one(x):
    assert x == 1.0 or ulps(fast_log(x), mp.log(x)) <= 2.0


@pytest.mark.parametrize("x", [2.0**-1022, 0.5, math.sqrt(0.5), 2.0, math.sqrt(2.0), 1e300])
def test_fast_log_is_right_at_the_seams(x):
    assert ulps(fast_log(x), mp.log(x)) <= 2.0


def test_fast_log_of_one_is_nothing():
    assert fast_log(1.0) == 0.0


# -- gamma function --------------------------------------------------------------------------------------


@pytest.mark.parametrize("z", LARGE)
def test_digamma_tail_is_digamma_less_log(z):
    with mp.workdps(40):
        assert digamma_and_log_gamma_tails(1.0 / z)[0] == pytest.approx(float(mp.digamma(z) - mp.log(z)), rel=1e-12)


@pytest.mark.parametrize("z", LARGE)
def test_log_gamma_tail_is_what_stirlings_formula_lacks(z):
    with mp.workdps(50):
        z = mp.mpf(z)
        wanted = mp.loggamma(z) - (z - 0.5) * mp.log(z) + z - mp.log(2 * mp.pi) / 2
        assert digamma_and_log_gamma_tails(1.0 / float(z))[1] == pytest.approx(float(wanted), rel=1e-12)


@pytest.mark.parametrize("x", POSITIVE)
def test_log_gamma_and_digamma_are_scipys(x):
    log_gamma, digamma = log_gamma_and_digamma(x)
    assert log_gamma == pytest.approx(special.gammaln(x), rel=1e-14, abs=1e-14)
    assert digamma == pytest.approx(special.digamma(x), rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("x", POSITIVE)
def test_trigamma_is_scipys(x):
    assert trigamma(x) == pytest.approx(special.polygamma(1, x), rel=1e-12)


# -- log_rising ------------------------------------------------------------------------------------------


def assert_log_rising(x, m, rel=1e-13):
    with mp.workdps(50):
        wanted = mp.loggamma(mp.mpf(x) + mp.mpf(m)) - mp.loggamma(mp.mpf(x))
    assert log_rising(x, m) == pytest.approx(float(wanted), rel=rel, abs=1e-13)


@often
@given(st.floats(0.0, math.log(2.0**31)), st.floats(-1.0, 1.0))
def test_log_rising_loses_no_digits_to_large_log_gammas(log_x, relative):
    x = math.exp(log_x)
    assert_log_rising(x, relative * 0.99 * x)


@pytest.mark.parametrize("x", [0.001, 0.5, 1.0, 3.0, 8.0, 100.0, 1e6, 2.0**31])
@pytest.mark.parametrize("m", [-0.0005, 0.0, 1e-3, 0.5, 1.0, 2.0, 50.0, 1e5, 2.0**31])
def test_log_rising_is_right_for_steps_of_any_size(x, m):
    assert_log_rising(x, m)


@pytest.mark.parametrize("left", [0.25, 1.0, 7.5])
@pytest.mark.parametrize("x", [9.0, 1e3, 2.0**20])
def test_log_rising_may_come_down_almost_to_nothing(x, left):
    assert_log_rising(x, left - x, rel=1e-12)


def test_log_rising_of_one_is_the_logarithm():
    x = np.geomspace(0.01, 2.0**31, 50)
    np.testing.assert_allclose([log_rising(v, 1.0) for v in x], np.log(x), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("x", [0.0, -1.0, -2e9, -np.inf, np.nan])
def test_log_gamma_and_digamma_of_what_is_not_positive_are_no_numbers_and_take_no_time(x):
    assert np.isnan(log_gamma_and_digamma(x)).all()
