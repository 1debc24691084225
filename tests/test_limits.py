"""Propositions 1 and 2, the ascent of the bound, degenerate data, and the truth recovered."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

import dcpf
from dcpf.elements import Element

pytestmark = pytest.mark.quick

ELEMENTS = [name for name in dcpf.elements.names() if dcpf.elements.get(name).limit is None]


def quick(element: str | Element, **parameters: object) -> dcpf.DCPF:
    defaults = {"n_components": 3, "max_iter": 30, "tol": 0, "dtype": "float64", "random_state": 0}
    return dcpf.DCPF(element=element, **(defaults | parameters), n_neighbors=0)


class AtGivenC:
    """An element whose c(theta) is set by hand: the way to its limits, however slowly p goes there."""

    @staticmethod
    def of(name: str, c: float) -> Element:
        cls = type(dcpf.elements.get(name))

        class Moved(cls):  # type: ignore[misc, valid-type]
            @property
            def c(self) -> float:
                return c

        return Moved(**dcpf.elements.get(name).parameters)


COUNTS = sparse.csr_array(
    np.random.default_rng(1).poisson(0.4, (25, 20)) * np.random.default_rng(2).integers(1, 40, (25, 20))
)


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize(("c", "limit"), [(-250.0, "raw"), (5000.0, "binary")])
def test_as_c_goes_to_infinity_sessions_and_factors_become_those_of_poisson_factorization(
    name: str, c: float, limit: str
) -> None:
    near = quick(AtGivenC.of(name, c), learn_element=False).fit(COUNTS)
    there = quick(limit).fit(COUNTS)
    np.testing.assert_allclose(near.sessions(COUNTS).data, there.sessions(COUNTS).data, rtol=1e-8)
    np.testing.assert_allclose(near.user_factors, there.user_factors, rtol=1e-6)
    np.testing.assert_allclose(near.item_factors, there.item_factors, rtol=1e-6)


@pytest.mark.parametrize("name", ELEMENTS)
def test_the_nearer_to_a_limit_the_nearer_the_sessions(name: str) -> None:
    for limit, sign in (("raw", -1.0), ("binary", 1.0)):
        there = quick(limit).fit(COUNTS).sessions(COUNTS).data
        gaps = [
            np.abs(
                quick(AtGivenC.of(name, sign * c), learn_element=False).fit(COUNTS).sessions(COUNTS).data - there
            ).max()
            for c in (2.0, 20.0, 200.0)
        ]
        assert gaps[0] > gaps[1] >= gaps[2] or gaps[1] == 0.0


@pytest.mark.parametrize("name", ELEMENTS)
def test_an_element_at_the_end_of_its_range_is_the_limit_itself(name: str) -> None:
    element = dcpf.elements.get(name)
    for p, limit in ((0.0, "raw"), (element.p_max, "binary")):
        at_end = replace(element, p=p)
        assert at_end.limit == limit
        np.testing.assert_array_equal(quick(at_end).fit(COUNTS).bounds_, quick(limit).fit(COUNTS).bounds_)


small_counts = arrays.arrays(
    np.int64,
    st.tuples(st.integers(1, 7), st.integers(1, 6)),
    elements=st.one_of(st.just(0), st.integers(0, 4), st.integers(0, 3000), st.integers(0, 2**31 - 1)),
).filter(lambda a: a.any())


@pytest.mark.filterwarnings("ignore:n_components")
@pytest.mark.parametrize("name", dcpf.elements.names())
@settings(max_examples=25, deadline=None)
@given(counts=small_counts, seed=st.integers(0, 99))
def test_the_bound_never_falls_whatever_the_counts(name: str, counts: np.ndarray, seed: int) -> None:
    bounds = quick(name, n_components=2, max_iter=40, random_state=seed).fit(counts).bounds_
    # y theta and log Z are as large as log y!, and cancel but for their rounding
    rounding = 4 * np.finfo(float).eps * (counts * np.log1p(counts)).sum()
    assert (np.diff(bounds) >= -1e-9 * np.maximum(1.0, np.abs(bounds[:-1])) - rounding).all()


@pytest.mark.parametrize("name", ELEMENTS)
def test_when_every_count_is_one_the_element_goes_to_its_raw_limit(name: str) -> None:
    ones = (COUNTS > 0).astype(int)
    model = quick(name).fit(ones)
    assert model.element_.p == 0.0
    assert model.element_.limit == "raw"
    np.testing.assert_allclose(model.bounds_[-1], quick("raw").fit(ones).bounds_[-1], rtol=0.05)


@pytest.mark.parametrize("p", [0.01, 0.5])
def test_a_tiny_shape_and_large_counts_stay_finite_and_the_bound_rises(p: float) -> None:
    counts = np.random.default_rng(0).integers(257, 300, (20, 20))
    for a in (1e-4, 1e-3):
        element = dcpf.elements.ShiftedNegativeBinomial(p=p, a=a)
        for learn in (False, True):
            bounds = quick(element, learn_element=learn, n_components=2).fit(counts).bounds_
            assert (np.diff(bounds) >= -1e-8 * np.abs(bounds[:-1])).all()


DEGENERATE = {
    "one user": np.array([[3, 0, 1, 7]]),
    "one item": np.array([[3], [0], [1], [7]]),
    "one count": np.array([[5]]),
    "one huge count": np.array([[0, 2**31 - 1], [1, 0]]),
    "empty rows and columns": np.array([[0, 0, 0], [0, 4, 0], [0, 0, 0]]),
    "uniform": np.full((6, 5), 3),
    "a single repeat among ones": np.array([[1, 1, 0], [1, 2, 1], [0, 1, 1]]),
}


@pytest.mark.filterwarnings("ignore:n_components")
@pytest.mark.parametrize("name", dcpf.elements.names())
@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_degenerate_data_are_answers(name: str, case: str, dtype: str) -> None:
    counts = DEGENERATE[case]
    model = quick(name, n_components=7, max_iter=200, dtype=dtype).fit(counts)
    assert np.isfinite(model.bounds_).all()
    assert np.isfinite(model.user_factors).all()
    assert np.isfinite(model.item_factors).all()
    sessions = model.sessions(counts).data
    stored = counts[counts > 0]
    assert (sessions >= 1 - 1e-9).all()
    assert (sessions <= stored * (1 + 1e-9)).all()
    assert np.isfinite(model.transform(counts)).all()


@pytest.mark.parametrize(
    "truth",
    [
        dcpf.elements.Logarithmic(0.8),
        dcpf.elements.ZeroTruncatedPoisson(2.0),
        dcpf.elements.Geometric(0.6),
        dcpf.elements.ShiftedNegativeBinomial(0.8, 0.3),
    ],
    ids=lambda e: e.name,
)
def test_learned_parameters_approach_the_truth_as_data_grows(truth: Element) -> None:
    def error(users: int, items: int, seed: int) -> float:
        rng = np.random.default_rng(seed)
        W, H = rng.gamma(0.5, 2.0, (users, 3)), rng.gamma(0.5, 0.4, (items, 3))
        counts = truth.sample(rng.poisson(W @ H.T), rng)
        learned = (
            dcpf.DCPF(3, truth.name, max_iter=2000, tol=1e-8, random_state=seed, n_neighbors=0).fit(counts).element_
        )
        return max(abs(math.log(learned.parameters[k] / v)) for k, v in truth.parameters.items())

    small = np.median([error(20, 15, seed) for seed in range(5)])
    large = np.median([error(300, 200, seed) for seed in range(3)])
    assert large < 0.05
    assert large < small
