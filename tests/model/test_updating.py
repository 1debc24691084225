"""New data without a refit: the same as a fit's own step with the other side fixed."""

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import dcpf
from dcpf.counts import Counts
from dcpf.inference.data import Rows
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.posterior import sessions_at
from dcpf.kernels.threads import Threads
from dcpf.simulation import listening_data

LISTENING = listening_data(np.random.default_rng(0), n_users=80, n_songs=60)
USERS, ITEMS = [f"u{j:02}" for j in range(80)], [f"i{j:02}" for j in range(60)]
COUNTS = Counts.from_matrix(LISTENING.counts, USERS, ITEMS)


def fitted(counts: object = COUNTS, **parameters: object) -> dcpf.DCPF:
    settings = {"n_components": 4, "max_iter": 30, "tol": 0.0, "random_state": 0, "dtype": "float64"} | parameters
    return dcpf.DCPF(**settings).fit(counts)  # type: ignore[arg-type]


def one_step(
    model: dcpf.DCPF, W: GammaPosterior, H: GammaPosterior, counts: sparse.csr_array, prior: float
) -> np.ndarray:
    """E[w] after one more update of q(w) with H fixed, by the paper's formulas in numpy."""
    from scipy.special import digamma

    eW, eH = (np.exp(digamma(q.shape)) / (q.row_rate[:, None] + q.column_rate) for q in (W, H))
    data = Rows.from_matrix(counts)
    with Threads(1) as threads:
        sessions = sessions_at(data, (eW @ eH.T)[counts.nonzero()], model.element_, threads)
    dense = np.zeros(counts.shape)
    dense[np.repeat(np.arange(counts.shape[0]), np.diff(data.by_user.indptr)), data.by_user.indices] = sessions
    shape = prior + eW * ((dense / (eW @ eH.T)) @ eH)
    rate = prior * shape.shape[1] / W.mean.sum(axis=1)[:, None] + H.mean.sum(axis=0)
    return np.asarray(shape / rate)


def test_new_users_are_where_a_fit_with_fixed_items_would_bring_them() -> None:
    model = fitted(COUNTS.select(users=np.arange(70)))
    items = model.item_factors.copy()
    rest = COUNTS.select(users=np.arange(65, 80))  # five of them known already
    model.partial_fit_users(rest)
    np.testing.assert_array_equal(model.item_factors, items)
    assert list(model.users_) == USERS
    rows = slice(65, 80)
    np.testing.assert_allclose(model.user_factors[rows], model.transform(rest), rtol=1e-12)
    W = model.user_posterior_
    here = GammaPosterior(W.shape[rows], W.row_rate[rows], W.column_rate)
    stepped = one_step(model, here, model.item_posterior_, rest.matrix, 0.3)
    np.testing.assert_allclose(stepped, model.user_factors[rows], rtol=1e-5, atol=1e-6)


def test_new_items_are_where_a_fit_with_fixed_users_would_bring_them() -> None:
    model = fitted(COUNTS.select(items=np.arange(50)))
    users = model.user_factors.copy()
    model.partial_fit_items(COUNTS.select(items=np.arange(45, 60)))
    np.testing.assert_array_equal(model.user_factors, users)
    assert list(model.items_) == ITEMS
    assert model.n_features_in_ == 60
    H = model.item_posterior_
    here = GammaPosterior(H.shape[45:], H.row_rate[45:], H.column_rate)
    by_item = sparse.csr_array(COUNTS.matrix[:, 45:].T)
    stepped = one_step(model, here, model.user_posterior_, by_item, 0.3)
    np.testing.assert_allclose(stepped, model.item_factors[45:], rtol=5e-5, atol=1e-6)


def test_other_rows_keep_their_means() -> None:
    model = fitted()
    before = model.user_factors.copy()
    model.partial_fit_users(COUNTS.matrix[[3]], ["u77"])
    same = np.arange(80) != 77
    np.testing.assert_allclose(model.user_factors[same], before[same], rtol=1e-12)
    assert not np.array_equal(model.user_factors[77], before[77])


