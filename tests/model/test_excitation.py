"""A model with excitation: every answer is the sum of its parts, and the parts are those of dense formulas."""

import dataclasses
import time

import numpy as np
import pytest
from scipy import sparse

import dcpf
from dcpf.counts import Counts
from dcpf.elements import Logarithmic, names
from dcpf.evaluation import evaluate, log_likelihood
from dcpf.evaluation.predictive import predictive_check
from dcpf.model.fit import SHARE
from dcpf.parts.excitation import Excitation, MetExcitation, x_of
from dcpf.ranking.rates import UserSide
from dcpf.simulation import draw_counts, draw_excited

pytestmark = pytest.mark.quick

USERS, ITEMS = 70, 25


def counts(seed: int = 0) -> Counts:
    rng = np.random.default_rng(seed)
    W, H = rng.gamma(0.4, 0.6, (USERS, 4)), rng.gamma(0.4, 0.6, (ITEMS, 4))
    matrix = draw_counts(W, H, Logarithmic(0.6), rng)[0].toarray()
    matrix[0] = 0  # a user and an item without counts
    matrix[:, 7] = 0
    return Counts.from_matrix(matrix, [f"u{u:02}" for u in range(USERS)], [f"i{i:02}" for i in range(ITEMS)])


COUNTS = counts()


def fitted(data: object = COUNTS, **parameters: object) -> dcpf.DCPF:
    settings = {"n_components": 3, "n_neighbors": 6, "max_iter": 20, "tol": 0.0, "random_state": 0} | parameters
    return dcpf.DCPF(**settings).fit(data)  # type: ignore[arg-type]


def dense_rates(
    model: dcpf.DCPF, matrix: np.ndarray, W: np.ndarray | None = None, H: np.ndarray | None = None
) -> np.ndarray:
    """share * W H' + x S, from what is public and the definition of x; E[W] and E[H] if none are given."""
    excitation = model.excitation_
    assert excitation is not None
    lengths = np.maximum((matrix > 0).sum(axis=1, keepdims=True), 1)
    x = np.log1p(matrix) / np.sqrt(lengths) / excitation.scale
    S = excitation.strength.toarray().astype(np.float64)
    W, H = model.user_factors if W is None else W, model.item_factors if H is None else H
    return SHARE * (W.astype(np.float64) @ H.T.astype(np.float64)) + x @ S


def x_at(model: dcpf.DCPF) -> np.ndarray:
    return x_of(COUNTS.matrix, model.excitation_.scale).data


def test_x_is_1_on_average_and_nothing_excites_itself() -> None:
    model = fitted()
    excitation = model.excitation_
    assert excitation is not None
    assert x_at(model).mean() == pytest.approx(1.0)
    assert not excitation.strength.diagonal().any()
    assert excitation.strength[:, [7]].nnz == 0  # nobody has it
    assert (excitation.strength.data >= 0.0).all()


def test_where_nothing_goes_together_the_factors_keep_everything() -> None:
    everything = np.ones((30, ITEMS), dtype=np.int64)
    model, alone = (fitted(everything, n_neighbors=neighbors) for neighbors in (6, 0))
    assert model.excitation_ is None
    np.testing.assert_array_equal(
        model.recommend(n=3, exclude_seen=False).ranked.scores, alone.recommend(n=3, exclude_seen=False).ranked.scores
    )


def test_excitation_learned_anew_is_that_of_a_whole_fit() -> None:
    model = fitted().set_params(n_neighbors=4, neighbor_prior=10.0).refit_parts()
    expected = fitted(n_neighbors=4, neighbor_prior=10.0)
    assert model.get_params() == expected.get_params()
    assert model.excitation_ is not None and expected.excitation_ is not None
    for name in ("indptr", "indices", "data"):
        found, wanted = (getattr(one.excitation_.strength, name) for one in (model, expected))
        np.testing.assert_array_equal(found, wanted)
    assert model.fitted_.facts.parameters == expected.fitted_.facts.parameters
    with pytest.raises(ValueError, match="neighbor_prior must be a positive number, found -1"):
        model.set_params(neighbor_prior=-1).refit_parts()
    assert model.set_params(n_neighbors=0, neighbor_prior=10.0).refit_parts().excitation_ is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_are_the_sum_of_both_parts(dtype: str) -> None:
    model = fitted(dtype=dtype)
    rates = dense_rates(model, COUNTS.matrix.toarray())
    for seen in (True, False):
        left = np.where((COUNTS.matrix.toarray() > 0) & seen, -np.inf, rates)
        for u, (items, scores) in enumerate(zip(*model.recommend(n=ITEMS, exclude_seen=seen), strict=True)):
            places = model.items_.positions(items, "item")
            assert len(items) == np.isfinite(left[u]).sum()
            np.testing.assert_allclose(scores, left[u][places], rtol=1e-6)
            assert (np.diff(scores) <= 0.0).all()


