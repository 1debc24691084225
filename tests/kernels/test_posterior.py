"""The table: polynomials that meet log Z and its derivatives, and what is looked up in them."""

import math

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.special import gammaln
from tests.kernels.compiled import compiled, look_up

from dcpf.elements import Geometric, Logarithmic, Raw, ShiftedNegativeBinomial, ZeroTruncatedPoisson
from dcpf.inference.posterior_tables import PosteriorTables, hermite_polynomials
from dcpf.kernels import posterior
from dcpf.kernels.posterior import POINTS
from dcpf.kernels.threads import Threads

value_and_slope = compiled(posterior.value_and_slope)

ELEMENTS = [Logarithmic(0.5), ZeroTruncatedPoisson(1.0), Geometric(0.5), ShiftedNegativeBinomial(0.5, 0.3)]
COUNTS = np.array([1, 2, 3, 64, 65, 100, 4000, 10**6])


def table_of(element, counts=COUNTS, span=(-8.0, 8.0), learn_shape=False):
    return PosteriorTables(np.asarray(counts), Threads(1), learn_shape=learn_shape).covering(element, span)


def looked_up(table, codes, t):
    mean = np.empty(len(codes))
    sums = look_up(table, np.asarray(codes, dtype=np.int32), np.array(t, dtype=np.float64), mean)
    return mean, sums


# -- polynomials -----------------------------------------------------------------------------------------


def test_hermite_polynomials_give_back_any_of_degree_seven():
    step, p = 0.375, Polynomial([0.3, -1.0, 2.0, 0.5, -0.25, 1.5, -0.75, 0.1])
    nodes = step * np.arange(-3, 4)
    values = np.stack([p.deriv(k)(nodes) if k else p(nodes) for k in range(4)], axis=-1)
    found = hermite_polynomials(values[None], step)
    for k, start in enumerate(nodes[:-1]):
        wanted = p(Polynomial([start, step]))
        np.testing.assert_allclose(found[0, k], wanted.coef, rtol=1e-9, atol=1e-10)


def test_hermite_polynomials_meet_value_and_three_derivatives_at_both_ends():
    step, values = 0.5, np.random.default_rng(0).normal(size=(2, 5, 4))
    found = hermite_polynomials(values, step)
    for i in range(2):
        for k in range(4):
            p = Polynomial(found[i, k])
            for order in range(4):
                d = p.deriv(order) if order else p
                ends = np.array([d(0.0), d(1.0)]) / step**order
                np.testing.assert_allclose(ends, values[i, k : k + 2, order], rtol=1e-9, atol=1e-9)


# -- looking up ------------------------------------------------------------------------------------------


def test_sums_are_those_over_the_entries():
    table, codes, t = table_of(ELEMENTS[0]), np.arange(len(COUNTS)), np.linspace(-7.0, 7.0, len(COUNTS))
    mean, (log_z, sessions, shape, lowest, highest) = looked_up(table, codes, t)
    one_by_one = [looked_up(table, [c], [x])[1] for c, x in zip(codes, t, strict=True)]
    assert log_z == pytest.approx(sum(s[0] for s in one_by_one), rel=1e-14)
    assert sessions == pytest.approx(mean.sum(), rel=1e-14)
    assert shape == 0.0
    assert (lowest, highest) == (t[1], t[-1])  # a count of 1 is not looked up


@pytest.mark.parametrize("element", [*ELEMENTS, Raw()], ids=str)
@pytest.mark.parametrize("in_order", [True, False])
def test_the_bits_do_not_depend_on_where_the_arrays_lie(element, in_order):
    """A compiler may have loops run in another way where arrays lie close to each other."""
    rng, table = np.random.default_rng(0), table_of(element)
    for size in 30 * [1, 3, 14, 40]:
        codes = rng.integers(0, len(COUNTS), size)
        codes, t = (np.sort(codes) if in_order else codes).astype(np.int32), rng.normal(size=size)
        found = set()
        for apart in (size, size + 5, size + 24, size + 1000):
            buffer = rng.normal(size=apart + size)
            logs, mean = buffer[:size], buffer[apart:][:size]
            logs[:] = t
            found.add((look_up(table, codes, logs, mean), mean.tobytes()))
        assert len(found) == 1


