"""What must hold of every element, each law a function of one element that asserts it.

`LAWS` is the table: test_contract.py runs it over the elements of the package, test_fifth_element.py over one
that is not part of it. Below the laws are the exact computations that several test files share.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from functools import cache

import mpmath as mp
import numpy as np
import pytest
from scipy import stats
from tests.kernels.compiled import look_up

from dcpf import elements
from dcpf.elements import Element, Totals
from dcpf.inference.posterior_tables import PosteriorTables
from dcpf.kernels.threads import Threads

EPS = np.finfo(np.float64).eps
FAR = 700  # sums over plays end here: all elements of `variations` have less than 1e-16 beyond
LOG_RATES = np.array([-12.0, -4.3, -1.1, 0.0, 0.7, 2.6, 5.2, 12.0])
DATA = (1, 2, 3, 7, 20)  # the counts that the bound is summed over


def variations(name: str) -> list[Element]:
    """The element of this name with parameters all over their range, found out without knowing the element."""
    default = elements.get(name)
    if not default.parameters:
        return [default]
    ps = (0.2, 1.0, 6.0) if math.isinf(default.p_max) else (0.1, 0.5, 0.8)
    if not default.has_shape:
        return [dataclasses.replace(default, p=p) for p in ps]
    (shape,) = set(default.parameters) - {"p"}
    return [dataclasses.replace(default, **{"p": p, shape: a}) for p, a in zip(ps, (3.0, 0.7, 0.05), strict=True)]


def table_of_cases(names: list[str]) -> Iterator[tuple[Callable[[Element], None], Element]]:
    """Each law with each element that it speaks of."""
    for name in names:
        for element in variations(name):
            for law, speaks_of in LAWS.items():
                if element.limit in speaks_of:
                    yield law, element


# -- one session -----------------------------------------------------------------------------------------


def pmf_sums_to_one(element: Element) -> None:
    assert element.pmf(np.arange(1, FAR)).sum() == pytest.approx(1.0, abs=1e-12)


def pmf_is_zero_off_the_positive_integers(element: Element) -> None:
    assert np.all(element.pmf([-1.0, 0.0, 0.5, 1.5]) == 0.0)


def mean_and_variance_are_those_of_the_pmf(element: Element) -> None:
    x = np.arange(1.0, FAR)
    mean = (x * element.pmf(x)).sum()
    assert element.mean == pytest.approx(mean, rel=1e-12)
    assert element.variance == pytest.approx(((x - mean) ** 2 * element.pmf(x)).sum(), rel=1e-11)


def c_is_the_log_of_the_power_series(element: Element) -> None:
    x = np.arange(1.0, FAR)
    series = np.exp(x * element.theta + element.log_h(x, np.ones_like(x))).sum()
    assert element.c == pytest.approx(math.log(series), abs=1e-12)


# -- n sessions ------------------------------------------------------------------------------------------


def h_is_the_n_fold_convolution(element: Element) -> None:
    """h(y, n) = [z^y] f(z)^n with f_1 = 1."""
    y = np.arange(1, 31)
    f = np.exp(element.log_h(y, np.ones_like(y)))
    assert f[0] == pytest.approx(1.0, abs=4 * EPS)
    power = f  # of y = n, n + 1, ...
    for n in range(1, 13):
        h = np.exp(element.log_h(y, np.full_like(y, n)))
        np.testing.assert_allclose(h[n - 1 :], power[: len(y) - n + 1], rtol=1e-12)
        assert not h[: n - 1].any()
        power = np.convolve(power, f)[: len(y)]


def counts_given_sessions_sum_to_one(element: Element) -> None:
    y = np.arange(1.0, FAR)
    for n in (1.0, 2.0, 5.0):
        p = np.exp(y * element.theta - n * element.c + element.log_h(y, n))
        assert p.sum() == pytest.approx(1.0, abs=1e-11)


def sampler_agrees_with_mean_and_variance(element: Element) -> None:
    n, draws = 4, 40_000
    y = element.sample(np.full(draws, n), np.random.default_rng(20)).astype(np.float64)
    squares = (y - n * element.mean) ** 2
    assert abs(y.mean() - n * element.mean) <= 5.0 * y.std() / math.sqrt(draws)
    assert abs(squares.mean() - n * element.variance) <= 5.0 * squares.std() / math.sqrt(draws)


def sampler_agrees_with_the_pmf(element: Element) -> None:
    draws = 40_000
    y = element.sample(np.ones(draws, dtype=int), np.random.default_rng(21))
    x = np.arange(1, 6)
    expected = element.pmf(x)
    found = (y[:, None] == x).mean(axis=0)
    assert np.all(np.abs(found - expected) <= 5.0 * np.sqrt(expected * (1.0 - expected) / draws))


def no_sessions_are_no_plays(element: Element) -> None:
    y = element.sample(np.array([[0, 3], [1, 0]]), np.random.default_rng(22))
    assert y.shape == (2, 2)
    assert y.dtype == np.int64
    assert y[0, 0] == y[1, 1] == 0
    assert y[0, 1] >= 3
    assert y[1, 0] >= 1


# -- the posterior of the number of sessions -------------------------------------------------------------


def cumulants_equal_enumeration(element: Element) -> None:
    for y in (1, 2, 3, 7, 20, 60, 300):
        found = element.cumulants(np.array([y]), LOG_RATES)[0]
        line = LOG_RATES + element.log_h(y, 1)
        for k, t in enumerate(LOG_RATES):
            log_z, mean, variance, third = enumerated(log_terms(element, y), t)
            assert_close((found[k, 0] + line[k], found[k, 1] + 1.0, found[k, 2]), (log_z, mean, variance), 1e-10)
            assert_close(found[k, 3:4], (third,), 1e-9)


def cumulants_are_those_of_many_counts_at_once(element: Element) -> None:
    counts = np.array([1, 2, 300, 5, 65, 1000])
    together = element.cumulants(counts, LOG_RATES)
    apart = [element.cumulants(counts[i : i + 1], LOG_RATES)[0] for i in range(len(counts))]
    np.testing.assert_array_equal(together, apart)
    with Threads(2) as threads:
        np.testing.assert_array_equal(together, element.cumulants(counts, LOG_RATES, threads))


def a_single_play_is_one_session(element: Element) -> None:
    found = element.cumulants(np.array([1]), LOG_RATES)[0]
    np.testing.assert_allclose(found[:, :4], 0.0, atol=4 * EPS)


def sessions_rise_with_the_rate_within_one_and_the_count(element: Element) -> None:
    rates = np.arange(-60.0, 60.0, 0.5)
    for y in (2, 9, 64, 65, 256, 257, 1000):
        n = 1.0 + element.cumulants(np.array([y]), rates)[0, :, 1]
        slack = 1e-11 * y
        assert np.all(np.diff(n) >= -slack)
        assert np.all((n >= 1.0 - slack) & (n <= y + slack))


def a_low_rate_gives_one_session_and_a_high_rate_as_many_as_plays(element: Element) -> None:
    for y in (2, 9, 65, 300):
        lowest, highest = 1.0 + element.cumulants(np.array([y]), np.array([-690.0, 690.0]))[0, :, 1]
        assert lowest == pytest.approx(1.0, rel=1e-12)
        assert highest == pytest.approx(y, rel=1e-12)


def shape_column_is_the_derivative_in_the_log_of_the_shape(element: Element) -> None:
    if not element.has_shape:
        return
    (shape,) = set(element.parameters) - {"p"}
    counts, step = np.array([1, 2, 9, 60, 300]), 1e-4

    def log_z(factor: float) -> np.ndarray:
        e = dataclasses.replace(element, **{shape: element.parameters[shape] * factor})
        line = LOG_RATES + e.log_h(counts, np.ones(len(counts)))[:, None]
        return e.cumulants(counts, LOG_RATES)[..., 0] + line

    slope = (log_z(math.exp(step)) - log_z(math.exp(-step))) / (2.0 * step)
    np.testing.assert_allclose(element.cumulants(counts, LOG_RATES)[..., 4], slope, rtol=1e-6, atol=1e-6)


def each_column_is_the_derivative_of_the_one_before(element: Element) -> None:
    counts, step = np.array([2, 9, 60, 300]), 1e-4
    below, here, above = (element.cumulants(counts, LOG_RATES + d) for d in (-step, 0.0, step))
    slopes = (above - below) / (2.0 * step)
    for first in range(0, here.shape[-1], 4):
        np.testing.assert_allclose(
            here[..., first + 1 : first + 4], slopes[..., first : first + 3], rtol=1e-5, atol=1e-5
        )


# -- learning the parameters -----------------------------------------------------------------------------


def refit_solves_for_the_mean(element: Element) -> None:
    for plays_a_session in (1.001, 1.5, 10.0, 1e4):
        totals = Totals(counts=1e6, sessions=1e6 / plays_a_session, shape=0.5e6 * (1.0 - 1.0 / plays_a_session))
        assert totals.sessions * element.refit(totals).mean == pytest.approx(totals.counts, rel=1e-9)


def refit_never_lowers_the_bound(element: Element) -> None:
    """E_q[log p(y | n)] = sum y theta - E[n] c + E[log h(y, n)] with q(n) held fixed."""
    for log_rate in (-3.0, 0.0, 2.0):
        posteriors = [_weights(element, y, log_rate - element.c) for y in DATA]
        cumulants = element.cumulants(np.array(DATA), np.array([log_rate - element.c]))[:, 0]
        totals = Totals(
            counts=float(sum(DATA)),
            sessions=float((1.0 + cumulants[:, 1]).sum()),
            shape=float(cumulants[:, 4].sum()) if element.has_shape else 0.0,
        )
        before = _expected_log_likelihood(element, posteriors)
        after = _expected_log_likelihood(element.refit(totals), posteriors)
        assert after >= before - 1e-9 * abs(before)


def refit_of_its_own_mean_changes_nothing(element: Element) -> None:
    if element.has_shape:
        return  # moves on with the shape
    again = element.refit(Totals(counts=1e6 * element.mean, sessions=1e6, shape=0.0))
    assert again.p == pytest.approx(element.p, rel=1e-10)


def refit_without_repeats_gives_the_raw_limit(element: Element) -> None:
    for sessions in (1000.0, 1000.0 * (1.0 + 2.0 * EPS)):
        assert element.refit(Totals(counts=1000.0, sessions=sessions, shape=0.0)).limit == "raw"


def refit_without_repeats_to_rounding_gives_the_raw_limit(element: Element) -> None:
    totals = Totals(counts=1000.0, sessions=float(np.nextafter(1000.0, 0.0)), shape=0.0)
    assert element.refit(totals).limit == "raw"


# -- limits and errors -----------------------------------------------------------------------------------


def ends_of_p_are_limits(element: Element) -> None:
    raw, binary = (dataclasses.replace(element, p=p) for p in (0.0, element.p_max))
    assert (raw.limit, raw.c, raw.mean, raw.variance) == ("raw", -math.inf, 1.0, 0.0)
    assert list(raw.pmf([1, 2])) == [1.0, 0.0]
    assert list(raw.sample([0, 3], np.random.default_rng(0))) == [0, 3]
    assert (binary.limit, binary.c, binary.mean, binary.variance) == ("binary", math.inf, math.inf, math.inf)
    with pytest.raises(ValueError, match="improper"):
        binary.pmf(1)


def tables_at_the_ends_are_poisson_factorization(element: Element) -> None:
    for p, n_of in ((0.0, lambda y: y), (element.p_max, lambda y: 1)):
        end = dataclasses.replace(element, p=p)
        for y in (1, 2, 1000):
            log_z, mean = from_table(end, y, 0.4)
            assert mean == n_of(y)
            assert log_z == pytest.approx(n_of(y) * 0.4 - (math.lgamma(y + 1.0) if p == 0.0 else 0.0), rel=1e-12)


def a_bad_p_is_named(element: Element) -> None:
    bad = [-0.25, math.nan] + ([] if math.isinf(element.p_max) else [element.p_max + 0.25])
    for p in bad:
        with pytest.raises(ValueError, match=f"found {p!r}"):
            dataclasses.replace(element, p=p)


def a_bad_shape_is_named(element: Element) -> None:
    if not element.has_shape:
        return
    (shape,) = set(element.parameters) - {"p"}
    for value in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match=f"found {value!r}"):
            dataclasses.replace(element, **{shape: value})


# -- the marginal law of a count -------------------------------------------------------------------------


def marginal_sums_to_one(element: Element) -> None:
    assert element.marginal_pmf(3.0, FAR).sum() == pytest.approx(1.0, abs=1e-11)


def marginal_is_the_sum_over_sessions(element: Element) -> None:
    """P(y) = sum_n Poisson(n; rate) p(y | n), p(y | n) the n-fold convolution of the p.m.f."""
    rate, largest = 2.5, 25
    f = element.pmf(np.arange(largest + 1))
    power = np.eye(1, largest + 1)[0]
    total = math.exp(-rate) * power
    for n in range(1, largest + 1):
        power = np.convolve(power, f)[: largest + 1]
        total += stats.poisson.pmf(n, rate) * power
    np.testing.assert_allclose(element.marginal_pmf(rate, largest), total, rtol=1e-12)


def marginal_of_a_large_rate_does_not_underflow(element: Element, rate: float = 800.0) -> None:
    """exp(-rate) is no float, and yet the probabilities around the mean are."""
    mean, deviation = rate * element.mean, math.sqrt(rate * (element.variance + element.mean**2))
    found = element.marginal_pmf(rate, math.ceil(mean + 12.0 * deviation))
    y = np.arange(len(found))
    assert found.sum() == pytest.approx(1.0, abs=1e-9)
    assert (y * found).sum() == pytest.approx(mean, rel=1e-9)
    assert ((y - mean) ** 2 * found).sum() == pytest.approx(deviation**2, rel=1e-8)


def marginal_without_sessions_is_zero_plays(element: Element) -> None:
    assert list(element.marginal_pmf(0.0, 3)) == [1.0, 0.0, 0.0, 0.0]
    assert list(element.marginal_pmf(0.75, 0)) == [math.exp(-0.75)]


PROPER, PROPER_OR_RAW = (None,), (None, "raw")

LAWS: dict[Callable[[Element], None], tuple[str | None, ...]] = {
    pmf_sums_to_one: PROPER_OR_RAW,
    pmf_is_zero_off_the_positive_integers: PROPER_OR_RAW,
    mean_and_variance_are_those_of_the_pmf: PROPER_OR_RAW,
    c_is_the_log_of_the_power_series: PROPER,
    h_is_the_n_fold_convolution: PROPER_OR_RAW,
    counts_given_sessions_sum_to_one: PROPER,
    sampler_agrees_with_mean_and_variance: PROPER_OR_RAW,
    sampler_agrees_with_the_pmf: PROPER_OR_RAW,
    no_sessions_are_no_plays: PROPER_OR_RAW,
    cumulants_equal_enumeration: PROPER,
    cumulants_are_those_of_many_counts_at_once: PROPER,
    a_single_play_is_one_session: PROPER,
    sessions_rise_with_the_rate_within_one_and_the_count: PROPER,
    a_low_rate_gives_one_session_and_a_high_rate_as_many_as_plays: PROPER,
    shape_column_is_the_derivative_in_the_log_of_the_shape: PROPER,
    each_column_is_the_derivative_of_the_one_before: PROPER,
    refit_solves_for_the_mean: PROPER,
    refit_never_lowers_the_bound: PROPER,
    refit_of_its_own_mean_changes_nothing: PROPER,
    refit_without_repeats_gives_the_raw_limit: PROPER,
    refit_without_repeats_to_rounding_gives_the_raw_limit: PROPER,
    ends_of_p_are_limits: PROPER,
    tables_at_the_ends_are_poisson_factorization: PROPER,
    a_bad_p_is_named: PROPER,
    a_bad_shape_is_named: PROPER,
    marginal_sums_to_one: PROPER_OR_RAW,
    marginal_is_the_sum_over_sessions: PROPER_OR_RAW,
    marginal_of_a_large_rate_does_not_underflow: PROPER_OR_RAW,
    marginal_without_sessions_is_zero_plays: PROPER_OR_RAW,
}


# -- exact computations ----------------------------------------------------------------------------------


def assert_close(found: object, wanted: object, tolerance: float, where: object = "") -> None:
    """Every error, relative to max(1, |wanted|), is at most the tolerance; NaN is an error."""
    found, wanted = np.asarray(found, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    errors = np.abs(found - wanted) / np.maximum(1.0, np.abs(wanted))
    assert np.all(errors <= tolerance), f"{where}: found {found}, wanted {wanted}, errors {errors}"


def log_terms(element: Element, y: int) -> list[mp.mpf]:
    """What r^n is multiplied by in Z: log h(y, n) - log n! for n = 1 .. y."""
    log_h = element.log_h(np.full(y, float(y)), np.arange(1.0, y + 1.0))
    return [mp.mpf(float(value)) - mp.loggamma(n + 1) for n, value in enumerate(log_h, start=1)]


def enumerated(terms: list[mp.mpf], t: float) -> tuple[float, float, float, float]:
    """The sum over all n of exp(n t + terms[n - 1]), as log Z, and the first three cumulants of n."""
    logs = [term + n * mp.mpf(t) for n, term in enumerate(terms, start=1)]
    top = max(logs)
    pairs = [(mp.exp(x - top), n) for n, x in enumerate(logs, start=1) if x - top > -200]
    total = mp.fsum(w for w, _ in pairs)
    mean = mp.fsum(w * n for w, n in pairs) / total
    second, third = (mp.fsum(w * (n - mean) ** k for w, n in pairs) / total for k in (2, 3))
    return float(top + mp.log(total)), float(mean), float(second), float(third)


def from_table(element: Element, y: int, t: float, *, single: bool = False) -> tuple[float, float]:
    """(log Z, E[n]) as the table says it, or the one for rates in single precision."""
    table = PosteriorTables(np.array([y]), Threads(1), learn_shape=False).covering(element, (t, t), single=single)
    mean = np.empty(1)
    log_z, *_ = look_up(table, np.zeros(1, dtype=np.int32), np.array([t]), mean)
    return log_z, float(mean[0])


@cache
def stirling_rows(kind: int, counts: tuple[int, ...]) -> dict[int, np.ndarray]:
    """Exact Stirling numbers of the first (unsigned) or second kind: rows[y][n], 0 <= n <= y, for these y."""
    row, rows = np.array([1], dtype=object), {}
    for y in range(max(counts)):
        stay, rise = np.append(row, 0), np.append([0], row)
        row = (y if kind == 1 else np.array(range(y + 2), dtype=object)) * stay + rise
        if y + 1 in counts:
            rows[y + 1] = row
    return rows


def _weights(element: Element, y: float, t: float) -> tuple[float, np.ndarray, np.ndarray]:
    n = np.arange(1.0, y + 1.0)
    terms = n * t + element.log_h(np.full_like(n, y), n) - np.array([math.lgamma(k + 1.0) for k in n])
    weights = np.exp(terms - terms.max())
    return y, n, weights / weights.sum()


def _expected_log_likelihood(element: Element, posteriors: list[tuple[float, np.ndarray, np.ndarray]]) -> float:
    return sum(
        float(q @ (y * element.theta - n * element.c + element.log_h(np.full_like(n, y), n)))
        for y, n, q in posteriors
    )
