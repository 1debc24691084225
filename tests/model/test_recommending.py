"""Recommend, predict, compare and explain: on data whose answer is known, and against plain numpy."""

import copy

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from scipy.special import digamma
from sklearn.exceptions import NotFittedError

import dcpf
from dcpf.counts import Counts
from dcpf.model.explanation import history_of

pytestmark = pytest.mark.quick

USERS = [f"user {u}" for u in range(30)]
ITEMS = [f"item {i}" for i in range(20)]


def two_camps() -> Counts:
    """Even users have even items, odd ones odd items, all but a few; so what is missing is what to recommend."""
    camp = np.add.outer(np.arange(30), np.arange(20)) % 2 == 0
    counts = np.where(camp, np.random.default_rng(0).integers(1, 9, (30, 20)), 0)
    for user in range(30):
        counts[user, (user + 4 * (user % 3)) % 20] = 0  # an item of the own camp that is not known yet
    names = {item: item.upper() for item in ITEMS}
    return Counts.from_matrix(counts, USERS, ITEMS).with_names(names)


COUNTS = two_camps()
MODEL = dcpf.DCPF(4, "logarithmic", max_iter=60, tol=0.0, random_state=0, n_jobs=1, n_neighbors=0).fit(COUNTS)


def missing(user: int) -> str:
    return ITEMS[(user + 4 * (user % 3)) % 20]


def test_the_missing_item_of_the_own_camp_is_recommended_first() -> None:
    items, scores = MODEL.recommend(USERS, n=3)
    assert [one[0] for one in items] == [missing(user) for user in range(30)]
    assert all((one[:-1] >= one[1:]).all() for one in scores)


def test_one_user_gives_arrays_and_several_give_lists_of_them() -> None:
    items, scores = MODEL.recommend("user 3", n=4)
    assert items.shape == scores.shape == (4,)
    listed, _ = MODEL.recommend(["user 3"], n=4)
    assert len(listed) == 1
    assert listed[0].tolist() == items.tolist()


def test_all_users_are_recommended_to_when_none_is_named() -> None:
    everyone = MODEL.recommend(n=5)
    assert list(everyone.asked) == USERS
    np.testing.assert_array_equal(everyone.ranked.scores, MODEL.recommend(USERS, n=5).ranked.scores)


def test_items_to_allow_or_deny_may_be_called_by_name() -> None:
    few, _ = MODEL.recommend("user 3", n=5, allow=["ITEM 0", "item 2"], deny=["ITEM 2"])
    assert few.tolist() == ["item 0"]
    few, _ = MODEL.recommend("user 3", n=5, allow=["ITEM 0", "item 2"], deny_by_user={"user 3": ["ITEM 0"]})
    assert few.tolist() == ["item 2"]


def test_nobody_is_told_nothing() -> None:
    assert len(MODEL.predict_pairs([], [])) == len(MODEL.predict_pairs([], "item 1")) == 0


def test_an_explanation_is_of_one_item() -> None:
    for items in ([], ["item 1", "item 2"]):
        with pytest.raises(ValueError, match=rf"of one item, found {len(items)}; explain_items"):
            MODEL.explain("user 3", items)


def test_scores_are_expected_sessions() -> None:
    items, scores = MODEL.recommend("user 3", n=4)
    rates = MODEL.user_factors[3].astype(float) @ MODEL.item_factors.T.astype(float)
    np.testing.assert_allclose(scores, rates[[ITEMS.index(item) for item in items]], rtol=1e-13)


def test_the_frame_says_what_scores_mean() -> None:
    frame = MODEL.recommend(["user 3", "user 4"], n=2).to_frame()
    assert frame.columns == ["user", "item", "name", "rank", "sessions", "count", "probability"]
    assert frame["user"].to_list() == ["user 3"] * 2 + ["user 4"] * 2
    assert frame["rank"].to_list() == [1, 2, 1, 2]
    assert frame["name"].to_list() == [item.upper() for item in frame["item"]]
    np.testing.assert_allclose(frame["count"], frame["sessions"] * MODEL.element_.mean)
    np.testing.assert_allclose(frame["probability"], 1.0 - np.exp(-frame["sessions"].to_numpy()))