def test_the_history_of_updated_users_is_replaced() -> None:
    model = fitted()
    model.partial_fit_users(pl.DataFrame({"user": ["u03", "anna"], "item": ["i05", "i06"], "count": [7, 2]}))
    frame = dict(zip(model.users_, model.history_.toarray(), strict=True))
    assert frame["u03"].nonzero()[0].tolist() == [5]
    assert frame["u03"][5] == 7
    assert frame["anna"][6] == 2
    np.testing.assert_array_equal(frame["u04"], COUNTS.matrix[[4]].toarray()[0])
    assert "i06" not in next(iter(model.recommend("anna", n=60)))


def test_the_history_of_updated_items_is_replaced() -> None:
    model = fitted()
    model.partial_fit_items(Counts.from_matrix([[5, 1]], ["u03"], ["i05", "a new one"]).with_names({"i05": "Five"}))
    counts = dict(zip(model.items_, model.history_.T.toarray(), strict=True))
    assert counts["i05"].sum() == 5
    assert counts["a new one"][3] == 1
    np.testing.assert_array_equal(counts["i06"], COUNTS.matrix[:, [6]].toarray()[:, 0])
    named = dict(zip(model.items_, model.names_, strict=True))
    assert (named["i05"], named["i06"], named["a new one"]) == ("Five", "", "")


def test_unknown_ids_of_the_fixed_side_are_skipped_and_counted() -> None:
    model = fitted()
    with pytest.warns(UserWarning, match="1 of 2 items are unknown"):
        model.partial_fit_users(Counts.from_matrix([[1, 2]], ["new"], ["i01", "nothing"]))
    with pytest.warns(UserWarning, match="1 of 2 users are unknown"):
        model.partial_fit_items(Counts.from_matrix([[1], [2]], ["u01", "nobody"], ["new"]))


def test_a_matrix_needs_to_say_whose_rows_it_has() -> None:
    model = fitted()
    with pytest.raises(ValueError, match="pass users="):
        model.partial_fit_users(COUNTS.matrix[:2])
    with pytest.raises(ValueError, match="pass items="):
        model.partial_fit_items(COUNTS.matrix[:, :2])
    with pytest.raises(ValueError, match="brings its own ids"):
        model.partial_fit_users(COUNTS, USERS)
    with pytest.raises(ValueError, match=r"79 rows.*80 users"):
        model.partial_fit_items(COUNTS.matrix[:79, :2], ["a", "b"])
    model.partial_fit_items(COUNTS.matrix[:, :2], ["a", "b"])
    assert len(model.items_) == 62


def test_users_without_a_count_are_taken_in_too() -> None:
    model = fitted()
    model.partial_fit_users(np.zeros((1, 60), dtype=int), ["quiet"])
    items, _ = model.recommend("quiet", n=5)
    assert len(items) == 5


