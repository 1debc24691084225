"""Stirling numbers of the three kinds against exact integers."""

import math
from math import comb, factorial

import mpmath as mp
import numpy as np
import pytest
from tests.elements.laws import assert_close, stirling_rows

from dcpf.elements import log_lah, log_stirling1, log_stirling2

SMALL = tuple(range(1, 41))
LARGE = (255, 256, 257, 258, 300, 512, 777, 1000)


def lah(y, n):
    return comb(y - 1, n - 1) * factorial(y) // factorial(n)


def log(number):
    """The logarithm of an integer of any size."""
    return float(mp.log(number))


def product_coefficients(factors, size):
    """The first coefficients of the product of (a + b x), in exact integers."""
    out = [1] + [0] * (size - 1)
    for a, b in factors:
        out = [a * here + b * before for here, before in zip(out, [0, *out[:-1]], strict=True)]
    return out


@pytest.mark.parametrize("y", SMALL)
def test_small_numbers_equal_the_recurrences(y):
    n = np.arange(1, y + 1)
    assert_close(log_stirling1(y, n), [log(stirling_rows(1, SMALL)[y][k]) for k in n], 1e-14)
    assert_close(log_stirling2(y, n), [log(stirling_rows(2, SMALL)[y][k]) for k in n], 1e-14)
    assert_close(log_lah(y, n), [log(lah(y, int(k))) for k in n], 1e-13)


def test_the_smallest_numbers_are_the_textbooks():
    n = np.arange(1, 5)
    np.testing.assert_allclose(np.exp(log_stirling1(4, n)), [6, 11, 6, 1], rtol=1e-14)
    np.testing.assert_allclose(np.exp(log_stirling2(4, n)), [1, 7, 6, 1], rtol=1e-14)
    np.testing.assert_allclose(np.exp(log_lah(4, n)), [24, 36, 12, 1], rtol=1e-13)


@pytest.mark.parametrize("y", LARGE)
@pytest.mark.parametrize(("kind", "log_stirling"), [(1, log_stirling1), (2, log_stirling2)])
def test_large_numbers_equal_the_recurrences(y, kind, log_stirling):
    n = np.unique([1, 2, 3, 4, 7, 20, y // 10, y // 3, y // 2, 2 * y // 3, y - 20, y - 4, y - 3, y - 2, y - 1, y])
    assert_close(log_stirling(y, n), [log(stirling_rows(kind, LARGE)[y][k]) for k in n], 1e-10)


def test_few_cycles_of_2000_things_equal_the_rising_factorial():
    """The coefficient of x^n in x (x + 1) ... (x + y - 1) is s(y, n)."""
    exact = product_coefficients([(s, 1) for s in range(2000)], 30)
    assert_close(log_stirling1(2000, np.arange(1, 30)), [log(c) for c in exact[1:]], 1e-10)


def test_many_cycles_of_2000_things_equal_the_rising_factorial():
    exact = product_coefficients([(1, s) for s in range(2000)], 30)
    assert_close(log_stirling1(2000, 2000 - np.arange(30)), [log(c) for c in exact], 1e-10)


@pytest.mark.parametrize("n", [2, 3, 50, 400, 1500, 1990, 1999])
def test_parts_of_2000_things_equal_the_alternating_sum(n):
    """S(y, n) = sum_k (-1)^(n - k) k^y / (k! (n - k)!)."""
    exact = sum((-1) ** (n - k) * comb(n, k) * k**2000 for k in range(1, n + 1)) // factorial(n)
    assert_close(log_stirling2(2000, n), log(exact), 1e-10)


@pytest.mark.parametrize("n", [2, 3, 50, 1000, 1999])
def test_lists_of_2000_things_equal_the_binomial(n):
    assert_close(log_lah(2000, n), log(lah(2000, n)), 1e-12)


@pytest.mark.parametrize("y", [1, 2, 40, 256, 257, 2000, 10**6])
def test_edges_have_closed_forms(y):
    assert log_stirling1(y, 1) == pytest.approx(math.lgamma(y), rel=1e-12)
    assert log_stirling2(y, 1) == pytest.approx(0.0, abs=1e-12)
    assert log_lah(y, 1) == pytest.approx(math.lgamma(y + 1), rel=1e-12)
    assert log_stirling1(y, y) == log_stirling2(y, y) == 0.0
    assert log_lah(y, y) == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("y", [257, 1000, 10**6, 10**9])
@pytest.mark.parametrize("log_stirling", [log_stirling1, log_stirling2])
def test_one_below_the_edge_is_a_number_of_pairs(log_stirling, y):
    """All are alone but one pair."""
    assert_close(log_stirling(y, y - 1), math.log(comb(y, 2)), 1e-7)


@pytest.mark.parametrize("y", [257, 1000, 10**6, 10**9])
def test_two_parts_have_closed_forms(y):
    """(y - 1)! (1 + 1/2 + ... + 1/(y - 1)) cycles, 2^(y - 1) - 1 sets."""
    assert_close(log_stirling1(y, 2), float(mp.loggamma(y) + mp.log(mp.harmonic(y - 1))), 1e-12)
    assert_close(log_stirling2(y, 2), float((y - 1) * mp.log(2) + mp.log1p(-(mp.mpf(2) ** (1 - y)))), 1e-12)


@pytest.mark.parametrize("log_stirling", [log_stirling1, log_stirling2, log_lah])
@pytest.mark.parametrize("y", [1, 40, 256, 257, 2000])
def test_there_are_no_more_parts_than_things_and_no_fewer_than_one(log_stirling, y):
    assert np.all(log_stirling(y, np.array([0, y + 1, y + 2, 2 * y + 1])) == -np.inf)


@pytest.mark.parametrize("log_stirling", [log_stirling1, log_stirling2, log_lah])
def test_arguments_broadcast(log_stirling):
    y, n = np.array([[3], [300]]), np.array([1, 2, 3])
    one_by_one = [[float(log_stirling(int(a), int(b))) for b in n] for a in y[:, 0]]
    np.testing.assert_array_equal(log_stirling(y, n), one_by_one)