def test_seen_items_come_back_when_asked_for() -> None:
    seen = {item for item, count in zip(ITEMS, COUNTS.matrix[[3]].toarray()[0], strict=True) if count}
    assert not seen & set(MODEL.recommend("user 3", n=20).__iter__().__next__())
    assert seen < set(next(iter(MODEL.recommend("user 3", n=20, exclude_seen=False))))


def test_n_larger_than_what_is_left_gives_what_is_left() -> None:  # row 36
    items, scores = MODEL.recommend("user 3", n=1000)
    assert len(items) == len(scores) == 20 - COUNTS.matrix[[3]].nnz
    nothing, _ = MODEL.recommend("user 3", n=5, allow=["item 1"], deny=["item 1"])
    assert len(nothing) == 0


def test_lists_of_items_restrict_what_is_recommended() -> None:
    def first(**lists: object) -> set[str]:
        return set(next(iter(MODEL.recommend("user 3", n=20, **lists))))

    everything = first()
    with pytest.warns(UserWarning, match=r"allow: 1 of 3 items are unknown .* 'not there'"):
        assert first(allow=["item 0", "item 2", "not there"]) == {"item 0", "item 2"}
    with pytest.warns(UserWarning, match=r"deny: 1 of 2 items are unknown .* 'not there'") as said:
        assert first(deny=["item 0", "not there"]) == everything - {"item 0"}
    assert said[0].filename == __file__
    assert first(allow=["item 0", "item 2"], deny=["item 0"]) == {"item 2"}
    assert first(deny_by_user={"user 3": ["item 4"], "user 5": ["item 0"], "stranger": []}) == everything - {"item 4"}
    with pytest.raises(TypeError, match="allow must be a list"):
        first(allow="item 0")


def test_deny_lists_of_users_are_their_own() -> None:
    items, _ = MODEL.recommend(["user 2", "user 4"], n=20, deny_by_user={"user 4": [missing(4)]})
    assert missing(4) not in items[1]
    assert missing(2) in items[0]


def test_an_unknown_user_is_named_with_those_spelt_alike() -> None:  # row 23
    with pytest.raises(KeyError, match=r"unknown user 'user 33'; did you mean 'user 3'"):
        MODEL.recommend("user 33")
    assert issubclass(dcpf.UnknownId, KeyError)


def test_an_unknown_user_may_be_offered_what_is_popular() -> None:
    items, _scores = MODEL.recommend(["user 3", "stranger"], n=3, unknown="popular")
    rates = MODEL.user_factors.mean(axis=0).astype(float) @ MODEL.item_factors.T.astype(float)
    assert items[1].tolist() == [ITEMS[j] for j in np.argsort(-rates, kind="stable")[:3]]
    assert items[0].tolist() == next(iter(MODEL.recommend("user 3", n=3))).tolist()
    with pytest.raises(ValueError, match="unknown must be"):
        MODEL.recommend("stranger", unknown="ignore")


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "3"])
def test_an_impossible_n_is_refused(n: object) -> None:
    for ask in (MODEL.recommend, MODEL.similar_users):
        with pytest.raises(ValueError, match="n must be a whole number"):
            ask("user 3", n=n)


