"""The held-out likelihood against sums over every pair."""

import numpy as np
import pytest
from scipy import stats

import dcpf
from dcpf import DCPF, Counts
from dcpf.simulation import listening_data

ELEMENTS = ["raw", "logarithmic", "geometric", "zero-truncated-poisson", "shifted-nb"]


@pytest.fixture(scope="module")
def split():
    truth = listening_data(np.random.default_rng(5), n_users=40, n_songs=25, sessions_per_user=8)
    return Counts.from_matrix(truth.counts, truth.users, truth.songs).split(0.25, seed=1)


def fitted(element, train):
    return DCPF(3, element, random_state=0, max_iter=30, tol=0, dtype="float64", n_neighbors=0).fit(train)


def held_out(train, test):
    """Pairs of users with a test count that were not trained on."""
    return (train.matrix.toarray() == 0) & (test.matrix.toarray() > 0).any(axis=1)[:, None]


def by_every_pair(model, rates, counts, open_pairs):
    """log p(y) from the marginal p.m.f. of each pair."""
    largest = int(counts.max())
    total = 0.0
    for rate, y in zip(rates[open_pairs], counts[open_pairs], strict=True):
        total += np.log(model.element_.marginal_pmf(rate, largest)[y])
    return total


@pytest.mark.parametrize("element", ELEMENTS)
def test_is_the_sum_over_every_pair_that_was_not_trained_on(split, element):
    train, test = split
    model = fitted(element, train)
    found = dcpf.log_likelihood(model, test)
    rates, counts = model.user_factors @ model.item_factors.T, test.matrix.toarray()
    open_pairs = held_out(train, test)
    assert found.pairs == open_pairs.sum()
    assert found.entries == test.nnz
    assert found.counts == pytest.approx(by_every_pair(model, rates, counts, open_pairs), rel=1e-8)
    some = np.where(counts > 0, np.log(-np.expm1(-rates)), -rates)
    assert found.occurrence == pytest.approx(some[open_pairs].sum(), rel=1e-10)
    assert found.counts < found.occurrence  # to say how many is more than to say whether there are any


def test_raw_is_poisson_and_logarithmic_is_negative_binomial(split):
    train, test = split
    counts, open_pairs = test.matrix.toarray(), held_out(train, test)
    raw = fitted("raw", train)
    expected = stats.poisson.logpmf(counts, raw.user_factors @ raw.item_factors.T)
    assert dcpf.log_likelihood(raw, test).counts == pytest.approx(expected[open_pairs].sum(), rel=1e-10)
    log = fitted("logarithmic", train)
    p = log.element_.p
    r = log.user_factors @ log.item_factors.T / -np.log1p(-p)
    expected = stats.nbinom.logpmf(counts, r, 1.0 - p)
    assert dcpf.log_likelihood(log, test).counts == pytest.approx(expected[open_pairs].sum(), rel=1e-8)


def test_the_binary_limit_has_no_law_of_counts_and_says_so(split):
    train, test = split
    found = dcpf.log_likelihood(fitted("binary", train), test)
    assert np.isnan(found.counts)
    assert np.isfinite(found.occurrence)
    assert "improper" in str(found)


def test_the_law_that_made_the_data_is_the_most_likely():
    truth = listening_data(np.random.default_rng(0), n_users=900, n_songs=120)
    train, test = Counts.from_matrix(truth.counts).split(0.2, seed=0)
    per_entry = {}
    for element in (*ELEMENTS, "binary"):
        model = DCPF(8, element, random_state=0, n_neighbors=0).fit(train)
        per_entry[element] = dcpf.log_likelihood(model, test)
    counts = {name: one.counts_per_entry for name, one in per_entry.items() if name != "binary"}
    assert counts.pop("logarithmic") == pytest.approx(counts["shifted-nb"], abs=0.02)  # nearly the same law here
    assert max(counts, key=counts.get) == "shifted-nb"
    assert min(counts, key=counts.get) == "raw"
    assert per_entry["raw"].occurrence_per_entry < per_entry["binary"].occurrence_per_entry


def test_users_held_out_whole_are_known_by_their_history(split):
    train, history, test = (split[0] + split[1]).split_users(0.3, 0.7, seed=0)
    model = fitted("logarithmic", train)
    found = dcpf.log_likelihood(model, test, history=history)
    rates, counts = model.transform(history) @ model.item_factors.T, test.matrix.toarray()
    open_pairs = held_out(history, test)
    assert found.pairs == open_pairs.sum()
    assert found.counts == pytest.approx(by_every_pair(model, rates, counts, open_pairs), rel=1e-8)


def test_a_pair_in_both_parts_is_held_out_with_its_new_count(split):
    train, test = split
    model = fitted("raw", train)
    found = dcpf.log_likelihood(model, test + train)
    both = (test + train).matrix.toarray()
    expected = stats.poisson.logpmf(both, model.user_factors @ model.item_factors.T)
    assert found.counts == pytest.approx(expected[both.any(axis=1)].sum(), rel=1e-10)


def test_what_the_model_does_not_know_is_left_out_and_it_is_said(split):
    train, test = split
    model = fitted("raw", train)
    stranger = Counts.from_matrix([[1, 1]], ["a stranger"], [test.items[0], "a new song"])
    known = test.users[int(np.flatnonzero(np.diff(test.matrix.indptr))[0])]
    more = test + stranger + Counts.from_matrix([[4]], [known], ["a new song"])
    found, expected = dcpf.log_likelihood(model, more), dcpf.log_likelihood(model, test)
    assert found.counts == pytest.approx(expected.counts, rel=1e-12)
    assert len(found.notes) == 2
    assert "users are unknown and were left out" in found.notes[0]
    assert found.notes[1] == "test counts of items that the model does not know, left out: 1"
    with pytest.raises(ValueError, match="'a stranger', is known"):
        dcpf.log_likelihood(model, stranger)


def test_threads_change_nothing_and_the_dictionary_is_plain(split):
    train, test = split
    model = fitted("shifted-nb", train)
    found = []
    for model.n_jobs in (1, 3):
        found.append(dcpf.log_likelihood(model, test).to_dict())
    assert found[0] == found[1]
    assert found[0]["counts_per_entry"] == found[0]["counts"] / test.nnz


def test_the_same_counts_from_a_file_have_the_same_likelihood(split, tmp_path):
    train, test = split
    assert (np.diff(test.matrix.indptr) == 0).any()  # users of whom nothing is held out are not in the file
    test.to_frame().write_csv(tmp_path / "test.csv")
    model = fitted("logarithmic", train)
    found = dcpf.log_likelihood(model, test)
    again = dcpf.log_likelihood(model, dcpf.read_counts(tmp_path / "test.csv"))
    assert again.counts == pytest.approx(found.counts, rel=1e-12)
    assert (again.users, again.pairs, again.entries) == (found.users, found.pairs, found.entries)


def test_test_counts_of_unknown_items_alone_are_refused(split):
    train, test = split
    with pytest.raises(ValueError, match="the model knows no item of the test counts, 'a new song' for one"):
        dcpf.log_likelihood(fitted("raw", train), Counts.from_matrix([[4]], [test.users[0]], ["a new song"]))