def test_forgotten_users_leave_no_trace(tmp_path) -> None:
    model = fitted()
    before = model.user_factors.copy()
    model.forget_users(["u03", "u50"])
    stay = [j for j in range(80) if j not in (3, 50)]
    np.testing.assert_array_equal(model.user_factors, before[stay])
    np.testing.assert_array_equal(model.history_.toarray(), COUNTS.matrix.toarray()[stay])
    with pytest.raises(dcpf.UnknownId):
        model.recommend("u03")
    model.save(tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    assert b"u02u04u05" in content
    assert b"u03" not in content
    with pytest.raises(dcpf.UnknownId, match="'nobody'"):
        model.forget_users(["nobody"])
    with pytest.raises(ValueError, match="nothing would be left"):
        model.forget_users(list(model.users_))


def test_a_model_that_has_no_count_any_more_is_kept_and_asked(tmp_path) -> None:
    model = fitted(n_neighbors=4)
    model.partial_fit_users(np.zeros((1, 60), dtype=int), ["quiet"])
    model.forget_users([user for user in model.users_ if user != "quiet"])
    model.partial_fit_items(np.zeros((1, 1), dtype=int), ["new"])
    model.save(tmp_path / "m")
    found, kept = (one.recommend("quiet", n=3).to_frame() for one in (model, dcpf.load(tmp_path / "m")))
    assert len(found) == 3
    assert found.equals(kept)


def test_parts_are_not_learned_anew_without_counts(tmp_path) -> None:
    model = fitted(n_neighbors=4)
    model.save(tmp_path / "m", history=False)
    with pytest.raises(ValueError, match="saved without its training counts, and cannot learn more: fit it again"):
        dcpf.DCPF.from_fitted(dcpf.load(tmp_path / "m")).refit_parts()
    model.partial_fit_users(np.zeros((80, 60), dtype=int), USERS)
    with pytest.raises(ValueError, match="have no counts any more"):
        model.refit_parts()


def test_a_second_fit_starts_afresh() -> None:
    model = fitted()
    first = model.user_factors.copy()
    np.testing.assert_array_equal(model.fit(COUNTS).user_factors, first)


def test_a_warm_start_goes_on_where_the_last_fit_stopped() -> None:
    model = fitted(warm_start=True, max_iter=60)
    last = model.bounds_[-1]
    assert model.set_params(max_iter=1).fit(COUNTS).bounds_[0] > last - 4e-3 * abs(last)
    assert fitted(max_iter=1).bounds_[0] < last - 2e-2 * abs(last)


def test_a_warm_start_keeps_who_is_known_when_users_and_items_come_and_go() -> None:
    yesterday = COUNTS.select(users=np.arange(10, 80), items=np.arange(5, 60))
    today = COUNTS.select(users=np.arange(0, 70)[::-1], items=np.arange(0, 55))
    model = fitted(yesterday, warm_start=True, max_iter=60)
    cold = fitted(today, max_iter=3)
    warm = model.set_params(max_iter=3).fit(today)
    assert list(warm.users_) == USERS[:70][::-1]
    assert warm.bounds_[-1] > cold.bounds_[-1]
    with pytest.raises(ValueError, match="has 4 components, n_components is now 5"):
        model.set_params(n_components=5).fit(today)


def test_rows_of_the_same_mean_fit_any_column_rate() -> None:
    q = GammaPosterior(np.array([[1.0, 2.0]]), np.array([0.5]), np.array([1.0, 3.0]))
    moved = q.with_column_rate(np.array([2.0, 5.0]))
    np.testing.assert_allclose(moved.mean, q.mean)
    np.testing.assert_array_equal(moved.column_rate, [2.0, 5.0])


def test_after_many_new_items_users_are_folded_in_with_their_own_rates() -> None:
    model = fitted(COUNTS.select(items=np.arange(6)), n_neighbors=0)
    model.partial_fit_items(COUNTS)
    why = model.explain(None, "i03", history={"i00": 1})
    assert (why.parts >= 0.0).all()
    assert 0.0 < why.prior < why.score
    counts = sparse.csr_array(([1], ([0], [model.items_.find("i00")])), shape=(1, len(model.items_)))
    with Threads(1) as threads:
        folded = model.fitted_.part("factors").fold_in(counts, model.element_, threads)
    pairs = model.predict_pairs(None, ["i03"], history={"i00": 1})
    np.testing.assert_allclose(pairs.sessions, folded.mean[0] @ model.item_factors[3])
    model.partial_fit_users(Counts.from_matrix([[1]], ["new"], ["i00"]))
    kept = model.user_posterior_.shape[model.users_.find("new")]
    np.testing.assert_allclose(kept, folded.shape[0], rtol=1e-6)
    assert (model.user_posterior_.shape > 0.3 - 1e-9).all()


def test_a_warm_start_keeps_names_and_tells_when_nothing_is_in_common() -> None:
    model = fitted(COUNTS.with_names({"i03": "Three"}), warm_start=True)
    model.fit(COUNTS.select(items=np.arange(2, 60)))
    assert dict(zip(model.items_, model.names_, strict=True))["i03"] == "Three"
    with pytest.warns(UserWarning, match="no users, or no items, in common"):
        model.fit(Counts.from_matrix(COUNTS.matrix, [f"other {j}" for j in range(80)], ITEMS))