def test_a_history_folds_in_whoever_it_is() -> None:
    history = Counts.from_matrix([[3, 2, 5]], ["newcomer"], ["item 0", "item 2", "item 4"])
    items, scores = MODEL.recommend("newcomer", n=4, history=history)
    assert all(int(item.split()[1]) % 2 == 0 for item in items)
    row = np.zeros((1, 20), dtype=int)
    row[0, [0, 2, 4]] = 3, 2, 5
    rates = MODEL.transform(row)[0].astype(float) @ MODEL.item_factors.T.astype(float)
    np.testing.assert_allclose(scores, rates[[ITEMS.index(item) for item in items]], rtol=1e-6)
    table = pl.DataFrame({"user": ["newcomer"] * 3, "item": ["item 0", "item 2", "item 4"], "count": [3, 2, 5]})
    for same in (table, table.to_pandas(), table.to_arrow()):
        assert next(iter(MODEL.recommend("newcomer", n=4, history=same))).tolist() == items.tolist()
    mapping = MODEL.recommend(n=4, history={"item 0": 3, "item 2": 2, "item 4": 5})
    assert next(iter(mapping)).tolist() == items.tolist()
    assert mapping.to_frame()["user"].to_list() == [None] * 4
    assert next(iter(MODEL.recommend(n=4, history=row)))[0].tolist() == items.tolist()


def test_a_known_user_with_a_fresh_history_is_folded_in_from_it() -> None:
    odd_now = Counts.from_matrix([[4, 4, 4, 4]], ["user 2"], ["item 1", "item 3", "item 5", "item 7"])
    items, _ = MODEL.recommend(["user 2", "user 4"], n=3, history=odd_now)
    assert all(int(item.split()[1]) % 2 == 1 for item in items[0])
    assert items[1].tolist() == next(iter(MODEL.recommend("user 4", n=3))).tolist()


def test_unknown_items_of_a_history_are_skipped_and_counted() -> None:  # row 24
    known = MODEL.recommend(n=4, history={"item 0": 3, "item 2": 2})
    with pytest.warns(UserWarning, match=r"2 of 4 items are unknown to the model and were left out, such as 'new"):
        partly = MODEL.recommend(n=4, history={"item 0": 3, "new 1": 7, "item 2": 2, "new 2": 1})
    assert next(iter(partly)).tolist() == next(iter(known)).tolist()


def test_a_matrix_with_another_number_of_items_is_refused_with_both_numbers() -> None:  # row 35
    for ask in (MODEL.transform, lambda X: MODEL.recommend(history=X)):
        with pytest.raises(ValueError, match=r"7 features.*20 features"):
            ask(np.ones((2, 7), dtype=int))


def test_nothing_can_be_asked_before_the_fit() -> None:  # row 37
    blank = dcpf.DCPF(n_neighbors=0)
    for ask in (
        lambda: blank.recommend("user 3"),
        lambda: blank.predict_pairs("user 3", "item 1"),
        lambda: blank.similar_items("item 1"),
        lambda: blank.similar_users("user 3"),
        lambda: blank.explain("user 3", "item 1"),
        lambda: blank.partial_fit_users(COUNTS),
        lambda: blank.partial_fit_items(COUNTS),
        lambda: blank.forget_users(["user 3"]),
        lambda: blank.save("model.safetensors"),
        lambda: blank.sessions(),
    ):
        with pytest.raises(NotFittedError):
            ask()


# -- pairs --------------------------------------------------------------------------------------------------


def test_pairs_are_predicted_as_they_are_recommended() -> None:
    items, scores = MODEL.recommend("user 3", n=4)
    pairs = MODEL.predict_pairs("user 3", items)
    np.testing.assert_allclose(pairs.sessions, scores, rtol=1e-6)
    np.testing.assert_allclose(pairs.counts, pairs.sessions * MODEL.element_.mean)
    np.testing.assert_allclose(pairs.at_least(1), pairs.probabilities, rtol=1e-12)
    np.testing.assert_array_equal(pairs.at_least(0), 1.0)
    pmf = MODEL.element_.marginal_pmf(float(pairs.sessions[0]), 3)
    np.testing.assert_allclose(pairs.at_least(4)[0], 1.0 - pmf.sum(), rtol=1e-12)