def test_lists_are_the_same_alone_among_others_and_of_some_items() -> None:
    model = fitted()
    items, scores = model.recommend(n=5)
    for user in (0, 3, 69):
        alone = model.recommend(f"u{user:02}", n=5)
        np.testing.assert_array_equal(next(iter(alone)), items[user])
        np.testing.assert_array_equal(alone.ranked.scores, scores[user])
    some = [f"i{i:02}" for i in range(0, ITEMS, 2)]
    allowed, _ = model.recommend("u03", n=ITEMS, allow=some)
    everything, _ = model.recommend("u03", n=ITEMS)
    np.testing.assert_array_equal(allowed, [one for one in everything if one in some])
    denied, _ = model.recommend("u03", n=ITEMS, deny=some)
    np.testing.assert_array_equal(denied, [one for one in everything if one not in some])


def test_a_history_is_enough_for_a_new_user() -> None:
    model = fitted()
    history = {"i01": 3, "i04": 1}
    row = np.zeros((1, ITEMS), dtype=np.int64)
    row[0, [1, 4]] = 3, 1
    rates = dense_rates(model, row, model.transform(row))
    pairs = model.predict_pairs(None, list(model.items_), history=history)
    np.testing.assert_allclose(pairs.sessions, rates[0], rtol=1e-6)
    found = model.recommend(history=history, n=4)
    np.testing.assert_allclose(found.ranked.scores, np.sort(np.delete(rates[0], [1, 4]))[::-1][:4], rtol=1e-6)


def test_pairs_have_the_variance_of_both_parts() -> None:
    model, matrix = fitted(), COUNTS.matrix.toarray()
    excitation = model.excitation_
    assert excitation is not None
    rates, by_excitation = dense_rates(model, matrix), dense_rates(model, matrix, np.zeros_like(model.user_factors))
    excited = int(by_excitation[5].argmax())
    users, items = ["u05", "u60", "u05"], [f"i{excited:02}", "i00", "i20"]
    found = model.predict_pairs(users, items)
    np.testing.assert_allclose(found.sessions, [rates[5, excited], rates[60, 0], rates[5, 20]], rtol=1e-6)
    alone = fitted(n_neighbors=0).predict_pairs(users, items)
    x = np.log1p(matrix[5]) / np.sqrt((matrix[5] > 0).sum()) / excitation.scale
    sources, strength = excitation.sources_of(excited)
    mass, less = excitation.mass, (1.0 + excitation.mass / 25.0) ** -0.2
    worth = 40.0 * np.sqrt((matrix.sum(axis=1) > 0).sum() / 1500.0)  # users, at 25, where there are few
    rate = 0.5 * worth * (1.0 + np.sqrt(mass / 25.0)) + mass
    of_excitation = x[sources] ** 2 * strength * (less / (less @ mass / mass.sum()) / rate)[sources]
    assert of_excitation.sum() > 0.0
    assert found.variance[0] == pytest.approx(SHARE**2 * alone.variance[0] + of_excitation.sum(), rel=1e-5)


def test_variances_of_many_users_take_no_longer_than_their_rates() -> None:
    size, users = 3000, 3000
    rng = np.random.default_rng(0)
    strength = sparse.random_array((size, size), density=0.1, rng=rng, dtype=np.float32, format="csr")
    part = Excitation(strength, np.ones(size), 1.0, 1.0)
    met = MetExcitation(part, UserSide(np.empty((users, 0), np.float32), sparse.eye_array(users, size, format="csr")))
    pairs = rng.permutation(users), rng.integers(size, size=users)
    met.variance(pairs[0][:9], pairs[1][:9])  # compiles
    began = time.perf_counter()
    found = met.variance(*pairs)
    assert time.perf_counter() - began < 2.0
    np.testing.assert_allclose(found, np.asarray(strength[pairs], np.float64).ravel() / 2.0, rtol=1e-6, atol=1e-30)


