"""Excitation equals its formulas in numpy, whatever the order, the lists, or how a user's items are found."""

import numpy as np
import pytest
from scipy import sparse
from tests.kernels.compiled import compiled

from dcpf.elements import Binary, Logarithmic, Raw
from dcpf.inference.data import codes_of, distinct
from dcpf.inference.posterior_tables import PosteriorTables
from dcpf.kernels import excitation
from dcpf.kernels.coded import PLACES, coding_of, keep_12_bits
from dcpf.kernels.compile import step
from dcpf.kernels.excitation import (
    Exciting,
    Lists,
    Targets,
    count_steps,
    excited_at,
    fill_targets,
    fill_x,
    learn_strengths,
)
from dcpf.kernels.threads import Threads
from dcpf.kernels.tiles import WIDTH
from dcpf.kernels.touched import no_bits

excite = compiled(excitation.excite)
hits_of = compiled(excitation.hits_of)

USERS, ITEMS, MOST = 30, 14, 5


def example(seed=0):
    """Counts, x, lists of different lengths, and the strengths as a dense matrix, sources by rows."""
    rng = np.random.default_rng(seed)
    counts = sparse.csr_array(rng.poisson(0.8, (USERS, ITEMS)))
    x = rng.gamma(2.0, 0.5, counts.nnz).astype(np.float32)
    S = np.zeros((ITEMS, ITEMS))
    for i in range(ITEMS):
        mine = np.sort(rng.choice(np.delete(np.arange(ITEMS), i), rng.integers(0, MOST + 1), replace=False))
        S[mine, i] = rng.gamma(1.0, 0.2, len(mine)).astype(np.float32)
    by_item = sparse.csr_array(S.T.astype(np.float32))
    given = Exciting(counts.indptr.astype(np.int64), counts.indices, x)
    dense = sparse.csr_array((x.astype(np.float64), counts.indices, counts.indptr), shape=counts.shape).toarray()
    return counts, given, Lists(by_item.indptr, by_item.indices, by_item.data), dense, S


def test_x_is_the_logarithm_of_counts_by_the_root_of_their_number():
    indptr, counts = np.array([0, 3, 3, 4]), np.array([1, 2**31 - 1, 40, 7])
    x = np.empty(4, np.float32)
    fill_x(indptr, counts, 0.7, x)
    np.testing.assert_allclose(x, np.log1p(counts) / (0.7 * np.sqrt([3, 3, 3, 1])), rtol=3e-7)


@pytest.mark.parametrize("power", [1, 2])
def test_rates_at_pairs(power):
    counts, given, lists, x, S = example()
    pairs = sparse.csr_array(np.random.default_rng(1).poisson(0.5, counts.shape))
    out = np.empty(pairs.nnz)
    excited_at(0, USERS, (pairs.indptr, pairs.indices), given, lists, ITEMS, power, out)
    rows, columns = pairs.nonzero()
    np.testing.assert_allclose(out, (x**power @ S)[rows, columns], rtol=1e-6)


WIDTHS = {"whole": 1, "16 bits": 1, "lines": PLACES}


@pytest.mark.parametrize("how", WIDTHS)
def test_what_a_row_excites(how):
    _, given, lists, x, S = example()
    if how != "whole":
        keep_12_bits(lists.strength)
    order, out = np.random.default_rng(2).permutation(ITEMS), np.zeros(WIDTH, np.float32)
    targets = by_sources(lists, order, how)
    touched = np.ones(targets.touched.shape[1], np.int64)
    excite(given, 6, targets, out, touched)
    assert touched.tolist() == [1] + [0] * (len(touched) - 1)  # all places are in the first tile
    np.testing.assert_allclose(out[:ITEMS], (x @ S)[6, order], rtol=1e-6 if how == "whole" else 2.0**-12)
    assert not out[ITEMS:].any()
    one_by_one = np.empty(ITEMS)
    pairs = np.array([0, 0, 0, 0, 0, 0, 0, ITEMS, ITEMS] + [ITEMS] * (USERS - 8)), np.arange(ITEMS, dtype=np.int32)
    excited_at(0, USERS, pairs, given, lists, ITEMS, 1, one_by_one)
    np.testing.assert_array_equal(out[:ITEMS], one_by_one[order])  # to the bit
    by_item = sparse.csr_array((lists.strength, lists.sources, lists.indptr), shape=(ITEMS, ITEMS)).toarray()
    by_numpy = np.zeros(ITEMS, np.float32)
    for j in range(ITEMS):
        by_numpy += x.astype(np.float32)[6, j] * by_item[:, j]
    np.testing.assert_array_equal(one_by_one, by_numpy)  # products and sums are float32, and each is rounded


def by_sources(lists, order, how):
    items, width, coding = len(lists.indptr) - 1, WIDTHS[how], coding_of(lists.strength)
    counts = np.zeros(items, np.int64)
    count_steps(lists, order, width, counts)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    codes = np.zeros(width * indptr[-1], np.uint32 if how == "whole" else np.uint16)
    assert (coding.spare == 0) == (how == "whole")
    targets = Targets(indptr, np.empty(indptr[-1], np.uint16), codes, coding, no_bits(items, len(order)))
    fill_targets(lists, order, width, targets)
    return targets


