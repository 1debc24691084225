"""What holds for every baseline, whatever it learns."""

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tests.baselines.camps import ITEMS, USERS, missing, random_counts, two_camps

import dcpf
from dcpf.baselines import HPF, Baseline, Ease, ImplicitALS, ImplicitBPR, ItemKNN, Popularity
from dcpf.counts import Counts

CAMPS = two_camps()
SPARSE = random_counts(24, 15, density=0.25)
SPARSE[4], SPARSE[:, 7] = 0, 0  # a user and an item without any

SHALLOW: dict[str, Callable[[], Baseline]] = {
    "popularity": Popularity,
    "ease": lambda: Ease(2.0),
    "item-knn": lambda: ItemKNN(5, 1.0, "log"),
}
MAKE = SHALLOW | {
    "implicit-als": lambda: ImplicitALS(2, 1.0),
    "implicit-bpr": lambda: ImplicitBPR(4, 0.05, iterations=300),
    "hpf": lambda: HPF(4, max_iter=30),
}
without_hpfrec = pytest.mark.skipif(find_spec("hpfrec") is None, reason="hpfrec is not installed")
every = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=without_hpfrec if name == "hpf" else ()) for name in MAKE]
)
shallow = pytest.mark.parametrize("name", SHALLOW)


@every
def test_lists_hold_the_best_unseen_items_in_order(name: str) -> None:
    model = MAKE[name]().fit(SPARSE)
    everything, all_scores = model.recommend(n=15, exclude_seen=False)
    items, scores = model.recommend(n=6)
    for user in range(24):
        assert sorted(everything[user]) == list(range(15))
        order = np.lexsort((everything[user], -all_scores[user]))
        np.testing.assert_array_equal(order, np.arange(15))
        unseen = SPARSE[user, everything[user]] == 0
        assert items[user].tolist() == everything[user][unseen][:6].tolist()
        np.testing.assert_array_equal(scores[user], all_scores[user][unseen][:6])


@every
def test_who_has_nothing_is_offered_what_is_popular(name: str) -> None:
    items, scores = MAKE[name]().fit(SPARSE).recommend(4, n=15)
    popularity = (SPARSE > 0).sum(axis=0)
    assert items.tolist() == np.argsort(-popularity, kind="stable").tolist()
    np.testing.assert_array_equal(scores, popularity[items])


@every
def test_a_second_fit_gives_the_same_lists(name: str) -> None:
    model = MAKE[name]()
    once = model.fit(SPARSE).recommend(n=5).ranked
    again = clone(model).fit(SPARSE).recommend(n=5).ranked
    refitted = model.fit(SPARSE).recommend(n=5).ranked
    for other in (again, refitted):
        np.testing.assert_array_equal(other.columns, once.columns)
        np.testing.assert_array_equal(other.scores, once.scores)


@every
def test_fitting_leaves_the_counts_as_they_were(name: str) -> None:
    counts = Counts.from_matrix(SPARSE)
    before = counts.matrix.copy()
    model = MAKE[name]().fit(counts)
    model.recommend(n=3)
    assert (counts.matrix != before).nnz == 0
    assert model.history_ is counts.matrix
    assert model.users_ == counts.users
    assert model.items_ == counts.items


@every
def test_ids_and_names_come_back(name: str) -> None:
    model = MAKE[name]().fit(CAMPS)
    items, scores = model.recommend("user 03", n=4)
    assert items.shape == scores.shape == (4,)
    several = model.recommend(["user 03", "user 00"], n=4)
    assert next(iter(several))[0].tolist() == items.tolist()
    frame = several.to_frame()
    assert frame.columns == ["user", "item", "name", "rank", "score"]
    assert frame["user"].to_list() == ["user 03"] * 4 + ["user 00"] * 4
    assert frame["name"].to_list() == [item.upper() for item in frame["item"]]
    assert list(model.recommend(n=1).asked) == USERS
    with pytest.raises(dcpf.UnknownId, match="unknown user 'user 3'; did you mean 'user "):
        model.recommend(["user 03", "user 3"])


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=without_hpfrec if n == "hpf" else ()) for n in MAKE if n != "popularity"]
)
def test_the_missing_item_of_the_own_camp_is_recommended_first(name: str) -> None:
    items, _ = MAKE[name]().fit(CAMPS).recommend(n=1)
    assert [one[0] for one in items] == [missing(user) for user in range(30)]


@every
def test_n_larger_than_what_is_left_gives_what_is_left(name: str) -> None:
    items, _ = MAKE[name]().fit(SPARSE).recommend(n=1000)
    assert [len(one) for one in items] == (SPARSE == 0).sum(axis=1).tolist()