def test_an_explanation_adds_up_and_names_what_excites() -> None:
    model, matrix = fitted(), COUNTS.matrix.toarray()
    excitation = model.excitation_
    assert excitation is not None
    items, scores = model.recommend("u05", n=3)
    for item, score in zip(items, scores, strict=True):
        why = model.explain("u05", item)
        assert why.score == score
        assert why.prior + why.parts.sum() == pytest.approx(score)
        assert why.components.sum() + why.excited == pytest.approx(score)
        assert why.to_dict()["excited"] == why.excited
        place = model.items_.find(item)
        here = slice(*COUNTS.matrix.indptr[5:7])
        x = dict(zip(COUNTS.matrix.indices[here], x_at(model)[here], strict=True))
        expected = sum(x.get(j, 0.0) * s for j, s in zip(*excitation.sources_of(place), strict=True))
        assert why.excited == pytest.approx(expected, rel=1e-5)
    assert matrix[5].sum() > 0


@pytest.mark.parametrize("element", [*names(), "raw", "binary"])
def test_every_element_learns_and_reads_sessions_between_1_and_the_count(element: str) -> None:
    model = fitted(element=element)
    sessions = model.sessions()
    assert (sessions.indices == COUNTS.matrix.indices).all()
    assert (sessions.data >= 1.0 - 1e-9).all()
    assert (sessions.data <= COUNTS.matrix.data + 1e-9).all()


def test_sessions_are_those_of_the_whole_rate() -> None:
    from scipy.special import digamma

    """Of q(n): there exp(E[log w]) stands for w, as in the paper."""
    model = fitted(element="logarithmic", dtype="float64")
    y = COUNTS.matrix.toarray()
    W, H = model.user_posterior_, model.item_posterior_
    geometric = [np.exp(digamma(q.shape)) / (q.row_rate[:, None] + q.column_rate) for q in (W, H)]
    r = dense_rates(model, y, *geometric) / -np.log1p(-model.element_.p)
    expected = (r * (digamma(r + y) - digamma(r)))[y > 0]
    np.testing.assert_allclose(model.sessions().data, expected, rtol=1e-6)


def test_factors_alone_are_those_of_a_fit_without_excitation() -> None:
    model, alone = fitted(), fitted(n_neighbors=0)
    assert alone.excitation_ is None
    np.testing.assert_array_equal(model.user_factors, alone.user_factors)
    np.testing.assert_array_equal(model.item_factors, alone.item_factors)
    np.testing.assert_array_equal(model.transform(COUNTS.matrix), alone.transform(COUNTS.matrix))
    assert model.element_ == alone.element_


def test_the_paper_by_name() -> None:
    named = dcpf.DCPF.paper(3, max_iter=4, tol=0.0, random_state=0)
    spelt = dcpf.DCPF(3, n_neighbors=0, accelerate=False, max_iter=4, tol=0.0, random_state=0)
    assert named.get_params() == spelt.get_params()
    np.testing.assert_array_equal(named.fit(COUNTS).bounds_, spelt.fit(COUNTS).bounds_)
    assert dcpf.DCPF.paper().n_components == 100


def test_no_components_leave_popularity() -> None:
    model = fitted(n_components=0)
    assert model.item_factors.shape == (ITEMS, 1)
    nobody, _ = model.recommend("u00", n=3)
    popular = np.argsort(-model.item_factors[:, 0], kind="stable")[:3]
    np.testing.assert_array_equal(nobody, [model.items_[i] for i in popular])
    assert model.partial_fit(COUNTS).item_factors.shape == (ITEMS, 1)


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_the_same_bits_for_any_number_of_threads(n_jobs: int) -> None:
    one, several = fitted(n_jobs=1), fitted(n_jobs=n_jobs)
    np.testing.assert_array_equal(one.excitation_.mass, several.excitation_.mass)
    for name in ("indptr", "indices", "data"):
        found = (getattr(model.excitation_.strength, name) for model in (one, several))
        np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(one.recommend(n=5).ranked.scores, several.recommend(n=5).ranked.scores)


