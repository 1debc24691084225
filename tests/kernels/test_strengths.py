"""Learned strengths are those of the update in numpy, however a user's items are found."""

import numpy as np
import pytest
from scipy import sparse
from tests.kernels.compiled import compiled

from dcpf.elements import Binary, Logarithmic, Raw
from dcpf.inference.data import codes_of, distinct
from dcpf.inference.posterior_tables import PosteriorTables
from dcpf.kernels import Csr, strengths
from dcpf.kernels.compile import step
from dcpf.kernels.strengths import learn_strengths
from dcpf.kernels.threads import Threads

USERS, ITEMS, MOST = 30, 14, 5


def example(seed=0):
    """Counts, x, sources of each item with their means, x as an array, and the means as an array by source."""
    rng = np.random.default_rng(seed)
    counts = sparse.csr_array(rng.poisson(0.8, (USERS, ITEMS)))
    x = rng.gamma(2.0, 0.5, counts.nnz).astype(np.float32)
    S = np.zeros((ITEMS, ITEMS))
    for i in range(ITEMS):
        mine = np.sort(rng.choice(np.delete(np.arange(ITEMS), i), rng.integers(0, MOST + 1), replace=False))
        S[mine, i] = rng.gamma(1.0, 0.2, len(mine)).astype(np.float32)
    by_item = sparse.csr_array(S.T.astype(np.float32))
    given = Csr(counts.indptr.astype(np.int64), counts.indices, x)
    dense = sparse.csr_array((x.astype(np.float64), counts.indices, counts.indptr), shape=counts.shape).toarray()
    return counts, given, Csr(by_item.indptr, by_item.indices, by_item.data), dense, S


@pytest.mark.parametrize("far", [0, 16])
def test_hits_are_found_by_walking_and_by_searching(far, monkeypatch):
    counts, given, lists, x, _ = example()
    monkeypatch.setattr(strengths, "_FAR", far)
    find = compiled(step(strengths.hits_of.__wrapped__))  # anew, since the constant is compiled in
    users = np.flatnonzero(counts.toarray()[:, 4]).astype(np.int32)
    where = np.full(ITEMS, np.int32(-1))
    sources = lists.indices[slice(*lists.indptr[4:6])]
    hits = find(sources, users, given, where)
    assert (where == -1).all()
    dense, begin = np.zeros((len(users), len(sources))), 0
    for r, end in enumerate(hits.ends):
        dense[r, hits.places[begin:end]] = hits.x[begin:end]
        begin = end
    np.testing.assert_array_equal(dense, x[users][:, sources].astype(np.float32))


@pytest.mark.parametrize("element", [Raw(), Binary(), Logarithmic(0.6)], ids=["raw", "binary", "logarithmic"])
def test_learned_strengths_are_those_of_the_update(element):
    """Four rounds of the update with its momentum, in numpy over all users and items at once."""
    rng = np.random.default_rng(5)
    counts, given, lists, x, means = example(5)
    W, H = rng.gamma(1.0, 0.5, (USERS, 3)), rng.gamma(1.0, 0.5, (ITEMS, 3))
    weight, sums = rng.gamma(4.0, 1.0, ITEMS), x.sum(axis=0)
    learned = learn(counts, given, lists, (W, H), element, weight, sums, rounds=4)
    S, point, y = means, means, counts.toarray()
    for number in range(4):
        lam = W @ H.T + x @ point
        n = np.where(y > 0, expected_sessions(element, y, lam), 0.0)
        new = (weight[:, None] * means + point * (x.T @ (n / lam))) / (weight + sums)[:, None]
        point, S = np.maximum(new + number / (number + 3.0) * (new - S), 0.1 * new), new
    targets = np.repeat(np.arange(ITEMS), np.diff(lists.indptr))
    np.testing.assert_allclose(learned, S[lists.indices, targets], rtol=2e-6)


def test_each_round_raises_the_posterior():
    """Expectation-maximization: log p(y | s) + log p(s), by the law of the counts, never falls."""
    rng = np.random.default_rng(2)
    element = Logarithmic(0.5)
    counts, given, lists, x, means = example(2)
    W, H = rng.gamma(1.0, 0.5, (USERS, 2)), rng.gamma(1.0, 0.5, (ITEMS, 2))
    y, weight, values = counts.toarray(), rng.gamma(3.0, 1.0, ITEMS), []
    targets = np.repeat(np.arange(ITEMS), np.diff(lists.indptr))
    for rounds in range(1, 9):
        s = learn(counts, given, lists, (W, H), element, weight, x.sum(axis=0), rounds).astype(np.float64)
        S = np.zeros((ITEMS, ITEMS))
        S[lists.indices, targets] = s
        lam = W @ H.T + x @ S
        laws = [
            [np.log(element.marginal_pmf(lam[u, i], y[u, i])[y[u, i]]) for i in range(ITEMS)] for u in range(USERS)
        ]
        prior = weight[lists.indices] * (means[lists.indices, targets] * np.log(s) - s)
        values.append(np.sum(laws) + prior.sum())
    assert (np.diff(values) > -1e-6 * abs(values[0])).all()
    assert values[-1] > values[0]


def test_any_number_of_threads_gives_the_same_bits():
    rng = np.random.default_rng(9)
    counts, given, lists, x, _ = example(9)
    factors = rng.gamma(1.0, 0.5, (USERS, 2)), rng.gamma(1.0, 0.5, (ITEMS, 2))
    found = [
        learn(counts, given, lists, factors, Logarithmic(0.5), np.full(ITEMS, 2.0), x.sum(axis=0), 4, jobs)
        for jobs in (1, 2, 4)
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def learn(counts, given, lists, factors, element, weight, sums, rounds, n_jobs=1):
    by_item = counts.tocsc()
    values = distinct(counts.data)
    columns = (by_item.indptr.astype(np.int64), by_item.indices.astype(np.int32), codes_of(values, by_item.data))
    W, H = factors
    others = sparse.csr_array(counts > 0).multiply((W @ H.T).astype(np.float32)).tocsc().data
    strength, spans = np.empty(lists.data.shape, np.float32), np.empty((ITEMS, 2))
    _, c = element.natural
    with Threads(n_jobs) as threads:
        table = PosteriorTables(values, threads, learn_shape=False).covering(element, (-12.0, 12.0))
        prior = (lists, weight, np.asarray(sums, dtype=np.float64))
        out = (strength, spans)
        threads.run(learn_strengths, columns[0], columns, given, others, table, c, prior, (rounds, 0.0), out)
    return strength


def expected_sessions(element, y, lam):
    if element.limit is not None:
        return y if element.limit == "raw" else np.minimum(y, 1)
    from scipy.special import digamma

    r = lam / -np.log1p(-element.p)
    return r * (digamma(r + y) - digamma(r))
