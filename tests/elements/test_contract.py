"""Every element obeys every law: an element is tested the moment its file exists."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.elements import laws

from dcpf import elements
from dcpf.elements import Element, Logarithmic

pytestmark = pytest.mark.quick

PROPER = [name for name in elements.names() if elements.get(name).limit is None]
CASES = [
    pytest.param(law, element, id=f"{element}-{law.__name__}")
    for law, element in laws.table_of_cases(elements.names())
]


@pytest.mark.parametrize(("law", "element"), CASES)
def test_element_obeys(law, element):
    law(element)


@pytest.mark.parametrize("name", PROPER)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(y=st.integers(1, 60), log_rate=st.floats(-40, 40))
def test_expected_sessions_equal_enumeration(name, y, log_rate):
    element = elements.get(name)
    found = element.cumulants(np.array([y]), np.array([log_rate]))[0, 0]
    _, mean, variance, _ = laws.enumerated(laws.log_terms(element, y), log_rate)
    laws.assert_close((found[1] + 1.0, found[2]), (mean, variance), 1e-11)


@pytest.mark.parametrize("name", PROPER)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(plays_a_session=st.floats(1.01, 1e3), repeats_in_tables=st.floats(0.01, 0.99))
def test_refit_gives_a_proper_element_of_the_right_mean(name, plays_a_session, repeats_in_tables):
    totals = elements.Totals(plays_a_session, 1.0, repeats_in_tables * (plays_a_session - 1.0))
    refitted = elements.get(name).refit(totals)
    assert refitted.limit is None
    assert refitted.mean == pytest.approx(plays_a_session, rel=1e-9)


@pytest.mark.parametrize("name", PROPER)
def test_the_marginal_of_2000_expected_sessions_does_not_underflow(name):
    laws.marginal_of_a_large_rate_does_not_underflow(elements.get(name), 2000.0)


# -- by name ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", elements.names())
def test_every_spelling_of_a_name_gives_the_default(name):
    element = elements.get(name)
    assert element.name == name
    for spelling in (name, *element.aliases):
        assert elements.get(spelling) == type(element).default()
        assert elements.get(spelling.upper().replace("-", "_")) == type(element).default()


@pytest.mark.parametrize(
    ("alias", "name"), [("log", "logarithmic"), ("geo", "geometric"), ("ztp", "zero-truncated-poisson")]
)
def test_the_papers_abbreviations_are_known(alias, name):
    assert elements.get(alias).name == name


@pytest.mark.parametrize("alias", ["shifted-nb", "snb"])
def test_both_short_names_of_the_shifted_negative_binomial_are_known(alias):
    assert elements.get(alias).name == "shifted-negative-binomial"


def test_an_element_stands_for_itself():
    element = Logarithmic(p=0.25)
    assert elements.get(element) is element


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(ValueError, match="unknown element 'poisson': choose one of binary, geometric"):
        elements.get("poisson")


def test_what_is_neither_name_nor_element_is_refused():
    with pytest.raises(TypeError, match=r"found 0\.5"):
        elements.get(0.5)


# -- the limits as elements of their own -----------------------------------------------------------------


@pytest.mark.parametrize(("name", "sessions"), [("raw", lambda y: y), ("binary", lambda y: 1)])
@pytest.mark.parametrize("y", [1, 2, 63, 1000])
def test_a_limit_says_how_many_sessions_a_count_is(name, sessions, y):
    log_z, mean = laws.from_table(elements.get(name), y, -0.7)
    assert mean == sessions(y)
    assert log_z == pytest.approx(-0.7 * sessions(y) - math.lgamma(1.0 + y) * (name == "raw"), rel=1e-12)


@pytest.mark.parametrize("name", ["raw", "binary"])
def test_a_limit_has_nothing_to_learn(name):
    element = elements.get(name)
    assert element.parameters == {}
    assert element.refit(elements.Totals(10.0, 2.0, 1.0)) == element


@pytest.mark.parametrize(("rate", "largest"), [(-1.0, 3), (np.nan, 3), (np.ones(2), 3), (0.5, -1), (0.5, 2.5)])
def test_an_impossible_rate_or_range_of_counts_is_named(rate, largest):
    with pytest.raises(ValueError, match="found"):
        elements.Logarithmic(0.5).marginal_pmf(rate, largest)


def test_binary_is_one_play_where_there_are_sessions():
    assert list(elements.get("binary").sample([0, 1, 7], np.random.default_rng(0))) == [0, 1, 1]


def test_binary_has_no_law_of_a_session():
    with pytest.raises(ValueError, match="improper"):
        elements.get("binary").pmf(1)


@pytest.mark.parametrize("name", PROPER)
def test_an_element_at_its_binary_end_refuses_to_sample(name):
    end = dataclasses.replace(elements.get(name), p=elements.get(name).p_max)
    with pytest.raises(ValueError, match="improper"):
        end.sample([1, 2], np.random.default_rng(0))


@pytest.mark.parametrize("element", laws.variations("logarithmic"), ids=str)
@pytest.mark.parametrize("rate", [0.01, 1.0, 30.0])
def test_the_marginal_of_the_logarithmic_is_negative_binomial(element: Element, rate):
    """Footnote 3 of the paper: y ~ NB(rate / L, p), L = -log(1 - p)."""
    y = np.arange(200)
    wanted = stats.nbinom.pmf(y, rate / -math.log1p(-element.p), 1.0 - element.p)
    np.testing.assert_allclose(element.marginal_pmf(rate, 199), wanted, rtol=1e-10, atol=1e-300)


def test_the_marginal_of_raw_is_poisson():
    y = np.arange(60)
    np.testing.assert_allclose(elements.get("raw").marginal_pmf(7.5, 59), stats.poisson.pmf(y, 7.5), rtol=1e-12)


def test_the_shifted_negative_binomial_with_shape_one_is_the_geometric():
    geometric, shifted = elements.Geometric(p=0.3), elements.ShiftedNegativeBinomial(p=0.3, a=1.0)
    counts, rates = np.array([1, 2, 40, 1000, 10**6]), np.linspace(-20.0, 20.0, 9)
    np.testing.assert_array_equal(geometric.cumulants(counts, rates), shifted.cumulants(counts, rates)[..., :4])
    assert (geometric.c, geometric.mean) == (shifted.c, pytest.approx(shifted.mean, rel=4 * laws.EPS))
    assert geometric.variance == pytest.approx(shifted.variance, rel=4 * laws.EPS)


@pytest.mark.parametrize("name", PROPER)
def test_beyond_goes_on_by_a_part_of_the_way_in_the_logarithm(name: str) -> None:
    cls = type(elements.get(name))
    now, before = (dataclasses.replace(cls.default(), p=p) for p in (0.5, 0.4))
    end = cls.p_max
    odds = [x if math.isinf(end) else x / (end - x) for x in (0.4, 0.5, now.extrapolate(before, 0.5).p)]
    assert odds[2] == pytest.approx(odds[1] * (odds[1] / odds[0]) ** 0.5, rel=1e-12)
    assert now.extrapolate(now, 0.9).p == pytest.approx(0.5, rel=1e-15)


@pytest.mark.parametrize("name", elements.names())
def test_beyond_never_leads_to_an_end_of_the_range(name: str) -> None:
    cls = type(elements.get(name))
    if elements.get(name).limit is not None:
        assert elements.get(name).extrapolate(elements.get(name), 0.9) == elements.get(name)
        return
    end = cls.p_max if math.isfinite(cls.p_max) else 1e300
    close = [dataclasses.replace(cls.default(), p=p) for p in (1e-300, 1e-10, 0.5, end * (1 - 1e-15))]
    for now in close:
        for before in close:
            assert now.extrapolate(before, 0.99).limit is None
        for p in (0.0, cls.p_max):
            assert now.extrapolate(dataclasses.replace(now, p=p), 0.99) == now
            assert dataclasses.replace(now, p=p).extrapolate(now, 0.99).limit is not None


def test_beyond_keeps_a_shape_within_its_range() -> None:
    low, high = elements.ShiftedNegativeBinomial.ranges["a"]
    for end, inner in ((low, 2 * low), (high, high / 2)):
        now, before = (elements.ShiftedNegativeBinomial(0.5, a) for a in (end, inner))
        assert now.extrapolate(before, 0.9).a == end