def test_pairs_go_side_by_side_and_one_goes_with_all() -> None:
    both = MODEL.predict_pairs(["user 3", "user 4"], ["item 1", "item 2"])
    one = MODEL.predict_pairs("user 4", ["item 1", "item 2"])
    other = MODEL.predict_pairs(["user 3", "user 4"], "item 2")
    np.testing.assert_array_equal(both.sessions[1], [one.sessions[1]])
    np.testing.assert_array_equal(both.sessions[1], [other.sessions[1]])
    with pytest.raises(ValueError, match="2 users and 3 items"):
        MODEL.predict_pairs(["user 3", "user 4"], ["item 1", "item 2", "item 3"])
    with pytest.raises(dcpf.UnknownId, match="unknown item 'item 77'"):
        MODEL.predict_pairs("user 3", ["item 77"])


def test_the_interval_holds_the_rates_drawn_from_the_posterior() -> None:
    pairs = MODEL.predict_pairs("user 3", ["item 1", "item 2", "item 3"])
    rng = np.random.default_rng(0)
    W, H = MODEL.user_posterior_, MODEL.item_posterior_
    w = rng.gamma(W.shape[3].astype(float), 1.0 / (W.row_rate[3] + W.column_rate), (20_000, 4))
    low, high = pairs.interval(0.9)
    for j, item in enumerate((1, 2, 3)):
        h = rng.gamma(H.shape[item].astype(float), 1.0 / (H.row_rate[item] + H.column_rate), (20_000, 4))
        rates = (w * h).sum(axis=1)
        assert abs(((low[j] < rates) & (rates < high[j])).mean() - 0.9) < 0.05
        np.testing.assert_allclose(pairs.variance[j], rates.var(), rtol=0.2)
    wider = pairs.interval(0.99)
    assert (wider[0] < low).all()
    assert (wider[1] > high).all()
    with pytest.raises(ValueError, match="level"):
        pairs.interval(1.5)


def test_the_binary_limit_knows_no_expected_count() -> None:
    binary = dcpf.DCPF(2, "binary", max_iter=5, tol=0.0, random_state=0, n_neighbors=0).fit(COUNTS)
    assert np.isnan(binary.predict_pairs("user 3", ["item 1"]).counts).all()
    assert binary.recommend("user 3", n=2).to_frame()["count"].is_nan().all()


# -- what is similar ----------------------------------------------------------------------------------------


def test_similar_ones_are_of_the_same_camp_and_not_oneself() -> None:
    items, cosines = MODEL.similar_items("item 4", n=5)
    assert all(int(item.split()[1]) % 2 == 0 for item in items)
    assert "item 4" not in items
    assert (np.diff(cosines) <= 0).all()
    assert cosines[0] <= 1.0 + 1e-6
    users, _ = MODEL.similar_users(["user 7", "user 8"], n=5)
    assert [{int(user.split()[1]) % 2 for user in found} for found in users] == [{1}, {0}]


def test_similar_frames_name_both() -> None:
    frame = MODEL.similar_items(["item 4"], n=2).to_frame()
    assert frame.columns == ["to_item", "item", "name", "rank", "similarity"]
    assert MODEL.similar_users("user 1", n=2).to_frame().columns == ["to_user", "user", "rank", "similarity"]


# -- explanations -------------------------------------------------------------------------------------------


def test_the_parts_of_an_explanation_add_up_to_the_score() -> None:
    for item in ("item 0", missing(3)):
        why = MODEL.explain("user 3", item)
        np.testing.assert_allclose(why.score, MODEL.predict_pairs("user 3", [item]).sessions[0], rtol=1e-6)
        np.testing.assert_allclose(why.components.sum(), why.score, rtol=1e-12)
        np.testing.assert_allclose(why.prior + why.parts.sum(), why.score, rtol=1e-12)
        assert (why.parts >= 0.0).all()
        assert why.prior > 0.0


