"""q(n) to eight digits for counts up to 2^31 - 1 and any rate, as an element says it and as the table says it.

Counts up to 1,000 (5,000 where h is a ratio of gamma functions) against all n = 1 .. y summed in mpmath; larger ones
against other methods with many digits: polygamma functions for the logarithmic, Dobinski's sum and Cauchy's integral
for the zero-truncated Poisson, a sum around the largest term for the shifted negative binomial. That these agree with
enumeration is tested too. Errors are relative to max(1, |value|).
"""

import math
from collections.abc import Callable
from functools import cache

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.elements.laws import assert_close, enumerated, from_table, stirling_rows
from tests.kernels.compiled import look_up

from dcpf.elements import Element, Geometric, Logarithmic, ShiftedNegativeBinomial, ZeroTruncatedPoisson
from dcpf.inference.posterior_tables import PosteriorTables
from dcpf.kernels.threads import Threads

DIGITS = 1e-8
LARGEST = 2**31 - 1

LOGARITHMIC, TRUNCATED, GEOMETRIC = Logarithmic(p=0.5), ZeroTruncatedPoisson(p=1.0), Geometric(p=0.5)
SHIFTED = [ShiftedNegativeBinomial(p=0.5, a=a) for a in (0.01, 0.05, 0.3, 3.0, 50.0)]

ALL = (LOGARITHMIC, TRUNCATED, GEOMETRIC, *SHIFTED)
BY_STIRLING = (2, 3, 10, 64, 65, 172, 257, 1000)  # counts with exact integers for h
ENUMERATED = [(e, y) for e in ALL for y in BY_STIRLING] + [(e, 5000) for e in (GEOMETRIC, SHIFTED[0], SHIFTED[-1])]
BEYOND = [(e, y) for e in ALL for y in (5003, 100_003, 352_698, 10**7 + 19, 10**9 + 7, LARGEST)]


def log_rates(y: int) -> list[float]:
    """From -690 to 690, most of them where sessions are neither all one nor all singles; none a tabulated one."""
    scale = math.log(y)
    near = (-scale - 1.13, -3.31, 0.13, 0.5 * scale, scale - 1.3, scale + 0.1, scale + 1.9, scale + 9.03)
    return sorted((-690.0, -100.7, -31.1, *near, 2.0 * scale + 0.77, 77.7, 690.0))


def name_of(case: object) -> str:
    return str(case)


@pytest.mark.parametrize(("element", "y"), ENUMERATED, ids=name_of)
def test_cumulants_equal_enumeration(element, y):
    assert_cumulants(element, y, by_enumeration)


@pytest.mark.parametrize(("element", "y"), ENUMERATED, ids=name_of)
def test_the_table_equals_enumeration(element, y):
    assert_table(element, y, by_enumeration)


@pytest.mark.parametrize(("element", "y"), BEYOND, ids=name_of)
def test_cumulants_of_large_counts_equal_another_method(element, y):
    assert_cumulants(element, y, by_another_method)


@pytest.mark.parametrize(("element", "y"), BEYOND, ids=name_of)
def test_the_table_of_large_counts_equals_another_method(element, y):
    assert_table(element, y, by_another_method)


@pytest.mark.parametrize("element", ALL, ids=name_of)
def test_the_other_methods_equal_enumeration_where_both_can_be_had(element):
    for t in (-20.3, 0.4, 6.1, 8.8, 40.0):
        np.testing.assert_allclose(by_another_method(element, 1000, t), by_enumeration(element, 1000, t), rtol=1e-13)


@pytest.mark.parametrize("t", [-3.3, 4.4, 12.0])
def test_two_other_methods_for_the_truncated_poisson_agree(t):
    np.testing.assert_allclose(by_dobinski(300_007, t), by_contour(300_007, t), rtol=1e-14)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    element=st.sampled_from([LOGARITHMIC, TRUNCATED, GEOMETRIC])
    | st.floats(math.log(0.01), math.log(50.0)).map(lambda u: ShiftedNegativeBinomial(p=0.5, a=math.exp(u))),
    log_y=st.floats(math.log(2), math.log(LARGEST)),
    above=st.floats(-6.0, 6.0) | st.floats(-600.0, 600.0),
)
def test_the_table_equals_the_cumulants_it_was_made_from_between_its_nodes(element, log_y, above):
    y, t = round(math.exp(log_y)), log_y + above
    found = element.cumulants(np.array([y]), np.array([t]))[0, 0]
    log_z = found[0] + t + float(element.log_h(float(y), 1.0))
    assert_close(from_table(element, y, t), (log_z, 1.0 + found[1]), DIGITS, (element, y, t))


