"""Calls as code for implicit makes them: the shapes of implicit's answers, and the content of DCPF's."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from implicit.als import AlternatingLeastSquares
from implicit.evaluation import ranking_metrics_at_k, train_test_split
from scipy import sparse

import dcpf
from dcpf.adapters.implicit import DiscreteCompoundPoissonFactorization
from dcpf.kernels.threads import one_blas_thread
from dcpf.simulation import listening_data

PLAYS = sparse.csr_matrix(listening_data(np.random.default_rng(0), n_users=60, n_songs=40).counts.astype(np.float32))


def made(**parameters: Any) -> DiscreteCompoundPoissonFactorization:
    return DiscreteCompoundPoissonFactorization(**({"factors": 4, "iterations": 200, "random_state": 0} | parameters))


def fitted(**parameters: Any) -> DiscreteCompoundPoissonFactorization:
    model = made(**parameters)
    model.fit(PLAYS, show_progress=False)
    return model


OURS = fitted()


@pytest.fixture(scope="module")
def theirs() -> AlternatingLeastSquares:
    with one_blas_thread():
        model = AlternatingLeastSquares(factors=4, iterations=3, random_state=0)
        model.fit(PLAYS, show_progress=False)
    return model


CALLS: dict[str, Any] = {
    "one user": lambda m: m.recommend(3, PLAYS[3], N=5),
    "several users": lambda m: m.recommend([3, 8], PLAYS[[3, 8]], N=5),
    "an array of one": lambda m: m.recommend(np.array([3]), PLAYS[3], N=5),
    "unfiltered": lambda m: m.recommend(3, None, N=5, filter_already_liked_items=False),
    "new users": lambda m: m.recommend([0, 1], PLAYS[[5, 6]], N=5, recalculate_user=True),
    "without some": lambda m: m.recommend(3, PLAYS[3], N=5, filter_items=[1, 2]),
    "among some": lambda m: m.recommend(3, PLAYS[3], N=3, filter_already_liked_items=False, items=[1, 2, 5]),
    "like an item": lambda m: m.similar_items(4, N=3),
    "like items": lambda m: m.similar_items([4, 5], N=3, filter_items=[1]),
    "like a user": lambda m: m.similar_users(4, N=3),
    "like users": lambda m: m.similar_users([4, 9], N=2, users=[1, 4, 9]),
}


@pytest.mark.parametrize("call", CALLS)
def test_answers_have_the_shapes_of_implicit(theirs: AlternatingLeastSquares, call: str) -> None:
    for mine, its in zip(CALLS[call](OURS), CALLS[call](theirs), strict=True):
        assert mine.shape == its.shape
        assert mine.dtype.kind == its.dtype.kind


def test_lists_are_those_of_dcpf() -> None:
    model = OURS.model
    users = np.array([3, 8])
    for mine, expected in (
        (OURS.recommend(3, PLAYS[3], N=5), model.recommend(3, n=5)),
        (OURS.recommend(3, None, N=5, filter_already_liked_items=False), model.recommend(3, n=5, exclude_seen=False)),
        (OURS.recommend(3, PLAYS[3], N=5, filter_items=[1, 2]), model.recommend(3, n=5, deny=[1, 2])),
        (OURS.recommend(3, PLAYS[3], N=2, items=range(20)), model.recommend(3, n=2, allow=range(20))),
        (OURS.recommend(users, PLAYS[users], N=5), model.recommend([3, 8], n=5)),
        (OURS.recommend(3, PLAYS[9], N=5, recalculate_user=True), model.recommend(9, n=5, history=PLAYS.astype(int))),
    ):
        items, scores = expected
        np.testing.assert_array_equal(mine[0], np.array(items))
        np.testing.assert_allclose(mine[1], np.array(scores), rtol=1e-5)


def test_what_is_liked_is_what_the_call_says() -> None:
    liked = PLAYS[3].toarray()
    liked[0, 7:9] = 1
    items, _ = OURS.recommend(3, sparse.csr_matrix(liked), N=40)
    assert sorted(items) == np.flatnonzero(liked[0] == 0).tolist()


def test_shorter_lists_end_in_nothing() -> None:
    liked = PLAYS[[3, 8]].tolil()
    liked[0, :38] = 1
    items, scores = OURS.recommend([3, 8], liked.tocsr(), N=5)
    assert sorted(items[0, :2]) == [38, 39]
    assert (items[0, 2:] == -1).all()
    assert (scores[0, 2:] == np.finfo(np.float32).min).all()
    assert (items[1] >= 0).all()


def test_an_item_is_most_like_itself() -> None:
    ids, alike = OURS.similar_items(4, N=3)
    others, _ = OURS.model.similar_items(4, n=2)
    assert ids.tolist() == [4, *others.tolist()]
    assert alike[0] == 1.0


def test_an_explanation_adds_up() -> None:
    score, parts, _ = OURS.explain(3, PLAYS, 7, N=1000)
    why = OURS.model.explain(3, 7, history=PLAYS.astype(int))
    assert score == pytest.approx(why.score)
    assert [item for item, _ in parts] == why.items.tolist()
    assert sum(part for _, part in parts) + why.prior == pytest.approx(score)


def test_implicit_evaluates_it() -> None:
    train, test = train_test_split(PLAYS, 0.8, random_state=0)
    model = made()
    model.fit(train, show_progress=False)
    found = ranking_metrics_at_k(model, train, test, K=10, show_progress=False)
    counts = dcpf.Counts.from_matrix(test.astype(int))
    ours = dcpf.evaluate(model.model, counts, k=10, thresholds=(0,))
    # It divides by the number of relevant items, or by 10 if that is less; we have a name for each
    assert found["ndcg"] == pytest.approx(ours.mean("ndcg"), rel=1e-5)


def test_new_users_and_items_are_learned() -> None:
    model = fitted(n_neighbors=0)
    model.partial_fit_users([60, 61], PLAYS[[3, 8]])
    like_them = model.recommend([60, 61], PLAYS[[3, 8]], N=5)
    np.testing.assert_array_equal(like_them[0], model.recommend([3, 8], PLAYS[[3, 8]], N=5, recalculate_user=True)[0])
    model.partial_fit_items([40], sparse.csr_matrix(np.ones((1, 62), dtype=np.float32)))
    assert model.item_factors.shape == (41, 4)
    assert model.user_factors.shape == (62, 4)


def test_a_saved_model_gives_the_same_lists(tmp_path: Path) -> None:
    OURS.save(tmp_path / "model.safetensors")
    for again in (DiscreteCompoundPoissonFactorization.load(tmp_path / "model.safetensors"), OURS):
        np.testing.assert_array_equal(again.recommend(3, PLAYS[3], N=5)[0], OURS.recommend(3, PLAYS[3], N=5)[0])
    assert dcpf.load(tmp_path / "model.safetensors").n_components == 4


def test_a_callback_hears_of_each_iteration() -> None:
    heard: list[int] = []
    model = made(iterations=500)
    model.fit(PLAYS, show_progress=False, callback=lambda number, seconds, bound: heard.append(number))
    assert heard == list(range(model.model.n_iter_))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.recommend(3, PLAYS[3], items=[1], filter_items=[2]), "not both"),
        (lambda m: m.recommend([3, 8], PLAYS[3]), "a row for each user: 1 for 2"),
        (lambda m: m.recommend(3, None), "user_items is needed"),
        (lambda m: m.similar_items(3, items=[1], filter_items=[2]), "cannot both be given"),
    ],
)
def test_what_is_wrong_is_told(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(OURS)