def test_no_entries_are_no_sums():
    _, sums = looked_up(table_of(ELEMENTS[0]), [], [])
    assert sums == (0.0, 0.0, 0.0, np.inf, -np.inf)


def test_a_count_of_one_needs_no_table():
    mean, (log_z, _, _, lowest, highest) = looked_up(table_of(ELEMENTS[0]), [0], [-300.0])
    assert (mean[0], log_z) == (1.0, -300.0)
    assert lowest > highest


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_expected_sessions_are_the_derivative_of_log_z(element):
    table, step = table_of(element), 1e-4
    for code in range(1, len(COUNTS)):
        t = 1.2345
        mean, _ = looked_up(table, [code], [t])
        above, below = (looked_up(table, [code], [t + d])[1][0] for d in (step, -step))
        assert (above - below) / (2.0 * step) == pytest.approx(mean[0], rel=1e-6)


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_the_table_is_exact_at_its_nodes_for_counts_that_have_their_own(element):
    table = table_of(element)
    t = table.step * np.arange(-5, 6)
    for code in (1, 2, 3):
        mean, _ = looked_up(table, np.full(len(t), code), t)
        wanted = 1.0 + element.cumulants(COUNTS[code : code + 1], t)[0, :, 1]
        np.testing.assert_allclose(mean, wanted, rtol=1e-13)


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_beyond_the_table_its_end_stands(element):
    table = table_of(element)
    low, high = table.start * table.step, (table.start + table.polynomials.shape[1]) * table.step
    code = 3
    for beyond, end in ((low - 5.0, low), (high + 5.0, np.nextafter(high, 0.0))):
        mean, (*_, lowest, highest) = looked_up(table, [code], [beyond])
        assert mean[0] == pytest.approx(looked_up(table, [code], [end])[0][0], rel=1e-12)
        assert lowest == highest == beyond


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_what_is_said_of_a_count_does_not_depend_on_the_other_counts(element):
    t = np.linspace(-7.0, 7.0, 29)
    table = table_of(element)
    for code, y in enumerate(COUNTS):
        together, _ = looked_up(table, np.full(len(t), code), t)
        alone, _ = looked_up(table_of(element, [y]), np.zeros(len(t)), t)
        np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_what_is_said_of_a_rate_does_not_depend_on_how_far_the_table_reaches(element):
    t = np.linspace(-2.0, 2.0, 9)
    for code in range(len(COUNTS)):
        near, _ = looked_up(table_of(element, span=(-2.0, 2.0)), np.full(len(t), code), t)
        far, _ = looked_up(table_of(element, span=(-40.0, 40.0)), np.full(len(t), code), t)
        np.testing.assert_array_equal(near, far)


@pytest.mark.parametrize("element", ELEMENTS[:1] + ELEMENTS[2:], ids=str)
def test_thousands_of_distinct_counts_need_few_tabulated_ones(element):
    table = table_of(element, np.arange(1, 20_000))
    assert table.polynomials.shape[0] < 500
    assert 1 == table.own < table.large < 500
    assert table.weights.shape == (19_999 - table.large, POINTS)
    np.testing.assert_allclose(table.weights.sum(axis=1), 1.0, rtol=1e-9)


def test_the_shape_is_tabulated_only_where_it_is_learned():
    element = ShiftedNegativeBinomial(0.5, 0.3)
    assert table_of(element).shape_polynomials.size == 0
    assert table_of(Geometric(0.5), learn_shape=True).shape_polynomials.size == 0
    learned = table_of(element, learn_shape=True)
    assert learned.shape_polynomials.shape == learned.polynomials.shape


def test_raw_is_a_straight_line_for_each_count():
    table = table_of(Raw())
    mean, (log_z, *_) = looked_up(table, np.arange(len(COUNTS)), np.full(len(COUNTS), 0.5))
    np.testing.assert_array_equal(mean, COUNTS)
    assert log_z == pytest.approx((0.5 * COUNTS - gammaln(COUNTS + 1.0)).sum(), rel=1e-14)