def test_users_in_another_order_change_nothing_but_rounding() -> None:
    order = np.random.default_rng(4).permutation(USERS)
    init = (np.full((USERS, 1), 0.5), np.full((ITEMS, 1), 0.5))
    one = fitted(n_components=1, init=init)
    other = fitted(COUNTS.select(users=order), n_components=1, init=init)
    np.testing.assert_array_equal(one.excitation_.strength.indices, other.excitation_.strength.indices)
    np.testing.assert_allclose(one.excitation_.strength.data, other.excitation_.strength.data, rtol=1.1 * 2**-11)


def test_a_saved_model_is_the_same_and_the_same_bytes(tmp_path) -> None:
    model = fitted()
    model.save(tmp_path / "a.safetensors")
    loaded = dcpf.load(tmp_path / "a.safetensors")
    loaded.save(tmp_path / "b.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    np.testing.assert_array_equal(loaded.recommend(n=5).ranked.scores, model.recommend(n=5).ranked.scores)


def test_a_file_with_sources_that_are_no_items_is_refused(tmp_path) -> None:
    model = fitted()
    excitation = model.excitation_
    assert excitation is not None
    excitation.strength.indices[0] = ITEMS + 1
    model.save(tmp_path / "a.safetensors")
    with pytest.raises(dcpf.ModelFormatError, match=r"not a whole model.*columns"):
        dcpf.load(tmp_path / "a.safetensors")


@pytest.mark.parametrize("wrong", [{"weight": 0.0}, {"scale": -0.1}, {"growth": -1.0}, {"discount": 1.5}])
def test_a_file_with_numbers_that_no_excitation_has_is_refused(tmp_path, wrong: dict[str, float]) -> None:
    model = fitted().fitted_
    factors, excitation = model.parts
    impossible = dataclasses.replace(model, parts=(factors, dataclasses.replace(excitation, **wrong)))
    impossible.save(tmp_path / "a.safetensors")
    with pytest.raises(dcpf.ModelFormatError, match=f"the excitation has .*{next(iter(wrong.values()))}"):
        dcpf.load(tmp_path / "a.safetensors")


def test_new_users_and_items_leave_excitation_as_it_is_until_parts_are_learned_anew() -> None:
    model = fitted(COUNTS.select(items=np.arange(20)))
    before = model.excitation_
    assert before is not None
    model.partial_fit_users(Counts.from_matrix([[2, 1]], ["new"], ["i01", "i02"]))
    assert model.excitation_ is before  # what a user has is all there is to know
    model.partial_fit_items(COUNTS.select(items=np.arange(20, ITEMS)))
    after = model.excitation_
    assert after.strength.shape == (ITEMS, ITEMS)
    np.testing.assert_array_equal(after.strength.toarray()[:20, :20], before.strength.toarray())
    assert after.strength[:, 20:].nnz == after.strength[20:].nnz == 0
    assert model.refit_parts().excitation_.strength[20:].sum() > 0.0


def test_new_items_of_a_model_without_counts_are_excited_by_nothing(tmp_path) -> None:
    model = fitted(COUNTS.select(items=np.arange(2, ITEMS)))
    model.save(tmp_path / "m.safetensors", history=False)
    lean = dcpf.load(tmp_path / "m.safetensors").partial_fit_items(COUNTS.select(items=np.arange(2)))
    expected = np.zeros((ITEMS, ITEMS), np.float32)
    expected[2:, 2:] = model.excitation_.strength.toarray()
    np.testing.assert_array_equal(lean.part("excitation").strength.toarray(), expected)


def test_a_stream_learns_factors_and_other_parts_when_told_to() -> None:
    model = dcpf.DCPF(3, n_neighbors=6, random_state=0)
    for batch in (np.arange(40), np.arange(40, USERS)):
        model.partial_fit(COUNTS.select(users=batch))
    assert model.excitation_ is None
    found = model.refit_parts().excitation_
    chosen = fitted().excitation_.strength.toarray() > 0.0
    assert ((found.strength.toarray() > 0.0) == chosen).mean() > 0.95  # mostly by who has what


def test_partial_fit_leaves_the_other_parts_as_they_are() -> None:
    model = fitted()
    before = model.excitation_
    model.partial_fit(COUNTS.select(users=np.arange(10)))
    np.testing.assert_array_equal(model.excitation_.strength.toarray(), before.strength.toarray())
    assert model.fitted_.weights == (SHARE, 1.0)


def test_similar_items_excite_each_other() -> None:
    model = fitted()
    excitation = model.excitation_
    assert excitation is not None
    S = excitation.strength.toarray().astype(np.float64)
    for asked in (3, 7, 20):
        items, scores = model.similar_items(f"i{asked:02}", n=4)
        expected = np.sqrt(S[asked] * S[:, asked])
        np.testing.assert_allclose(scores, np.sort(expected[expected > 0.0])[::-1][:4])
        np.testing.assert_allclose(expected[model.items_.positions(items, "item")], scores)
    several, _ = model.similar_items(["i03", "i07"], n=4)
    assert (len(several[0]), len(several[1])) == (4, 0)  # nobody has the second
    assert len(model.similar_users("u03", n=4).ranked.columns) == 4


def test_held_out_likelihood_is_the_sum_over_every_pair() -> None:
    train, test = COUNTS.split(0.3, seed=1)
    model = fitted(train, element="logarithmic", dtype="float64")
    found = log_likelihood(model, test)
    rates = dense_rates(model, train.matrix.toarray())
    y, seen = test.matrix.toarray(), train.matrix.toarray() > 0
    who = y.sum(axis=1) > 0
    expected = sum(
        np.log(model.element_.marginal_pmf(rates[u, i], y[u, i])[y[u, i]])
        for u in np.flatnonzero(who)
        for i in range(ITEMS)
        if not seen[u, i]
    )
    assert found.counts == pytest.approx(expected, rel=1e-6)
    assert evaluate(model, test).mean("ndcg", 0) > 0.0


def test_draws_given_the_history_have_the_rates_of_the_model() -> None:
    model = fitted(element="geometric")
    excitation = model.excitation_
    assert excitation is not None
    matrix = COUNTS.matrix
    x = x_of(matrix, excitation.scale)
    rng = np.random.default_rng(0)
    drawn = sum(draw_excited(x, excitation.strength, model.element_, rng)[1].toarray() for _ in range(400)) / 400
    expected = (x @ excitation.strength).toarray()
    z = (drawn - expected) / np.sqrt(np.maximum(expected, 1e-9) / 400)
    assert (drawn[expected == 0.0] == 0.0).all()
    assert np.abs(z[expected > 0.05]).max() < 5.0
    check = predictive_check(model, draws=20)
    total = dense_rates(model, matrix.toarray()).sum() * model.element_.mean
    assert (check.drawn @ check.counts).mean() == pytest.approx(total, rel=0.05)


def test_what_goes_together_without_factors_to_tell_is_found() -> None:
    """Pairs of items that always go together: each is the other's strongest source."""
    rng = np.random.default_rng(0)
    has = rng.random((400, 10)) < 0.2
    matrix = np.repeat(has, 2, axis=1) * rng.integers(1, 4, (400, 20))
    model = dcpf.DCPF(0, n_neighbors=5, random_state=0).fit(matrix)
    excitation = model.excitation_
    assert excitation is not None
    strongest = excitation.strength.toarray().argmax(axis=0)
    np.testing.assert_array_equal(strongest, np.arange(20) ^ 1)
    assert next(iter(model.recommend(history={4: 1}, n=1)))[0] == 5


@pytest.mark.filterwarnings("error")
def test_an_item_that_nobody_had_explains_nothing_where_priors_are_tiny() -> None:
    for neighbors in (0, 6):
        model = fitted(n_neighbors=neighbors, shape_prior=0.001)
        found = model.explain(None, "i03", history={"i07": 2, "i01": 1})
        assert found.prior + found.parts.sum() == pytest.approx(found.score, rel=1e-5)
        assert found.parts[found.items.tolist().index(7)] == 0.0
