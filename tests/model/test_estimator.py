"""The estimator: scikit-learn's contract, parameters, fold-in, determinism."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import check_estimator

import dcpf


def some_counts(users: int = 40, items: int = 30, seed: int = 0) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    rate = rng.gamma(0.3, 1.0, (users, 3)) @ rng.gamma(0.3, 1.0, (3, items))
    return sparse.csr_array(rng.poisson(rate) * rng.geometric(0.4, (users, items)))


COUNTS = some_counts()


def quick(**parameters: Any) -> dcpf.DCPF:
    return dcpf.DCPF(**({"n_components": 4, "max_iter": 12, "tol": 0, "random_state": 0} | parameters))


class CountsFromFractions(dcpf.DCPF):
    """Turns the made-up fractions of scikit-learn's checks into counts, and everything else over to DCPF."""

    def _counts(self, X: Any) -> Any:
        if sparse.issparse(X):
            return X.tocsr().ceil() if X.dtype.kind == "f" else X
        array = np.asarray(X)
        proper = array.dtype.kind == "f" and array.ndim == 2 and array.size
        if proper and np.isfinite(array).all() and array.min() >= 0:
            whole = np.ceil(array)
            if hasattr(X, "columns"):
                return X.__class__(whole, columns=X.columns)
            return whole if whole.any() else whole + 1
        return X

    def fit(self, X: Any, y: object = None) -> "CountsFromFractions":
        return super().fit(self._counts(X), y)

    def partial_fit(self, X: Any, y: object = None, **more: Any) -> "CountsFromFractions":
        return super().partial_fit(self._counts(X), y, **more)

    def transform(self, X: Any) -> Any:
        return super().transform(self._counts(X))


EXPECTED_TO_FAIL = {
    "check_dtype_object": "an array of objects is refused: counts are numbers",
}


