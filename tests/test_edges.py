"""Numbers at the edge of what a float holds, for every element.

q(n) itself is held to exact values at log rates from -690 to 690 and counts up to 2^31 - 1 in
elements/test_sessions_accuracy.py; fits of one user, one item or one huge count are in test_limits.py.
"""

import numpy as np
import pytest
from scipy import sparse

import dcpf
from dcpf.inference import vbem
from dcpf.inference.data import Rows
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.posterior import sessions_at
from dcpf.inference.updates import GammaMoments, update_factors
from dcpf.kernels.threads import Threads
from dcpf.simulation import listening_data

ELEMENTS = dcpf.elements.names()
COUNTS = listening_data(np.random.default_rng(0), n_users=120, n_songs=60).counts
LARGEST = 2**31 - 1

ELEMENT = pytest.mark.parametrize("element", ELEMENTS)


def fitted(element: str, **parameters: object) -> dcpf.DCPF:
    settings = {"n_components": 5, "max_iter": 20, "tol": 0.0, "random_state": 0} | parameters
    return dcpf.DCPF(element=element, **settings).fit(COUNTS)  # type: ignore[arg-type]


def assert_sound(model: dcpf.DCPF, dtype: str) -> None:
    for array in (model.bounds_, model.user_factors, model.item_factors):
        assert np.isfinite(array).all()
    rounding = 1e-9 if dtype == "float64" else 1e-5
    assert (np.diff(model.bounds_) >= -rounding * np.abs(model.bounds_[1:])).all()
    sessions = model.sessions().data
    assert (sessions >= 1.0 - 1e-6).all()
    assert (sessions <= COUNTS.data * (1.0 + 1e-6)).all()
    assert np.isfinite(model.transform(COUNTS[:5])).all()


@ELEMENT
def test_sessions_rise_with_the_rate_from_one_to_the_count_at_any_rate_of_a_float(element: str) -> None:
    log_rates = np.linspace(-690.0, 690.0, 47)
    counts = np.array([1, 2, 3, 64, 65, 1000, 352_698, LARGEST])
    matrix = sparse.csr_array(np.tile(counts, (len(log_rates), 1)))
    certain = 1e12  # a shape so large that exp(E[log w]) is E[w]
    W = GammaPosterior(np.full((len(log_rates), 1), certain), certain / np.exp(log_rates / 2.0), np.zeros(1))
    found = []
    for half in (log_rates / 2.0, -log_rates / 2.0):  # rates up to e^690, and down to e^-690
        rate = float(np.exp(-half[-1]))
        H = GammaPosterior(np.full((len(counts), 1), certain), np.full(len(counts), certain * rate), np.zeros(1))
        with Threads(1) as threads:
            users, items = (update_factors(q, 0.3, threads) for q in (W, H))
            rates = np.maximum((users.geometric @ items.geometric.T).ravel(), np.finfo(np.float64).tiny)
            mean = sessions_at(Rows.from_matrix(matrix), rates, dcpf.elements.get(element), threads)
        n = mean.reshape(len(log_rates), len(counts))
        assert (n >= 1.0 - 1e-9).all()
        assert (n <= counts * (1.0 + 1e-9)).all()
        assert (np.diff(n, axis=0) >= -1e-8 * n[1:]).all()
        found.append(n)
    if dcpf.elements.get(element).limit is None:
        np.testing.assert_allclose(found[0][-1], counts, rtol=1e-6)
        np.testing.assert_allclose(found[1][0][counts <= 64], 1.0, rtol=1e-6)


@ELEMENT
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape_prior", [1e-6, 1e-3, 50.0])
def test_priors_from_nearly_nothing_to_nearly_certain(element: str, dtype: str, shape_prior: float) -> None:
    assert_sound(fitted(element, dtype=dtype, shape_prior=shape_prior), dtype)


@pytest.mark.filterwarnings("ignore:n_components")
@ELEMENT
@pytest.mark.parametrize("K", [1, 2, 17, 1000])
def test_any_number_of_components_in_either_precision(element: str, K: int) -> None:
    """float32 follows float64: the bound to 2e-5 and the expected counts of sessions to 1e-2 after 10 iterations."""
    single, double = (fitted(element, n_components=K, dtype=d, max_iter=10) for d in ("float32", "float64"))
    assert_sound(single, "float32")
    assert_sound(double, "float64")
    np.testing.assert_allclose(single.bounds_, double.bounds_, rtol=2e-5)
    np.testing.assert_allclose(single.sessions().data, double.sessions().data, rtol=1e-2)


@ELEMENT
@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_factor_that_is_not_finite_ends_the_fit_with_the_iteration_named_and_the_last_good_state(
    element: str, accelerate: bool, bad: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = vbem.update_factors
    reached = {"iterations": 0}

    def damaged(*arguments: object) -> GammaMoments:
        found = real(*arguments)  # type: ignore[arg-type]
        if reached["iterations"] >= 3:
            found.geometric[7, 0] = bad
        return found

    monkeypatch.setattr(vbem, "update_factors", damaged)
    model = dcpf.DCPF(
        3, element, max_iter=20, tol=0.0, random_state=0, accelerate=accelerate,
        callback=lambda iteration: reached.update(iterations=iteration.number),
    )  # fmt: skip
    with pytest.raises(FloatingPointError, match=r"iteration 4: the bound is .*as it was after iteration 3"):
        model.fit(COUNTS)
    monkeypatch.undo()
    undisturbed = fitted(element, n_components=3, max_iter=3, accelerate=accelerate)
    np.testing.assert_array_equal(model.bounds_, undisturbed.bounds_)
    np.testing.assert_array_equal(model.user_factors, undisturbed.user_factors)
    assert np.isfinite(model.recommend(0).ranked.scores).all()