@shallow
def test_a_history_of_the_same_counts_gives_the_same_lists(name: str) -> None:
    model = MAKE[name]().fit(SPARSE)
    known, fresh = model.recommend(n=5).ranked, model.recommend(n=5, history=SPARSE).ranked
    np.testing.assert_array_equal(fresh.columns, known.columns)
    np.testing.assert_array_equal(fresh.scores, known.scores)


@shallow
def test_new_users_are_ranked_for_by_their_history(name: str) -> None:
    model = MAKE[name]().fit(CAMPS)
    rows = CAMPS.matrix[[3, 8]]
    history = Counts.from_matrix(rows, ["new", "newer"], ITEMS)
    items, _ = model.recommend(history=history, n=5)
    known, _ = model.recommend(["user 03", "user 08"], n=5)
    assert [one.tolist() for one in items] == [one.tolist() for one in known]


@shallow
def test_known_and_new_users_may_ask_together(name: str) -> None:
    model = MAKE[name]().fit(CAMPS)
    history = Counts.from_matrix(CAMPS.matrix[[3]], ["new"], ITEMS)
    lists = model.recommend(["user 08", "new", "user 03"], n=5, history=history)
    assert list(lists.asked) == ["user 08", "new", "user 03"]
    items, _ = lists
    assert items[1].tolist() == items[2].tolist()
    assert items[1].tolist() == next(iter(model.recommend("user 03", n=5))).tolist()
    with pytest.raises(dcpf.UnknownId, match="unknown user 'stranger'"):
        model.recommend(["new", "stranger"], history=history)


@shallow
def test_a_history_goes_before_the_training_counts(name: str) -> None:
    model = MAKE[name]().fit(CAMPS)
    swapped = Counts.from_matrix(CAMPS.matrix[[8]], ["user 03"], ITEMS)
    items, _ = model.recommend("user 03", n=5, history=swapped)
    assert items.tolist() == next(iter(model.recommend("user 08", n=5))).tolist()


@shallow
def test_unknown_items_of_a_history_are_skipped_and_it_is_said(name: str) -> None:
    model = MAKE[name]().fit(CAMPS)
    table = pl.DataFrame({"user": ["new"] * 3, "item": ["item 04", "not there", "item 02"], "count": [3, 9, 1]})
    with pytest.warns(UserWarning, match="1 of 3 items are unknown .* 'not there'") as said:
        items, _ = model.recommend("new", n=20, history=table)
    assert said[0].filename == __file__
    plain = np.zeros((1, 20), dtype=int)
    plain[0, [4, 2]] = 3, 1
    assert items.tolist() == next(iter(model.recommend(history=plain, n=20)))[0].tolist()


def test_a_history_with_another_number_of_items_is_refused() -> None:
    model = Popularity().fit(SPARSE)
    with pytest.raises(dcpf.InvalidCounts, match="has 14 items, but the fit had 15"):
        model.recommend(history=SPARSE[:, 1:])


def test_popularity_counts_users_and_not_plays() -> None:
    counts = np.array([[9, 1, 0, 1], [0, 1, 0, 1], [0, 1, 2, 0]])
    items, scores = Popularity().fit(counts).recommend(0, exclude_seen=False)
    assert items.tolist() == [1, 3, 0, 2]  # the last two have a user each
    assert scores.tolist() == [3, 2, 1, 1]


def test_counts_can_be_a_sparse_matrix_or_a_table() -> None:
    from_matrix = Ease(2.0).fit(sparse.csc_matrix(SPARSE))
    np.testing.assert_array_equal(from_matrix.weights_, Ease(2.0).fit(SPARSE).weights_)
    assert list(Popularity().fit(CAMPS.to_frame()).items_) == ITEMS
    with pytest.raises(dcpf.InvalidCounts, match="no interactions"):
        Popularity().fit(np.zeros((2, 2)))


@every
def test_questions_before_the_fit_and_without_sense_are_refused(name: str) -> None:
    model = MAKE[name]()
    with pytest.raises(NotFittedError):
        model.recommend(n=3)
    model.fit(SPARSE)
    with pytest.raises(ValueError, match="n must be a whole number >= 1, found 0"):
        model.recommend(n=0)
    with pytest.raises(TypeError, match="users must be an id"):
        model.recommend({"a": 1})


def test_no_users_get_no_lists() -> None:
    items, scores = Ease(2.0).fit(SPARSE).recommend([])
    assert items == scores == []