def test_an_explanation_reads_counts_as_sessions() -> None:
    why = MODEL.explain("user 3", missing(3))
    row = COUNTS.matrix[[3]].toarray()[0]
    np.testing.assert_array_equal(why.counts, row[why.items])
    np.testing.assert_allclose(why.sessions, MODEL.sessions().toarray()[3][why.items], rtol=1e-6)


def test_parts_of_the_history_equal_the_formula() -> None:
    """part_j = sum_k h_ik E[c_jk] / rate_k, up to how far q(w) has settled."""
    W, H = MODEL.user_posterior_, MODEL.item_posterior_
    why = MODEL.explain("user 3", "item 0")
    rate = W.row_rate[3] + W.column_rate
    eW = np.exp(digamma(W.shape[3].astype(float))) / rate
    eH = np.exp(digamma(H.shape.astype(float))) / (H.row_rate[:, None] + H.column_rate)
    shares = eW * eH[why.items]
    shares *= (why.sessions / shares.sum(axis=1))[:, None]
    np.testing.assert_allclose(why.parts, shares @ (H.mean[0] / rate), rtol=0.05)


def test_a_history_of_nobody_in_particular_is_explained() -> None:
    why = MODEL.explain(None, "item 6", history={"item 0": 3, "item 2": 40})
    assert why.user is None
    assert set(why.to_frame()["item"]) == {"item 0", "item 2"}
    assert why.to_dict()["history"][0]["part"] == pytest.approx(why.parts[0])
    assert "ITEM 6" in repr(why)


def test_known_items_of_integer_models_are_found_by_number() -> None:
    model = dcpf.DCPF(2, "geometric", max_iter=5, tol=0.0, random_state=0, n_neighbors=0).fit(COUNTS.matrix)
    items, _ = model.recommend(3, n=2)
    assert items.dtype == np.int64
    assert model.explain(np.int64(3), items[0]).user == 3
    assert model.recommend(np.array([3, 4]), n=2).to_frame()["user"].to_list() == [3, 3, 4, 4]


def test_users_without_entries_get_what_is_popular() -> None:  # row 9
    counts = np.random.default_rng(0).poisson(np.linspace(0.05, 2.0, 20), (60, 20))
    counts[5], counts[:, 7] = 0, 0
    model = dcpf.DCPF(2, "geometric", max_iter=50, tol=0.0, random_state=0, n_neighbors=0).fit(
        sparse.csr_array(counts)
    )
    items, _ = model.recommend(5, n=20)
    assert len(items) == 20
    assert set(items[:4]) <= set(range(13, 20))
    assert items[-1] == 7


def test_a_history_belongs_to_the_user_who_is_named() -> None:
    history = {"item 1": 4, "item 3": 4, "item 5": 2}
    bare, _ = MODEL.recommend(n=4, history=history)
    for user in ("user 2", "newcomer"):
        items, scores = MODEL.recommend(user, n=4, history=history)
        assert items.tolist() == bare.tolist()
        pairs = MODEL.predict_pairs(user, items, history=history)
        np.testing.assert_allclose(pairs.sessions, scores, rtol=1e-6)
        assert set(MODEL.explain(user, "item 7", history=history).to_frame()["item"]) == set(history)
    assert MODEL.predict_pairs(None, ["item 7"], history=history).to_frame()["user"].to_list() == [None]
    with pytest.raises(ValueError, match="history of one user, but 2 ask"):
        MODEL.recommend(["user 2", "user 3"], history=history)


def test_a_history_of_others_is_not_passed_over_in_silence() -> None:
    others = Counts.from_matrix([[1], [2]], ["x", "y"], ["item 1"])
    with pytest.raises(ValueError, match=r"has none of these users, such as 'user 3'.*such as 'x'"):
        MODEL.recommend("user 3", history=others)
    with pytest.raises(ValueError, match="for one user, found 2"):
        MODEL.explain(None, "item 2", history=others)
    with pytest.raises(ValueError, match="Give a user, or a history"):
        MODEL.explain(None, "item 2")