def as_matrix(targets, how, places):
    """What targets say, with sources as rows and places as columns."""
    indptr, steps, codes, coding, _ = targets
    sums = np.cumsum(np.append(0, steps.astype(np.int64)))
    sources = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    reached = (sums[1:] - sums[indptr[:-1]][sources])[:, None] * WIDTHS[how] + np.arange(WIDTHS[how])
    strength = (codes.astype(np.uint32) << coding.spare).view(np.float32).reshape(reached.shape) * coding.unit
    assert len(np.unique(np.column_stack([sources, reached[:, 0]]), axis=0)) == len(steps)  # none twice
    here = strength > 0.0
    rows = np.broadcast_to(sources[:, None], here.shape)[here]
    return sparse.csr_array((strength[here], (rows, reached[here])), shape=(len(indptr) - 1, places))


ORDERS = [np.arange(ITEMS), np.array([7, 2, 11]), np.empty(0, np.int64)]


@pytest.mark.parametrize("how", WIDTHS)
@pytest.mark.parametrize("order", ORDERS)
def test_lists_by_sources_are_the_transpose(order, how):
    _, _, lists, _, _ = example()
    if how != "whole":
        keep_12_bits(lists.strength)
    targets = by_sources(lists, order, how)
    by_item = sparse.csr_array((lists.strength, lists.sources, lists.indptr), shape=(ITEMS, ITEMS))
    np.testing.assert_array_equal(as_matrix(targets, how, len(order)).toarray(), by_item[order].toarray().T)
    assert how == "lines" or len(targets.steps) == by_item[order].nnz  # no step is wasted
    np.testing.assert_array_equal(targets.touched.any(axis=1), np.diff(targets.indptr) > 0)


@pytest.mark.parametrize("how", WIDTHS)
def test_targets_that_are_far_away_are_reached_by_several_steps(how):
    places = np.array([0, 65_535, 131_071, 196_607, 262_143, 524_280, 524_287, 1_200_000]) + 5
    excited = np.concatenate([places, places[2:]])  # by source 3, and from the third on by source 8
    items, strength = places[-1] + 1, np.arange(1.0, len(excited) + 1.0, dtype=np.float32)
    sources = [3] * len(places) + [8] * (len(places) - 2)
    by_item = sparse.csr_array((strength, (excited, sources)), shape=(items, items))
    lists = Lists(by_item.indptr, by_item.indices, by_item.data)
    if how == "whole":
        lists.strength[0] += np.float32(1e-6)
    targets = by_sources(lists, np.arange(items), how)
    assert len(targets.steps) > len(excited)
    assert (as_matrix(targets, how, items) != by_item.T.tocsr()).nnz == 0
    out, touched = np.zeros(items + WIDTH, np.float32), np.zeros(targets.touched.shape[1], np.int64)
    excite(Exciting(np.array([0, 1]), np.array([8]), np.ones(1, np.float32)), 0, targets, out, touched)
    np.testing.assert_array_equal(out[:items], by_item[:, [8]].toarray().ravel())


@pytest.mark.parametrize("far", [0, 16])
def test_hits_are_found_by_walking_and_by_searching(far, monkeypatch):
    counts, given, lists, x, _ = example()
    monkeypatch.setattr(excitation, "_FAR", far)
    find = compiled(step(excitation.hits_of.__wrapped__))  # anew, since the constant is compiled in
    users = np.flatnonzero(counts.toarray()[:, 4]).astype(np.int32)
    where = np.full(ITEMS, np.int32(-1))
    sources = lists.sources[slice(*lists.indptr[4:6])]
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
    np.testing.assert_allclose(learned, S[lists.sources, targets], rtol=2e-6)


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
        S[lists.sources, targets] = s
        lam = W @ H.T + x @ S
        laws = [
            [np.log(element.marginal_pmf(lam[u, i], y[u, i])[y[u, i]]) for i in range(ITEMS)] for u in range(USERS)
        ]
        prior = weight[lists.sources] * (means[lists.sources, targets] * np.log(s) - s)
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
    strength, spans = np.empty(lists.strength.shape, np.float32), np.empty((ITEMS, 2))
    _, c = element.natural
    with Threads(n_jobs) as threads:
        table = PosteriorTables(values, threads, learn_shape=False).covering(element, (-12.0, 12.0))
        prior = (lists, weight, np.asarray(sums, dtype=np.float64))
        out = (strength, spans)
        threads.run(learn_strengths, columns[0], columns, given, factors, table, c, prior, (rounds, 0.0), out)
    return strength


def expected_sessions(element, y, lam):
    if element.limit is not None:
        return y if element.limit == "raw" else np.minimum(y, 1)
    from scipy.special import digamma

    r = lam / -np.log1p(-element.p)
    return r * (digamma(r + y) - digamma(r))