@pytest.mark.parametrize("element", SHIFTED, ids=name_of)
@pytest.mark.parametrize("y", [2, 10, 64, 257])
def test_what_the_shape_is_learned_from_equals_enumeration(element, y):
    rates = np.array([t for t in log_rates(y) if abs(t) < 50.0])
    wanted = [expected_shape(element, y, float(t)) for t in rates]
    assert_close(element.cumulants(np.array([y]), rates)[0, :, 4], wanted, DIGITS)
    for t, want in zip(rates, wanted, strict=True):
        table = PosteriorTables(np.array([y]), Threads(1), learn_shape=True).covering(element, (t, t))
        _, _, found, _, _ = look_up(table, np.zeros(1, dtype=np.int32), np.array([t]), np.empty(1))
        assert_close(found, want, DIGITS, t)


@pytest.mark.parametrize("element", ALL, ids=name_of)
@pytest.mark.parametrize("y", [2, 257, 352_698])
def test_a_rate_in_single_precision_gives_six_digits(element, y):
    """It is rounded, and its table has longer steps, which costs less than that."""
    exact = by_enumeration if y in BY_STIRLING else by_another_method
    for t in (t for t in log_rates(y) if abs(t) < 80.0):
        rounded = float(np.log(np.float64(np.float32(np.exp(t)))))
        assert_close(from_table(element, y, rounded, single=True), exact(element, y, rounded)[:2], 2e-7, t)
        assert_close(from_table(element, y, rounded, single=True)[1], exact(element, y, t)[1], 1e-6, t)


# -- what is asserted ------------------------------------------------------------------------------------

Posterior = tuple[float, float, float]  # log Z, E[n], Var[n]
Method = Callable[[Element, int, float], Posterior]


def assert_cumulants(element: Element, y: int, exact: Method) -> None:
    rates = np.array(log_rates(y))
    found = element.cumulants(np.array([y]), rates)[0]
    log_z = found[:, 0] + rates + float(element.log_h(float(y), 1.0))
    for k, t in enumerate(rates):
        assert_close((log_z[k], 1.0 + found[k, 1], found[k, 2]), exact(element, y, float(t)), DIGITS, t)


def assert_table(element: Element, y: int, exact: Method) -> None:
    for t in log_rates(y):
        assert_close(from_table(element, y, t), exact(element, y, t)[:2], DIGITS, t)


# -- by enumeration --------------------------------------------------------------------------------------


@cache
def by_enumeration(element: Element, y: int, t: float) -> Posterior:
    with mp.workdps(40):
        return enumerated(exact_terms(element, y), t)[:3]


@cache
def exact_terms(element: Element, y: int) -> list[mp.mpf]:
    """For n = 1 .. y, log h(y, n) - log n!: h is (n!/y!) times a Stirling number, or a ratio of gamma functions."""
    if element in (LOGARITHMIC, TRUNCATED):
        row = stirling_rows(1 if element is LOGARITHMIC else 2, BY_STIRLING)[y]
        return [mp.log(mp.mpf(int(number))) - mp.loggamma(y + 1) for number in row[1:]]
    return [shifted_term(y, n, shape_of(element)) for n in range(1, y + 1)]


def shape_of(element: Element) -> mp.mpf:
    return mp.mpf(element.parameters.get("a", 1.0))


def shifted_term(y: int, n: int, a: mp.mpf) -> mp.mpf:
    return mp.loggamma(y - n + n * a) - mp.loggamma(n * a) - mp.loggamma(y - n + 1) - mp.loggamma(n + 1)


def expected_shape(element: Element, y: int, t: float) -> float:
    """E[m], with E[m | n] = n a (Psi(y - n + n a) - Psi(n a))."""
    with mp.workdps(40):
        a = shape_of(element)
        logs = [term + n * mp.mpf(t) for n, term in enumerate(exact_terms(element, y), start=1)]
        top = max(logs)
        pairs = [(mp.exp(x - top), n) for n, x in enumerate(logs, start=1) if x - top > -60]
        m = [w * n * a * (mp.psi(0, y - n + n * a) - mp.psi(0, n * a)) for w, n in pairs]
        return float(mp.fsum(m) / mp.fsum(w for w, _ in pairs))


# -- by other methods ------------------------------------------------------------------------------------