def test_scikit_learn_checks_pass() -> None:
    estimator = CountsFromFractions(n_components=2, max_iter=20, tol=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # K above the size of the tiny matrices of the checks, and the like
        check_estimator(estimator, expected_failed_checks=EXPECTED_TO_FAIL)


def test_learned_names_are_there_and_have_the_right_shapes() -> None:
    model = quick(element="shifted-nb").fit(COUNTS)
    assert model.user_factors.shape == (40, 4)
    assert model.item_factors.shape == (30, 4)
    assert model.components_.shape == (4, 30)
    assert len(model.bounds_) == model.n_iter_ == 12
    assert 0 < model.element_.p < 1
    assert model.element_.a > 0
    np.testing.assert_allclose(model.user_posterior_.mean, model.user_factors)


def test_before_fit_nothing_is_there() -> None:
    for use in (lambda m: m.user_factors, lambda m: m.transform(COUNTS), lambda m: m.sessions(COUNTS)):
        with pytest.raises(NotFittedError):
            use(dcpf.DCPF())


@pytest.mark.parametrize("element", dcpf.elements.names())
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_same_bits_for_any_number_of_threads(element: str, dtype: str) -> None:
    one, two, four = (quick(element=element, dtype=dtype, n_jobs=n).fit(COUNTS) for n in (1, 2, 4))
    for other in (two, four):
        np.testing.assert_array_equal(one.bounds_, other.bounds_)
        np.testing.assert_array_equal(one.user_factors, other.user_factors)
        np.testing.assert_array_equal(one.item_factors, other.item_factors)
        np.testing.assert_array_equal(one.transform(COUNTS), other.transform(COUNTS))


def test_same_seed_same_model_other_seed_other_model() -> None:
    a, b, c = (quick(random_state=seed).fit(COUNTS) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.user_factors, b.user_factors)
    assert not np.array_equal(a.user_factors, c.user_factors)
    g = quick(random_state=np.random.default_rng(1)).fit(COUNTS)
    np.testing.assert_array_equal(a.user_factors, g.user_factors)
    quick(random_state=np.random.RandomState(1)).fit(COUNTS)


def test_second_fit_forgets_the_first() -> None:
    model = quick()
    first = model.fit(COUNTS).user_factors.copy()
    model.fit(some_counts(seed=5))
    np.testing.assert_array_equal(model.fit(COUNTS).user_factors, first)


def test_a_fit_that_is_refused_leaves_the_model_as_it_was() -> None:
    model = quick().fit(COUNTS)
    before = model.transform(COUNTS)
    with pytest.raises(dcpf.InvalidCounts):
        model.fit(-COUNTS[:, :20])
    np.testing.assert_array_equal(model.transform(COUNTS), before)


def test_an_interrupted_fit_keeps_what_it_has_reached() -> None:
    def interrupt(iteration: dcpf.Iteration) -> None:
        if iteration.number == 3:
            raise KeyboardInterrupt

    model = quick(callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(COUNTS)
    undisturbed = quick(max_iter=3).fit(COUNTS)
    assert model.n_iter_ == 3
    np.testing.assert_array_equal(model.user_factors, undisturbed.user_factors)


def test_a_number_that_is_not_finite_stops_the_fit_and_keeps_the_last_good_state(monkeypatch) -> None:
    from dcpf.inference import vbem

    real, calls = vbem.bound, []

    def bound(*arguments: object) -> float:
        calls.append(1)
        return np.nan if len(calls) == 5 else real(*arguments)

    monkeypatch.setattr(vbem, "bound", bound)
    model = quick(accelerate=False)
    with pytest.raises(FloatingPointError, match=r"iteration 5: the bound is nan.*iteration 4"):
        model.fit(COUNTS)
    assert model.n_iter_ == 4
    assert np.isfinite(model.recommend(0).ranked.scores).all()


def test_parameters_set_after_the_fit_wait_for_the_next() -> None:
    model = quick().fit(COUNTS)
    before = model.transform(COUNTS)
    model.set_params(shape_prior=5.0, learn_rates=False)
    np.testing.assert_array_equal(model.transform(COUNTS), before)


def test_permuting_users_and_items_permutes_the_answer() -> None:
    rng = np.random.default_rng(3)
    u, i = rng.permutation(40), rng.permutation(30)
    W0, H0 = rng.gamma(1.0, 0.1, (40, 4)), rng.gamma(1.0, 0.1, (30, 4))
    plain = quick(init=(W0, H0), dtype="float64").fit(COUNTS)
    permuted = quick(init=(W0[u], H0[i]), dtype="float64").fit(COUNTS[u][:, i])
    np.testing.assert_allclose(permuted.user_factors, plain.user_factors[u], rtol=1e-9)
    np.testing.assert_allclose(permuted.item_factors, plain.item_factors[i], rtol=1e-9)


@pytest.mark.parametrize("element", dcpf.elements.names())
def test_sessions_have_the_pattern_of_the_counts_and_lie_between_one_and_the_count(element: str) -> None:
    sessions = quick(element=element).fit(COUNTS).sessions(COUNTS)
    np.testing.assert_array_equal(sessions.indices, COUNTS.indices)
    np.testing.assert_array_equal(sessions.indptr, COUNTS.indptr)
    assert (sessions.data >= 1 - 1e-12).all()
    assert (sessions.data <= COUNTS.data * (1 + 1e-12)).all()


def test_sessions_of_other_rows_are_refused_with_both_numbers() -> None:
    with pytest.raises(ValueError, match="40 users of the fit, found 3 rows"):
        quick().fit(COUNTS).sessions(COUNTS[:3])


@pytest.mark.parametrize("element", dcpf.elements.names())
def test_folding_in_the_users_of_a_converged_fit_gives_their_factors(element: str) -> None:
    fitted = quick(n_components=3, element=element, max_iter=800, dtype="float64").fit(COUNTS)
    with_entries = np.diff(COUNTS.indptr) > 0
    W, again = fitted.user_factors[with_entries], fitted.transform(COUNTS)[with_entries]
    same = np.isclose(again, W, rtol=1e-3, atol=1e-3 * W.max()).all(axis=1)
    assert same.mean() > 0.8  # a few have more than one optimum


def test_a_row_is_folded_in_as_if_it_were_alone() -> None:
    model = quick().fit(COUNTS)
    together = model.transform(COUNTS)
    alone = np.vstack([model.transform(COUNTS[[u]]) for u in range(40)])
    np.testing.assert_array_equal(together, alone)


def test_a_new_user_without_history_gets_what_is_popular() -> None:
    model = quick(n_components=3, max_iter=200).fit(COUNTS)
    W = model.transform(sparse.csr_array((1, 30)))
    scores = (W @ model.item_factors.T)[0]
    popularity = model.user_factors.sum(axis=0) @ model.item_factors.T
    assert np.corrcoef(scores, popularity)[0, 1] > 0.8


def test_other_number_of_items_is_refused_with_both_numbers() -> None:
    with pytest.raises(ValueError, match=r"29 features.*30 features"):
        quick().fit(COUNTS).transform(COUNTS[:, :29])


def test_held_parameters_stay() -> None:
    element = dcpf.elements.Logarithmic(p=0.3)
    assert quick(element=element, learn_element=False).fit(COUNTS).element_ == element
    held = quick(learn_rates=False).fit(COUNTS)
    assert (held.user_posterior_.row_rate == 1).all()
    assert (held.item_posterior_.row_rate == 1).all()


def test_learned_element_starts_where_it_is_told() -> None:
    first = {p: quick(element=dcpf.elements.Logarithmic(p), max_iter=1).fit(COUNTS).element_.p for p in (0.1, 0.9)}
    assert first[0.1] != first[0.9]


def test_shape_prior_may_be_a_pair() -> None:
    pair, one = quick(shape_prior=(0.3, 1.0)).fit(COUNTS), quick(shape_prior=0.3).fit(COUNTS)
    assert pair.user_posterior_.shape.min() == pytest.approx(0.3, abs=0.05)
    assert pair.item_posterior_.shape.min() >= 1.0
    np.testing.assert_array_equal(quick(shape_prior=(0.3, 0.3)).fit(COUNTS).bounds_, one.bounds_)


def test_stops_when_the_bound_rises_by_less_than_tol() -> None:
    model = quick(tol=1e-4, max_iter=1000).fit(COUNTS)
    rises = np.diff(model.bounds_) / np.abs(model.bounds_[:-1])
    assert (rises[:-1] >= 1e-4).all()
    assert rises[-1] < 1e-4


def test_running_out_of_iterations_is_told_unless_tol_is_zero() -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        quick(tol=1e-9, max_iter=3).fit(COUNTS)
    assert quick(tol=0, max_iter=3).fit(COUNTS).n_iter_ == 3


def test_callback_sees_each_iteration_and_may_stop() -> None:
    seen: list[dcpf.Iteration] = []

    def callback(iteration: dcpf.Iteration) -> bool:
        seen.append(iteration)
        return iteration.number == 5

    model = quick(callback=callback).fit(COUNTS)
    assert model.n_iter_ == 5
    assert [iteration.bound for iteration in seen] == list(model.bounds_)
    assert seen[-1].element == model.element_
    assert seen[-1].seconds >= seen[0].seconds > 0


def test_after_a_callback_has_ended_a_fit_its_other_parts_can_be_learned() -> None:
    stopped = quick(callback=lambda iteration: iteration.number == 5).fit(COUNTS)
    assert [part.name for part in stopped.fitted_.parts] == ["factors"]
    wanted = quick(max_iter=5).fit(COUNTS).recommend(n=3)
    assert stopped.refit_parts().recommend(n=3).to_frame().equals(wanted.to_frame())


def test_verbose_tells_on_standard_error_and_quiet_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    quick().fit(COUNTS)
    assert capfd.readouterr() == ("", "")
    quick(verbose=True).fit(COUNTS)
    out, err = capfd.readouterr()
    assert out == ""
    assert "bound" in err
    assert "12/12" in err


def test_verbose_reports_what_was_made_of_the_counts(capfd: pytest.CaptureFixture[str]) -> None:
    counts = sparse.coo_array(([1, 2, 3, 0], ([0, 0, 2, 1], [1, 1, 0, 0])), shape=(3, 3))
    quick(n_components=2, verbose=True).fit(counts)
    err = " ".join(capfd.readouterr().err.split())
    assert "3 users x 3 items, 2 counts up to 3; 1 repeated pair summed; 1 user and 1 item without any" in err


def test_more_components_than_users_is_fine_with_one_warning() -> None:
    with pytest.warns(UserWarning, match="n_components=31") as caught:
        quick(n_components=31, tol=0).fit(COUNTS)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_components": -1}, "n_components must be a whole number >= 0, found -1"),
        ({"n_neighbors": 1.5}, "n_neighbors must be a whole number >= 0, found 1.5"),
        ({"n_components": 0, "n_neighbors": 0}, "both 0"),
        ({"neighbor_prior": 0.0}, "neighbor_prior must be a positive number, found 0.0"),
        ({"n_components": 2.5}, "n_components .* 2.5"),
        ({"max_iter": -1}, "max_iter .* -1"),
        ({"tol": -1e-3}, "tol .* -0.001"),
        ({"tol": np.nan}, "tol .* nan"),
        ({"dtype": "float16"}, "dtype .* 'float16'"),
        ({"shape_prior": 0.0}, "shape_prior .* 0.0"),
        ({"shape_prior": (0.3, -1)}, "shape_prior .* -1"),
        ({"shape_prior": (0.3, 0.3, 0.3)}, "shape_prior"),
        ({"element": "poisson"}, "unknown element 'poisson': choose one of binary, geometric"),
        ({"init": "nndsvd"}, "init .* 'nndsvd'"),
        ({"init": (np.ones((40, 4)), np.ones((29, 4)))}, r"E\[H\] must have shape \(30, 4\), found \(29, 4\)"),
        ({"init": (-np.ones((40, 4)), np.ones((30, 4)))}, r"E\[W\] must be positive"),
        ({"init": None}, "init must be .* found None"),
        ({"init": (np.full((40, 4), 1e-25), np.full((30, 4), 1e-25))}, "leave the range of float32"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"n_jobs": "2"}, "n_jobs .* found '2'"),
    ],
)
def test_impossible_parameters_are_named(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        quick(**parameters).fit(COUNTS)


@pytest.mark.parametrize("parameters", [{"element": 3}, {"callback": 3}])
def test_parameters_of_the_wrong_type_are_named(parameters: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="found 3"):
        quick(**parameters).fit(COUNTS)


def test_clone_copies_parameters_and_nothing_learned() -> None:
    copy = clone(quick(element="geometric").fit(COUNTS))
    assert copy.get_params() == quick(element="geometric").get_params()
    assert not hasattr(copy, "element_")


@pytest.mark.parametrize("form", ["csr_matrix", "csc_array", "coo_array", "dok_array", "dense", "matrix", "list"])
def test_every_form_of_a_matrix_gives_the_same_model(form: str) -> None:
    dense = COUNTS.toarray()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        forms = {"dense": dense, "matrix": np.asmatrix(dense), "list": dense.tolist()}
    X = forms.get(form)
    X = getattr(sparse, form)(COUNTS) if X is None else X
    np.testing.assert_array_equal(quick().fit(X).bounds_, quick().fit(COUNTS).bounds_)
