"""The fit, its rates and its lists are those of the reference in numpy."""

import numpy as np
import pytest
from docs.examples import reference

import dcpf
from dcpf.model.users import everyone
from dcpf.ranking.rates import scores
from dcpf.simulation import listening_data

pytestmark = pytest.mark.quick

COUNTS = listening_data(np.random.default_rng(0), n_users=60, n_songs=40).counts
Y = COUNTS.toarray().astype(np.float64)
ITERATIONS, K = 8, 4


def fitted(neighbors: int) -> dcpf.DCPF:
    rng = np.random.default_rng(1)
    start = rng.gamma(2.0, 0.1, (len(Y), K)), rng.gamma(2.0, 0.1, (Y.shape[1], K))
    settings = {"max_iter": ITERATIONS, "tol": 0.0, "accelerate": False, "dtype": "float64", "n_jobs": 1}
    return dcpf.DCPF(K, "logarithmic", n_neighbors=neighbors, init=start, **settings).fit(COUNTS)


def test_the_fit_is_that_of_the_reference() -> None:
    model = fitted(0)
    q_W, q_H, p, bounds = reference.fit(Y, *model.init, iterations=ITERATIONS)
    np.testing.assert_allclose(model.bounds_, bounds, rtol=1e-9)
    np.testing.assert_allclose(model.user_factors, q_W.mean, rtol=1e-9)
    np.testing.assert_allclose(model.item_factors, q_H.mean, rtol=1e-9)
    assert model.element_.p == pytest.approx(p, rel=1e-9)
    assert np.all(np.diff(bounds) > 0.0)


def test_the_sessions_are_those_of_the_reference() -> None:
    model = fitted(0)
    q_W, q_H, p, _ = reference.fit(Y, *model.init, iterations=ITERATIONS)
    behind = reference.Sessions.behind(Y, p, q_W.geometric_mean, q_H.geometric_mean)
    np.testing.assert_allclose(model.sessions().toarray(), behind.mean, rtol=1e-8)


def test_rates_and_lists_with_excitation_are_those_of_the_reference() -> None:
    model = fitted(20)
    q_W, q_H, _, _ = reference.fit(Y, *model.init, iterations=ITERATIONS)
    S, scale = model.excitation_.strength.toarray().astype(np.float64), model.excitation_.scale
    wanted = reference.rates(Y, q_W.mean, q_H.mean, S, scale)
    with dcpf.kernels.threads.Threads(1) as threads:
        asked = model.fitted_.rates(model.fitted_.meet(everyone(model.fitted_).batch, threads))
    np.testing.assert_allclose(scores(asked.users, asked.items), wanted, rtol=1e-6)
    lists, _ = model.recommend(n=5)
    for found, items in zip(lists, reference.recommend(Y, wanted, 5), strict=True):
        np.testing.assert_array_equal(found, items)