@cache
def by_another_method(element: Element, y: int, t: float) -> Posterior:
    if element is LOGARITHMIC:
        return by_polygamma(y, t)
    if element is TRUNCATED:
        return by_dobinski(y, t) if t < 0.0 else by_contour(y, t)
    with mp.workdps(40):
        a = shape_of(element)
        return tuple(float(x) for x in around_the_largest(lambda n: shifted_term(y, n, a), y, mp.mpf(t)))


def by_polygamma(y: int, t: float) -> Posterior:
    """Z = Gamma(y + r) / (Gamma(r) y!), with as many digits as two large and nearly equal numbers lose."""
    with mp.workdps(50 + int(max(t, 0.0))):
        r = mp.exp(mp.mpf(t))
        log_z = mp.loggamma(y + r) - mp.loggamma(r) - mp.loggamma(y + 1)
        mean = r * (mp.psi(0, y + r) - mp.psi(0, r))
        return float(log_z), float(mean), float(mean + r * r * (mp.psi(1, y + r) - mp.psi(1, r)))


def by_dobinski(y: int, t: float) -> Posterior:
    """Z y! = e^-r sum_k k^y r^k / k!: the cumulants of n are those of k less r."""
    with mp.workdps(50):
        r = mp.exp(mp.mpf(t))
        last = int(100 * (1 + y / mp.lambertw(y / r).real))
        log_z, mean, variance = around_the_largest(lambda k: y * mp.log(k) - mp.loggamma(k + 1), last, mp.mpf(t))
        return float(log_z - r - mp.loggamma(y + 1)), float(mean - r), float(variance - r)


def by_contour(y: int, t: float) -> Posterior:
    """Z = [z^y] exp(r (e^z - 1)) by Cauchy's integral on the circle through the saddle point r z e^z = y.

    With X = r (e^z - 1) on the circle, E[n] = <X> and Var[n] = <X^2> - <X>^2 + <X>.
    """
    with mp.workdps(50):
        r = mp.exp(mp.mpf(t))
        radius = mp.lambertw(y / r).real
        top = r * mp.expm1(radius)
        nodes = int(30 * mp.sqrt(y * (1 + radius))) + 200
        sums = [mp.mpf(0)] * 3
        for j in range(nodes // 2):
            turn = 2 * mp.mpf(j) / nodes
            x = r * mp.expm1(radius * mp.expjpi(turn))
            weight = mp.exp(x - top) * mp.expjpi(-turn * y)
            sums = [s + (1 if j == 0 else 2) * (weight * x**k).real for k, s in enumerate(sums)]
            if abs(weight) < mp.mpf(10) ** -40:
                break
        mean = sums[1] / sums[0]
        log_z = top - y * mp.log(radius) + mp.log(sums[0] / nodes)
        return float(log_z), float(mean), float(sums[2] / sums[0] - mean**2 + mean)


def around_the_largest(term: Callable[[int], mp.mpf], last: int, t: mp.mpf) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    """The law ~ exp(n t + term(n)) on 1 .. last, which has one peak: log Z, mean and variance.

    Where the peak is wide, every k-th term is as good as all: with some ten to a standard deviation the error is
    below exp(-2 (10 pi)^2).
    """
    log = cache(lambda n: n * t + term(n))
    low, high = 1, last
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if log(middle + 1) > log(middle) else (low, middle)
    peak = low
    first, final = (_end(log, peak, limit) for limit in (1, last))
    stride = max(1, (final - first) // 250)
    cut = any(log(edge) > log(peak) - _TAIL for edge in (first, final))
    assert stride == 1 or not cut, "a peak that is cut off needs all of its terms"
    pairs = [(mp.exp(log(n) - log(peak)), n - peak) for n in range(first, final + 1, stride)]
    total = mp.fsum(w for w, _ in pairs)
    mean = mp.fsum(w * d for w, d in pairs) / total
    variance = mp.fsum(w * (d - mean) ** 2 for w, d in pairs) / total
    return log(peak) + mp.log(stride * total), peak + mean, variance


_TAIL = 70  # exp(-70) is too little for any digit that is compared


def _end(log: Callable[[int], mp.mpf], peak: int, limit: int) -> int:
    """How far from the peak towards the limit terms count, to some per cent."""
    step = 1 if limit > peak else -1
    inside, outside = 0, 1
    while outside < abs(limit - peak) and log(peak + step * outside) > log(peak) - _TAIL:
        inside, outside = outside, 2 * outside
    outside = min(outside, abs(limit - peak))
    if log(peak + step * outside) > log(peak) - _TAIL:
        return limit
    while outside - inside > max(1, outside // 30):
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if log(peak + step * middle) > log(peak) - _TAIL else (inside, middle)
    return peak + step * outside