def test_ids_are_the_same_however_they_are_spelt() -> None:
    model = dcpf.DCPF(2, "geometric", max_iter=5, tol=0.0, random_state=0, n_neighbors=0).fit(COUNTS.matrix)
    best = int(next(iter(model.recommend(5, n=1)))[0])
    for user in (5, "5", np.int32(5)):
        for key in (5, "5"):
            found = model.recommend(user, n=20, deny_by_user={key: [best]})
            assert best not in next(iter(found))
            assert found.to_frame()["user"].to_list() == [5] * len(found.ranked.columns)
    mixed = model.recommend([5, "bob"], n=1, unknown="popular").to_frame()
    assert mixed["user"].to_list() == ["5", "bob"]
    with pytest.raises(TypeError, match="deny_by_user must map"):
        model.recommend(5, deny_by_user=[best])


@pytest.mark.parametrize("users", [1.5, b"user 1", {"user 1": 2}, None])
def test_what_is_no_user_is_a_type_error(users: object) -> None:
    if users is not None:
        with pytest.raises(TypeError, match=r"an id .* or a list of ids"):
            MODEL.recommend(users)
        with pytest.raises(TypeError, match=r"an id .* or a list of ids"):
            MODEL.similar_users(users)


def test_users_may_come_in_any_kind_of_list() -> None:
    import pandas as pd

    expected = MODEL.recommend(["user 2", "user 3"], n=3).to_frame()
    kinds = [("user 2", "user 3"), np.array(["user 2", "user 3"]), iter(["user 2", "user 3"])]
    kinds += [pd.Series(["user 2", "user 3"]), pl.Series(["user 2", "user 3"])]
    for users in kinds:
        assert MODEL.recommend(users, n=3).to_frame().equals(expected)


def test_the_binary_limit_has_a_probability_of_any_only() -> None:
    binary = dcpf.DCPF(2, "binary", max_iter=5, tol=0.0, random_state=0, n_neighbors=0).fit(COUNTS)
    pairs = binary.predict_pairs("user 3", ["item 1"])
    np.testing.assert_array_equal(pairs.at_least(1), pairs.probabilities)
    assert np.isnan(pairs.at_least(2)).all()
    with pytest.raises(ValueError, match="m must be a whole number"):
        pairs.at_least(1.5)


def test_asking_side_by_side_leaves_blas_as_it_was() -> None:
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_info

    def blas() -> list[int]:
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    rng = np.random.default_rng(0)
    model = dcpf.DCPF(2, "raw", max_iter=2, tol=0.0, random_state=0, n_neighbors=0).fit(rng.poisson(0.5, (1500, 40)))
    before, expected = blas(), model.recommend(n=5).ranked.columns
    with ThreadPoolExecutor(6) as pool:
        for found in pool.map(lambda _: model.recommend(n=5).ranked.columns, range(12)):
            np.testing.assert_array_equal(found, expected)
    assert blas() == before


def test_a_copy_of_a_model_answers_alike() -> None:
    import copy
    import pickle

    for twin in (copy.deepcopy(MODEL), pickle.loads(pickle.dumps(MODEL))):
        assert twin.recommend(n=3).to_frame().equals(MODEL.recommend(n=3).to_frame())


def test_items_may_be_called_by_their_names() -> None:
    by_id, by_name = MODEL.explain("user 3", "item 4"), MODEL.explain("user 3", "ITEM 4")
    assert by_id.to_dict() == by_name.to_dict()
    assert MODEL.similar_items("Item 4").to_frame().equals(MODEL.similar_items("item 4").to_frame())
    assert MODEL.predict_pairs("user 3", ["ITEM 4", "item 5"]).sessions.shape == (2,)
    named, plain = (MODEL.recommend(n=3, history={one: 3}).to_frame() for one in ("ITEM 4", "item 4"))
    assert named.equals(plain)
    with pytest.raises(dcpf.UnknownId, match="did you mean 'ITEM 1"):
        MODEL.similar_items("ITEM 1x")


