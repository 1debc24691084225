"""What is learned is true of what the counts were drawn from.

That learned parameters of an element approach the true ones is in test_limits.py. Here: factors, the symmetry of
what the posterior says of rates, and the element itself.
"""

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

import dcpf
from dcpf.elements import Element, Geometric, Logarithmic, ShiftedNegativeBinomial, ZeroTruncatedPoisson
from dcpf.inference.posterior import log_likelihood_of_counts
from dcpf.kernels.threads import Threads
from dcpf.simulation import draw_counts

# Sessions of one play or of very many; of about five; of five with a long tail; of about eleven.
TRUTHS = [Logarithmic(0.95), ZeroTruncatedPoisson(5.0), Geometric(0.8), ShiftedNegativeBinomial(0.5, 10.0)]
TRUTH = pytest.mark.parametrize("truth", TRUTHS, ids=lambda element: element.name)

Drawn = tuple[np.ndarray, np.ndarray, sparse.csr_array]


@cache
def drawn(truth: Element, seed: int = 1) -> Drawn:
    """W, H and counts of 200 users and 100 items with 4 components."""
    rng = np.random.default_rng(seed)
    W, H = rng.gamma(0.3, 1.5, (200, 4)), rng.gamma(0.3, 1.5, (100, 4))
    return W, H, draw_counts(W, H, truth, rng)[0]


def cosines(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    A, B = (X.astype(np.float64) / np.linalg.norm(X.astype(np.float64), axis=0) for X in (A, B))
    return A.T @ B


@TRUTH
def test_posterior_means_are_the_true_factors_up_to_their_order_and_scale(truth: Element) -> None:
    W, H, counts = drawn(truth)
    settings = {"max_iter": 400, "tol": 1e-6, "n_jobs": 1}
    fits = [dcpf.DCPF(4, truth.name, random_state=seed, **settings).fit(counts) for seed in range(5)]
    model = max(fits, key=lambda fit: float(fit.bounds_[-1]))
    alike = cosines(H, model.item_factors)
    order = linear_sum_assignment(-alike)
    assert alike[order].min() > 0.97
    assert cosines(W, model.user_factors)[order].min() > 0.97
    rates = model.user_factors.astype(np.float64) @ model.item_factors.T
    assert np.corrcoef(rates.ravel(), (W @ H.T).ravel())[0, 1] > 0.95
    assert rates.sum() == pytest.approx((W @ H.T).sum(), rel=0.05)


@TRUTH
def test_new_counts_are_most_probable_under_the_element_that_made_them(truth: Element) -> None:
    """Of counts drawn anew at the same rates. The element with two parameters can be like any other, not better.

    All elements start from the true factors: from random starts they climb different maxima, and between those new
    counts differ by more than between elements that can be alike.
    """
    W, H, counts = drawn(truth)
    new, _ = draw_counts(W, H, truth, np.random.default_rng(2))
    settings = {"init": (W, H), "max_iter": 400, "tol": 1e-6, "n_jobs": 1}
    fits = {element.name: dcpf.DCPF(4, element.name, **settings).fit(counts) for element in TRUTHS}
    found = {name: log_likelihood(model, new) for name, model in fits.items()}
    own, of_two_parameters = found.pop(truth.name), found.pop("shifted-negative-binomial", -np.inf)
    assert own > max(found.values()) + 0.02
    assert own > of_two_parameters - 0.001


def log_likelihood(model: dcpf.DCPF, counts: sparse.csr_array) -> float:
    """Of all cells of the matrix, in nats per entry."""
    rates = model.user_factors.astype(np.float64) @ model.item_factors.T
    at_entries = rates[np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr)), counts.indices]
    with Threads(1) as threads:
        of_counts = log_likelihood_of_counts(counts, at_entries, model.element_, threads).sum()
    return float(of_counts - rates.sum()) / counts.nnz


# Variational simulation-based calibration in its symmetric form: Yao, Vehtari, Simpson and Gelman, "Yes, but did it
# work? Evaluating variational inference" (2018). W and H are drawn from the prior and counts from them; p is the
# probability under the posterior that the rate of a cell is less than the true one. A mean-field posterior is too
# narrow, so p need not be uniform. But if it is not biased, p and 1 - p have the same law.

REPLICATIONS, DRAWS, FLIPS = 150, 300, 2000


def probabilities(truth: Element, factor: float = 1.0) -> np.ndarray:
    """p of each replication, with all rates of the posterior multiplied by a factor."""
    return np.array([np.mean(factor * rates < true) for rates, true in replications(truth)])


@cache
def replications(truth: Element) -> list[tuple[np.ndarray, float]]:
    return [replication(truth, seed) for seed in range(REPLICATIONS)]


def replication(truth: Element, seed: int) -> tuple[np.ndarray, float]:
    """Draws from the posterior of the rate of one cell, and the true one. The element has no prior: it is known."""
    rng = np.random.default_rng(seed)
    W, H = rng.gamma(1.0, 1.0, (40, 2)), rng.gamma(1.0, 1.0, (30, 2))
    counts, _ = draw_counts(W, H, truth, rng)
    settings = {"shape_prior": 1.0, "learn_rates": False, "learn_element": False, "max_iter": 300, "n_jobs": 1}
    model = dcpf.DCPF(2, truth, random_state=seed, **settings).fit(counts)
    u, i = rng.integers(40), rng.integers(30)
    w, h = (
        rng.gamma(q.shape[at].astype(np.float64), 1.0 / (q.row_rate[at] + q.column_rate), (DRAWS, 2))
        for q, at in ((model.user_posterior_, u), (model.item_posterior_, i))
    )
    return (w * h).sum(axis=1), float(W[u] @ H[i])


def asymmetry(p: np.ndarray) -> float:
    """The distance of Kolmogorov and Smirnov between p and 1 - p."""
    at = np.sort(np.concatenate([p, 1.0 - p]))
    return float(np.abs(np.searchsorted(np.sort(p), at) - np.searchsorted(np.sort(1.0 - p), at)).max() / len(p))


def symmetry_p_value(p: np.ndarray) -> float:
    """How often the distance is as large when each p is flipped to 1 - p or not by a coin: exact under symmetry."""
    coins = np.random.default_rng(0).random((FLIPS, len(p))) < 0.5
    flipped = [asymmetry(np.where(coin, p, 1.0 - p)) for coin in coins]
    return (1 + sum(one >= asymmetry(p) for one in flipped)) / (1 + FLIPS)


@TRUTH
def test_the_posterior_of_rates_is_neither_too_high_nor_too_low(truth: Element) -> None:
    """A false alarm comes once in a thousand seeds."""
    assert symmetry_p_value(probabilities(truth)) > 1e-3


@TRUTH
@pytest.mark.parametrize("factor", [1.3, 1 / 1.3])
def test_a_posterior_that_is_biased_would_be_seen(truth: Element, factor: float) -> None:
    assert symmetry_p_value(probabilities(truth, factor)) < 1e-3
