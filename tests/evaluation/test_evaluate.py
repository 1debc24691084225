"""Lists from all kinds of models, compared with what was held out."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from implicit.cpu.als import AlternatingLeastSquares
from implicit.evaluation import ranking_metrics_at_k
from scipy import sparse
from sklearn.metrics import ndcg_score, roc_auc_score
from threadpoolctl import threadpool_limits

import dcpf
from dcpf import DCPF, Counts
from dcpf.simulation import listening_data


@pytest.fixture(scope="module")
def split():
    truth = listening_data(np.random.default_rng(3), n_users=120, n_songs=60)
    return Counts.from_matrix(truth.counts, truth.users, truth.songs).split(0.2, seed=1)


@pytest.fixture(scope="module")
def model(split):
    return DCPF(4, random_state=0, max_iter=40, tol=0, dtype="float64", n_neighbors=0).fit(split[0])


class Lists:
    """A recommender that knows its lists by heart."""

    def __init__(self, lists):
        self.lists = lists

    def recommend(self, users, n):
        return [self.lists[user][:n] for user in users], None


def dense(model, split):
    """Scores of all pairs, -inf where the user has the item already, and the test counts."""
    scores = model.user_factors @ model.item_factors.T
    scores[split[0].matrix.toarray() > 0] = -np.inf
    return scores, split[1].matrix.toarray()


def test_a_case_made_by_hand():
    test = Counts.from_matrix([[0, 3, 1, 0], [2, 0, 0, 0], [0, 0, 0, 1]], ["a", "b", "c"], ["w", "x", "y", "z"])
    found = dcpf.evaluate(Lists({"a": ["y", "w", "x"], "b": ["x", "z"], "c": ["w", "z"]}), test, 3, (0, 2))
    assert found.users[:] == ["a", "b", "c"]
    ideal = 1 + 1 / np.log2(3)
    assert found.values["ndcg"][:, 0] == pytest.approx([1.5 / ideal, 0.0, 1 / np.log2(3)])
    assert found.values["ndcg"][0, 1] == pytest.approx(0.5)
    assert np.isnan(found.values["ndcg"][1:, 1]).all()  # nothing above 2: left out
    assert found.mean("ndcg", 2) == pytest.approx(0.5)
    assert found.mean("precision") == pytest.approx((2 / 3 + 0 + 1 / 3) / 3)
    assert found.novelty is None  # nobody knows who has what
    assert np.isnan(found.coverage)  # nor which items there are
    assert np.isnan(found.mean("auc"))


@pytest.mark.parametrize("threshold", [0, 1, 2, 5])
def test_ndcg_is_that_of_scikit_learn_on_all_scores(model, split, threshold):
    scores, counts = dense(model, split)
    found = dcpf.evaluate(model, split[1], 20, (threshold,))
    finite = np.where(np.isfinite(scores), scores, -1.0)
    users = np.flatnonzero((counts > threshold).any(axis=1))
    expected = [ndcg_score(counts[[u]] > threshold, finite[[u]], k=20) for u in users]
    assert found.mean("ndcg", threshold) == pytest.approx(np.mean(expected), rel=1e-12)


def test_agrees_with_implicit_where_the_definitions_do():
    """implicit counts seen items as irrelevant ones in the area, so that nothing is seen here."""
    rng = np.random.default_rng(0)
    W, H = rng.gamma(0.5, size=(80, 5)), rng.gamma(0.5, size=(50, 5))
    test = sparse.csr_array(rng.poisson(0.3 * W @ H.T))
    with threadpool_limits(1, user_api="blas"):  # or implicit warns
        peer = AlternatingLeastSquares(factors=5, num_threads=1)
    peer.user_factors, peer.item_factors = W.astype(np.float32), H.astype(np.float32)
    nothing = sparse.csr_matrix(test.shape, dtype=np.float32)
    theirs = ranking_metrics_at_k(
        peer, nothing, sparse.csr_matrix(test).astype(np.float32), K=10, show_progress=False, num_threads=1
    )

    class Factors:
        def recommend(self, users, n):
            scores = (W @ H.T)[users]
            return np.argsort(-scores, axis=1)[:, :n], None

    Factors.items_ = Counts.from_matrix(test).items
    ours = dcpf.evaluate(Factors(), test, 10, (0,))
    for name in ("ndcg", "map", "auc"):
        assert ours.mean(name) == pytest.approx(theirs[name], rel=1e-6), name
    # What implicit calls precision: the hits of all users over those of perfect lists
    attainable = np.minimum(np.diff(test.indptr), 10)
    hits = ours.values["precision"][:, 0] * 10
    assert hits.sum() / attainable[attainable > 0].sum() == pytest.approx(theirs["precision"], rel=1e-6)


def test_a_matrix_stands_for_the_rows_and_columns_of_the_model(model, split):
    with_ids, without = dcpf.evaluate(model, split[1], 10), dcpf.evaluate(model, split[1].matrix, 10)
    assert with_ids.to_dict() == without.to_dict()
    assert without.users == with_ids.users


def test_a_table_of_lists_is_judged_as_the_model_that_made_it(model, split):
    expected = dcpf.evaluate(model, split[1], 10)
    lists = model.recommend(n=10).to_frame()
    shuffled = lists.sample(fraction=1.0, shuffle=True, seed=0)
    by_score = shuffled.rename({"sessions": "score"}).drop("rank")
    for table in (lists.drop("rank"), shuffled, by_score, pd.DataFrame(lists.to_dict(as_series=False))):
        found = dcpf.evaluate(table, split[1], 10)
        assert found.mean("ndcg", 1) == expected.mean("ndcg", 1)
        assert found.mean("map", 0) == expected.mean("map", 0)


def test_a_table_without_users_is_refused():
    table = pl.DataFrame({"who": ["a"], "item": ["x"]})
    with pytest.raises(ValueError, match=r"one column 'user', found the columns 'who', 'item'"):
        dcpf.evaluate(table, Counts.from_matrix([[1]], ["a"], ["x"]))


def test_users_held_out_whole_are_known_by_their_history(split):
    counts = split[0] + split[1]
    train, history, test = counts.split_users(0.3, 0.7, seed=0)
    model = DCPF(4, random_state=0, max_iter=40, tol=0, dtype="float64", n_neighbors=0).fit(train)
    found = dcpf.evaluate(model, test, 10, history=history)
    W = model.transform(history)
    scores = W @ model.item_factors.T
    scores[history.matrix.toarray() > 0] = -1.0
    relevant = test.matrix.toarray() > 0
    users = np.flatnonzero(relevant.any(axis=1))
    expected = [ndcg_score(relevant[[u]], scores[[u]], k=10) for u in users]
    assert found.mean() == pytest.approx(np.mean(expected), rel=1e-6)
    by_matrix = dcpf.evaluate(model, test.matrix, 10, history=history.matrix)
    assert by_matrix.mean() == found.mean()


def test_users_whom_the_model_does_not_know_are_left_out_and_it_is_said(model, split):
    stranger = Counts.from_matrix([[1]], ["a stranger"], [split[1].items[0]])
    found = dcpf.evaluate(model, split[1] + stranger, 10)
    assert found.mean() == dcpf.evaluate(model, split[1], 10).mean()
    assert found.notes == ("1 of 88 users are unknown to the model and were left out",)
    with pytest.raises(ValueError, match=r"none of the 1 users .*'a stranger'.* give history="):
        dcpf.evaluate(model, stranger)


def test_items_that_the_model_does_not_know_are_never_found_and_it_is_said(model, split):
    listed = model.recommend(n=10).to_frame().join(split[1].to_frame(), on=["user", "item"])
    user = listed["user"][0]  # whose list has a hit
    more = split[1] + Counts.from_matrix([[3]], [user], ["a new song"])
    found, before = dcpf.evaluate(model, more, 10), dcpf.evaluate(model, split[1], 10)
    assert "test counts of items that the model does not know, which cannot be found: 1" in found.notes
    row = found.users.find(user)
    assert 0.0 < found.values["recall"][row, 0] < before.values["recall"][row, 0]


def test_what_a_user_had_before_is_not_judged(model, split):
    train, test = split
    again = Counts.from_matrix(train.matrix[:, :], train.users, train.items)
    found = dcpf.evaluate(model, test + again, 10)
    assert found.mean() == dcpf.evaluate(model, test, 10).mean()
    assert found.notes == (f"test counts of items that the user had before, which are not judged: {train.nnz:,}",)
    with pytest.raises(ValueError, match="nothing to judge"):
        dcpf.evaluate(model, again)


def test_lists_are_judged_alike_in_blocks_of_users(model, split, monkeypatch):
    whole = dcpf.evaluate(model, split[1], 10)
    monkeypatch.setattr(sys.modules["dcpf.evaluation.judging"], "_PLACES", 70)
    parts = dcpf.evaluate(model, split[1], 10)
    assert parts.to_dict() == whole.to_dict()


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_number_of_threads_changes_nothing(model, split, threads):
    expected = dcpf.evaluate(model, split[1], 10).to_dict()
    model.n_jobs = threads
    assert dcpf.evaluate(model, split[1], 10).to_dict() == expected


def test_k_beyond_all_items_gives_the_exact_area(model, split):
    scores, counts = dense(model, split)
    found = dcpf.evaluate(model, split[1], 1000, (0,))
    expected = []
    for u in np.flatnonzero((counts > 0).any(axis=1)):
        there = np.isfinite(scores[u])
        expected.append(roc_auc_score(counts[u, there] > 0, scores[u, there]))
    assert found.mean("auc") == pytest.approx(np.mean(expected), rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be a whole number >= 1, found 0"),
        ({"thresholds": (0, -1)}, "thresholds must be whole numbers >= 0, found -1"),
        ({"thresholds": (0.5,)}, "thresholds must be whole numbers >= 0, found 0.5"),
        ({"thresholds": ()}, "thresholds must not be empty"),
    ],
)
def test_options_out_of_range_are_refused(model, split, options, message):
    with pytest.raises(ValueError, match=message):
        dcpf.evaluate(model, split[1], **options)


def test_what_cannot_recommend_is_refused(split):
    with pytest.raises(TypeError, match=r"must have recommend\(users, n\).*found int"):
        dcpf.evaluate(3, split[1])


def test_a_list_with_an_item_twice_is_refused():
    test = Counts.from_matrix([[1, 1]], ["a"], ["x", "y"])
    with pytest.raises(ValueError, match=r"list 0 of recommend\(\) has item 'x' twice"):
        dcpf.evaluate(Lists({"a": ["x", "y", "x"]}), test)


def test_too_few_lists_are_refused():
    class Short:
        def recommend(self, users, n):
            return [["x"]], None

    with pytest.raises(ValueError, match="returned 1 lists for 2 users"):
        dcpf.evaluate(Short(), Counts.from_matrix([[1], [1]], ["a", "b"], ["x"]))


def test_empty_lists_find_nothing_and_all_empty_ones_are_refused():
    test = Counts.from_matrix([[1], [1]], ["a", "b"], ["x"])
    found = dcpf.evaluate(Lists({"a": ["x"], "b": []}), test)
    assert found.mean("recall") == 0.5
    assert found.notes[0] == "1 of 2 users have an empty list"
    with pytest.raises(ValueError, match="all lists are empty"):
        dcpf.evaluate(Lists({"a": [], "b": []}), test)


def test_a_matrix_of_another_shape_is_refused(model, split):
    with pytest.raises(ValueError, match=r"the test matrix has 59 columns, the model has 60"):
        dcpf.evaluate(model, split[1].matrix[:, :59])
    with pytest.raises(ValueError, match=r"the test matrix has 5 rows, the model has 120"):
        dcpf.evaluate(model, split[1].matrix[:5])
    with pytest.raises(TypeError, match="both have ids"):
        dcpf.evaluate(model, split[1].matrix, history=split[0])


class Wrapped:
    """A model whose lists are longer than asked for, or have what users have already."""

    def __init__(self, model, **options):
        self.model, self.options = model, options
        self.users_, self.items_, self.history_ = model.users_, model.items_, model.history_

    def recommend(self, users, n):
        return self.model.recommend(users, **{"n": n} | self.options)


def test_lists_that_are_too_long_are_cut(model, split):
    assert dcpf.evaluate(Wrapped(model, n=40), split[1], 10).to_dict() == dcpf.evaluate(model, split[1], 10).to_dict()


@pytest.mark.parametrize("k", [1, 10, 60])
def test_all_metrics_lie_between_0_and_1_whatever_is_listed(model, split, k):
    for one in (model, Wrapped(model, exclude_seen=False)):
        found = dcpf.evaluate(one, split[1], k)
        for name, values in found.values.items():
            there = values[~np.isnan(values)]
            assert len(there), name
            assert there.min() >= 0.0, name
            assert there.max() <= 1.0 + 1e-12, name


def test_what_users_have_already_does_not_change_the_area_of_full_lists(model, split):
    again = dcpf.evaluate(Wrapped(model, exclude_seen=False), split[1], 60)
    np.testing.assert_allclose(again.values["auc"], dcpf.evaluate(model, split[1], 60).values["auc"], rtol=1e-12)


def test_lists_of_items_that_nobody_knows_are_refused():
    test = Counts.from_matrix([[1, 1]], ["a"], ["10", "11"])
    with pytest.raises(ValueError, match="none of the listed items is one of the 2 known items, such as '10'"):
        dcpf.evaluate(pl.DataFrame({"user": ["a", "a"], "item": [10, 11]}), test)


def test_a_model_without_a_history_cannot_be_asked_for_users_held_out():
    test = Counts.from_matrix([[1, 0]], ["a"], ["x", "y"])
    history = Counts.from_matrix([[0, 1]], ["a"], ["x", "y"])
    with pytest.raises(TypeError, match=r"recommend\(\) of Lists has no parameter history"):
        dcpf.evaluate(Lists({"a": ["x"]}), test, history=history)
    table = pl.DataFrame({"user": ["a"], "item": ["x"]})
    assert dcpf.evaluate(table, test, history=history).mean() == 1.0


def test_a_table_with_empty_cells_is_refused():
    test = Counts.from_matrix([[1, 1]], ["a"], ["x", "y"])
    for score in (None, float("nan")):
        table = pl.DataFrame({"user": ["a", "a"], "item": ["x", "y"], "score": [1.0, score]})
        with pytest.raises(ValueError, match="no empty cells"):
            dcpf.evaluate(table, test)