def test_an_empty_history_is_offered_what_is_popular() -> None:
    popular = MODEL.recommend("stranger", n=5, unknown="popular")
    empty = MODEL.recommend(n=5, history={})
    assert empty.ranked.columns.tolist() == popular.ranked.columns.tolist()


def test_a_pandas_series_is_a_history_and_a_list_of_items_is_none() -> None:
    import pandas as pd

    series = MODEL.recommend(n=3, history=pd.Series({"item 0": 3, "item 2": 1})).to_frame()
    assert series.equals(MODEL.recommend(n=3, history={"item 0": 3, "item 2": 1}).to_frame())
    with pytest.raises(TypeError, match="a mapping of items to counts"):
        MODEL.recommend(history=["item 0"])
    with pytest.raises(TypeError, match="or a list of ids"):
        MODEL.recommend(pd.DataFrame({"user": ["user 3"]}))


@pytest.mark.parametrize("count", [-3, 1.5, float("nan"), "x", 2**31])
def test_a_history_names_the_item_whose_count_is_none(count: object) -> None:
    with pytest.raises(dcpf.InvalidCounts, match=r"the count of item 'item 2' is"):
        MODEL.recommend(history={"item 1": 3, "item 2": count})


@pytest.mark.parametrize("part", ["user_posterior_", "item_posterior_"])
def test_a_model_with_numbers_that_are_not_finite_is_refused_and_not_silent(part: str) -> None:
    damaged = copy.deepcopy(MODEL)
    getattr(damaged, part).shape[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"not finite.*dcpf doctor"):
        damaged.recommend(n=3)


@pytest.mark.parametrize("strength", [np.nan, np.inf])
def test_strengths_that_are_not_finite_are_refused(strength: float) -> None:
    damaged = dcpf.DCPF(2, max_iter=20, tol=0.0, random_state=0, n_jobs=1, n_neighbors=3).fit(COUNTS)
    damaged.excitation_.strength.data[0] = strength
    with pytest.raises(ValueError, match="not finite"):
        damaged.recommend("user 1")


def test_a_random_state_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"random_state must be a whole number.*found 'x'"):
        dcpf.DCPF(2, random_state="x").fit(COUNTS)


def test_a_lazy_table_and_a_path_are_told_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"\.collect\(\)"):
        dcpf.DCPF(2).fit(pl.DataFrame({"user": [1], "item": [2], "count": [3]}).lazy())
    with pytest.raises(TypeError, match=r"dcpf\.read_counts"):
        dcpf.DCPF(2).fit("plays.csv")
    with pytest.raises(dcpf.InvalidCounts, match="empty"):
        dcpf.read_counts("")


def test_text_that_is_damaged_is_an_error_of_ours() -> None:
    from dcpf.counts import Strings

    strings = Strings.of(["ann", "bob"])
    damaged = Strings(strings.offsets, np.where(np.arange(6) == 4, 255, strings.utf8).astype(np.uint8))
    assert damaged[0] == "ann"
    for ask in (lambda: damaged[1], lambda: list(damaged)):
        with pytest.raises(dcpf.InvalidCounts, match=r"no text in UTF-8.*damaged"):
            ask()


def test_a_history_is_read_as_an_explanation_reads_it() -> None:
    fresh = {"item 1": 4, "item 2": 1}
    for user, history in (("user 3", None), (None, fresh)):
        counts, sessions = history_of(MODEL.fitted_, user, history)
        why = MODEL.explain(user, "item 5", history=history)
        order = np.argsort(why.items)
        np.testing.assert_array_equal(counts.indices, why.items[order])
        np.testing.assert_array_equal(counts.data, why.counts[order])
        np.testing.assert_array_equal(sessions, why.sessions[order])