# -- when a table is made anew ---------------------------------------------------------------------------


def test_a_table_is_kept_while_only_p_moves():
    tables = PosteriorTables(COUNTS, Threads(1), learn_shape=True)
    first = tables.covering(ShiftedNegativeBinomial(0.5, 0.3), (-3.0, 3.0))
    assert tables.covering(ShiftedNegativeBinomial(0.6, 0.3), (-2.0, 3.5)) is first


@pytest.mark.parametrize(
    ("element", "span"),
    [
        (ShiftedNegativeBinomial(0.5, 0.31), (-3.0, 3.0)),
        (ShiftedNegativeBinomial(0.5, 0.3), (-9.0, 3.0)),
        (ShiftedNegativeBinomial(0.0, 0.3), (-3.0, 3.0)),
        (Geometric(0.5), (-3.0, 3.0)),
    ],
    ids=["shape", "span", "limit", "element"],
)
def test_a_table_is_made_anew_when_what_it_says_changes(element, span):
    tables = PosteriorTables(COUNTS, Threads(1), learn_shape=True)
    first = tables.covering(ShiftedNegativeBinomial(0.5, 0.3), (-3.0, 3.0))
    assert tables.covering(element, span) is not first


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
@pytest.mark.parametrize("learn_shape", [False, True])
def test_a_table_that_was_extended_says_what_a_new_one_says(element, learn_shape):
    """Downwards, upwards, and to where the two have nothing in common."""
    tables = PosteriorTables(COUNTS, Threads(1), learn_shape=learn_shape)
    for span in ((-2.0, 2.0), (-9.0, 1.0), (-3.0, 12.0), (60.0, 61.0), (-80.0, -70.0)):
        extended, new = tables.covering(element, span), table_of(element, COUNTS, span, learn_shape)
        for t in np.linspace(*span, 5):
            one, other = (
                looked_up(table, np.arange(len(COUNTS)), np.full(len(COUNTS), t)) for table in (extended, new)
            )
            np.testing.assert_array_equal(one[0], other[0])
            assert one[1] == other[1]


def test_a_run_that_leaves_the_table_is_repeated_with_one_that_reaches():
    attempts = []

    def attempt(table):
        attempts.append((table.start * table.step, (table.start + table.polynomials.shape[1]) * table.step))
        return -50.0, 60.0

    assert PosteriorTables(COUNTS, Threads(1), learn_shape=False).run(ELEMENTS[0], (0.0, 0.0), attempt) == (
        -50.0,
        60.0,
    )
    assert len(attempts) == 2
    assert attempts[1][0] <= -50.0 <= 60.0 <= attempts[1][1]


def test_a_run_that_looks_nothing_up_keeps_its_span():
    span = PosteriorTables(COUNTS, Threads(1), learn_shape=False).run(
        ELEMENTS[0], (0.0, 1.0), lambda table: (math.inf, -math.inf)
    )
    assert span == (0.0, 1.0)


@pytest.mark.parametrize("span", [(np.nan, np.nan), (0.0, np.inf), (-np.inf, 0.0)])
def test_a_run_whose_rates_are_not_finite_is_not_repeated_for_ever(span):
    runs = []

    def attempt(table):
        runs.append(table)
        return span

    tables = PosteriorTables(np.array([1, 3]), Threads(1), learn_shape=False)
    assert tables.run(Logarithmic(0.5), (0.0, 1.0), attempt) == (0.0, 1.0)
    assert len(runs) == 1


def test_a_polynomial_of_the_table_has_its_value_and_its_slope():
    p = Polynomial(np.random.default_rng(0).normal(size=8))
    for x in np.linspace(0.0, 1.0, 9):
        value, slope = value_and_slope(p.coef, x)
        assert value == pytest.approx(p(x), rel=1e-14, abs=1e-14)
        assert slope == pytest.approx(p.deriv()(x), rel=1e-14, abs=1e-13)
