"""Each update against the formula that it is named after, written out densely."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import digamma, gammaln
from tests.kernels.compiled import look_up

import dcpf
from dcpf.counts import count_matrix
from dcpf.inference.blocks import LocalBlocks, random_start
from dcpf.inference.data import Data
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.posterior_tables import PosteriorTables
from dcpf.inference.settings import FitSettings
from dcpf.inference.updates import GammaMoments, bound, column_means, local_step, update_factors, update_rates
from dcpf.inference.vbem import Ascent, converged, iterate
from dcpf.kernels.threads import Threads

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(7)
Y = RNG.poisson(0.7, (9, 6)) * RNG.integers(1, 9, (9, 6))
DATA = Data.from_matrix(count_matrix(Y))
K = 3
PRIOR = (0.3, 0.5)
W0, H0 = RNG.gamma(1.0, 0.5, (9, K)), RNG.gamma(1.0, 0.5, (6, K))
MASK = Y > 0
ELEMENTS = [name for name in dcpf.elements.names() if dcpf.elements.get(name).limit is None]


def sessions(element: dcpf.elements.Element, y: int, lam: float) -> tuple[float, float]:
    """(log Z, E[n]) by enumeration."""
    n = np.arange(1.0, y + 1)
    terms = n * (np.log(lam) - element.c) + element.log_h(y, n) - gammaln(n + 1)
    weights = np.exp(terms - terms.max())
    return terms.max() + np.log(weights.sum()), weights @ n / weights.sum()


@pytest.mark.parametrize("name", ELEMENTS)
def test_local_step_shares_the_sessions_out_among_the_components(name: str) -> None:
    element = dcpf.elements.get(name)
    W, H = GammaMoments.start(W0), GammaMoments.start(H0)
    user_shape, item_shape = np.empty_like(W0), np.empty_like(H0)
    with Threads(2) as threads:
        tables, shapes, nowhere = (
            PosteriorTables(DATA.counts, threads, learn_shape=False),
            (user_shape, item_shape),
            (0.0, 0.0),
        )
        local = local_step(DATA.blocks[0], W, H, element, PRIOR, nowhere, tables, shapes, threads)
    lam = W0 @ H0.T
    log_z, mean = np.zeros_like(lam), np.zeros_like(lam)
    for u, i in np.argwhere(MASK):
        log_z[u, i], mean[u, i] = sessions(element, int(Y[u, i]), lam[u, i])
    np.testing.assert_allclose(user_shape, PRIOR[0] + W0 * ((mean / lam) @ H0), rtol=1e-9)
    np.testing.assert_allclose(item_shape, PRIOR[1] + H0 * ((mean / lam).T @ W0), rtol=1e-9)
    assert local.sessions == pytest.approx(mean.sum(), rel=1e-9)
    assert local.log_evidence == pytest.approx(log_z.sum(), rel=1e-9)
    looked_up = np.log(lam[Y > 1])
    np.testing.assert_allclose(np.add(local.span, element.natural[1]), (looked_up.min(), looked_up.max()), rtol=1e-12)


def test_tables_of_the_shape_are_the_expected_numbers_of_tables() -> None:
    element = dcpf.elements.ShiftedNegativeBinomial(0.6, 0.7)
    with Threads(1) as threads:
        tables = PosteriorTables(DATA.counts, threads, learn_shape=True)
        W, H = GammaMoments.start(W0), GammaMoments.start(H0)
        shapes = (np.empty_like(W0), np.empty_like(H0))
        local = local_step(DATA.blocks[0], W, H, element, PRIOR, (0.0, 0.0), tables, shapes, threads)
    total = 0.0
    for u, i in np.argwhere(MASK):
        y, lam = int(Y[u, i]), (W0 @ H0.T)[u, i]
        n = np.arange(1.0, y + 1)
        terms = n * (np.log(lam) - element.c) + element.log_h(y, n) - gammaln(n + 1)
        q = np.exp(terms - terms.max())
        m = n * element.a * (digamma(y - n + n * element.a) - digamma(n * element.a))
        total += (q / q.sum()) @ m
    assert local.shape == pytest.approx(total, rel=1e-9)


def test_factors_are_the_moments_of_the_gamma_posterior() -> None:
    q = GammaPosterior(RNG.gamma(2.0, 1.0, (9, K)), RNG.gamma(2.0, 1.0, 9), RNG.gamma(2.0, 1.0, K))
    with Threads(2) as threads:
        factors = update_factors(q, 0.3, threads)
    rate = q.row_rate[:, None] + q.column_rate
    np.testing.assert_allclose(q.mean, q.shape / rate)
    np.testing.assert_allclose(factors.geometric[:, :K], np.exp(digamma(q.shape)) / rate, rtol=1e-13)
    np.testing.assert_allclose(factors.row_means, (q.shape / rate).sum(axis=1))
    np.testing.assert_allclose(factors.column_means, (q.shape / rate).sum(axis=0))
    with Threads(2) as threads:
        np.testing.assert_allclose(column_means(q, threads), factors.column_means, rtol=1e-14)
    mean, log_mean, b = q.shape / rate, digamma(q.shape) - np.log(rate), q.row_rate[:, None]
    prior = 0.3 * np.log(b) - gammaln(0.3) + (0.3 - 1) * log_mean - b * mean
    entropy = q.shape - np.log(rate) + gammaln(q.shape) + (1 - q.shape) * digamma(q.shape)
    assert factors.bound == pytest.approx((prior + entropy).sum(), rel=1e-12)


def test_rates_maximise_the_expected_log_prior() -> None:
    means = RNG.gamma(1.0, 1.0, (5, K))
    b = update_rates(means.sum(axis=1), 0.3, K)
    np.testing.assert_allclose(b, K * 0.3 / means.sum(axis=1))

    def log_prior(b: np.ndarray) -> np.ndarray:
        return K * 0.3 * np.log(b) - b * means.sum(axis=1)

    for nearby in (0.99 * b, 1.01 * b):
        assert (log_prior(b) > log_prior(nearby)).all()


@pytest.mark.parametrize("name", dcpf.elements.names())
def test_bound_is_the_expected_log_joint_and_the_entropy_written_out(name: str) -> None:
    """E[log p(y|n)] + E[log p(n, c | w, h)] + H[q(n, c)] collected term by term at the optimum of q(n, c)."""
    element = dcpf.elements.get(name)
    with Threads(1) as threads:
        settings = FitSettings(PRIOR, False, True)
        ascent = Ascent(LocalBlocks(DATA, settings, threads), element, settings, threads)
        state = next(iterate(ascent, ascent.begin((W0, H0), element)))
        W, H = update_factors(state.W, PRIOR[0], threads), update_factors(state.H, PRIOR[1], threads)
    lam = W.geometric @ H.geometric.T
    total = W.bound + H.bound - (state.W.mean @ state.H.mean.T).sum()
    for u, i in np.argwhere(MASK):
        y = int(Y[u, i])
        if element.limit == "raw":
            total += y * np.log(lam[u, i]) - gammaln(y + 1)
        elif element.limit == "binary":
            total += np.log(lam[u, i])
        else:
            n = np.arange(1.0, y + 1)
            log_joint = (
                y * element.theta - n * element.c + element.log_h(y, n) + n * np.log(lam[u, i]) - gammaln(n + 1)
            )
            q = np.exp(log_joint - log_joint.max())
            q /= q.sum()
            some = q > 0
            total += q[some] @ (log_joint[some] - np.log(q[some]))
    assert state.bound == pytest.approx(total, rel=1e-10)
    assert callable(bound)


def test_data_are_the_matrix_in_both_orders() -> None:
    (block,) = DATA.blocks
    by_user, by_item = block.by_user, block.by_item
    counts = DATA.counts[by_user.codes]
    users = np.repeat(np.arange(9), np.diff(by_user.indptr))
    again = np.zeros_like(Y)
    again[users, by_user.indices] = counts
    np.testing.assert_array_equal(again, Y)
    np.testing.assert_array_equal(by_item.indices[by_user.place], users)
    items = np.repeat(np.arange(6), np.diff(by_item.indptr))
    np.testing.assert_array_equal(items[by_user.place], by_user.indices)
    for u in range(9):  # by count within a row
        assert (np.diff(counts[by_user.indptr[u] : by_user.indptr[u + 1]]) >= 0).all()


def test_random_start_expects_as_many_sessions_as_entries() -> None:
    counts = sparse.random_array((300, 200), density=0.1, rng=0)
    counts.data[:] = 1
    data = Data.from_matrix(count_matrix(counts))
    drawn, H = random_start(data, 10, np.random.default_rng(0), np.dtype("float32"))
    W = drawn.of(slice(0, data.shape[0]))
    assert W.dtype == H.dtype == np.float32
    assert (W > 0).all()
    assert (W.sum(axis=0) @ H.sum(axis=0)) == pytest.approx(counts.nnz, rel=0.1)


def test_convergence_is_relative_and_never_reached_for_tol_zero() -> None:
    assert converged(-1000.0, -999.9, 1e-3)
    assert not converged(-1000.0, -998.0, 1e-3)
    assert not converged(-1000.0, -1002.0, 1e-3)
    assert not converged(-1000.0, -1000.0, 0.0)


def test_a_table_says_the_same_of_a_count_whatever_else_it_holds() -> None:
    def answer(counts: list[int], span: tuple[float, float]) -> float:
        with Threads(1) as threads:
            tables = PosteriorTables(np.array(counts), threads, learn_shape=False)
            table = tables.covering(element, span)
        out = np.empty(1)
        look_up(table, np.array([counts.index(777)], dtype=np.int32), np.array([0.3]), out)
        return float(out[0])

    for name in ELEMENTS:
        element = dcpf.elements.get(name)
        assert answer([777], (0.0, 1.0)) == answer([1, 5, 776, 777, 10**6], (-9.0, 7.0))


def test_a_table_that_is_extended_is_the_one_made_at_once() -> None:
    counts = np.array([2, 3, 50, 900])
    for name in ELEMENTS:
        element = dcpf.elements.get(name)
        with Threads(2) as threads:
            tables = PosteriorTables(counts, threads, learn_shape=False)
            tables.covering(element, (0.0, 1.0))
            extended = tables.covering(element, (-7.0, 6.0))
            at_once = PosteriorTables(counts, threads, learn_shape=False).covering(element, (-7.0, 6.0))
        np.testing.assert_array_equal(extended.polynomials, at_once.polynomials)


def test_any_users_can_be_drawn_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from dcpf.inference import blocks

    monkeypatch.setattr(blocks, "_DRAWN", 4)
    drawn, _ = random_start(DATA, 3, np.random.default_rng(0), np.dtype("float64"))
    whole = drawn.of(slice(0, 9))
    assert len(np.unique(whole)) == whole.size
    for start, stop in ((0, 4), (3, 5), (4, 8), (2, 9), (8, 9)):
        np.testing.assert_array_equal(drawn.of(slice(start, stop)), whole[start:stop])
