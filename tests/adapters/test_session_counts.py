"""The transformer: between ones and counts, by row, in scikit-learn's shape."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import NMF
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from tests.model.test_estimator import EXPECTED_TO_FAIL, CountsFromFractions, some_counts

import dcpf
from dcpf.baselines import Ease

COUNTS = some_counts()


def quick(**parameters: Any) -> dcpf.SessionCounts:
    return dcpf.SessionCounts(**({"n_components": 4, "random_state": 0} | parameters))


class SessionsFromFractions(dcpf.SessionCounts):
    """Turns the made-up fractions of scikit-learn's checks into counts, as for DCPF."""

    _counts = CountsFromFractions._counts

    def fit(self, X: Any, y: object = None) -> "SessionsFromFractions":
        return super().fit(self._counts(X), y)  # type: ignore[arg-type]

    def transform(self, X: Any) -> sparse.csr_array:
        return super().transform(self._counts(X))  # type: ignore[arg-type]


def test_scikit_learn_checks_pass() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # K above the size of the tiny matrices of the checks, and the like
        check_estimator(SessionsFromFractions(2, max_iter=8), expected_failed_checks=EXPECTED_TO_FAIL)


def test_counts_become_sessions_where_they_stand() -> None:
    found = quick().fit_transform(COUNTS)
    np.testing.assert_array_equal(found.indptr, COUNTS.indptr)
    np.testing.assert_array_equal(found.indices, COUNTS.indices)
    assert (found.data[COUNTS.data == 1] == 1.0).all()
    several = COUNTS.data > 1
    assert (found.data[several] > 1.0).all()
    assert (found.data[several] < COUNTS.data[several]).all()


def test_limits_are_counts_and_ones() -> None:
    np.testing.assert_allclose(quick(element="raw").fit_transform(COUNTS).toarray(), COUNTS.toarray())
    np.testing.assert_allclose(quick(element="binary").fit_transform(COUNTS).toarray(), COUNTS.toarray() > 0)


def test_sessions_are_nearly_those_of_the_fit() -> None:
    sessions = quick()
    found = sessions.fit_transform(COUNTS)
    # Folded in to convergence, while a fit stops when its bound hardly rises
    np.testing.assert_allclose(found.data, sessions.model_.sessions().data, rtol=0.02)


def test_each_row_is_transformed_by_itself() -> None:
    sessions = quick().fit(COUNTS)
    whole, other = sessions.transform(COUNTS), some_counts(seed=3)
    np.testing.assert_array_equal(sessions.transform(COUNTS[7:9]).toarray(), whole[7:9].toarray())
    np.testing.assert_array_equal(
        sessions.transform(sparse.vstack([other, COUNTS[:3]])).toarray()[-3:], whole[:3].toarray()
    )


def test_input_is_left_as_it_was() -> None:
    given = COUNTS.copy()
    quick().fit_transform(given)
    np.testing.assert_array_equal(given.data, COUNTS.data)


def test_ids_say_which_column_is_which() -> None:
    items = [f"song-{j:02}" for j in range(30)]
    counts = dcpf.Counts.from_matrix(COUNTS, items=items)
    sessions = quick().fit(counts)
    part = counts.select(users=np.arange(5), items=np.arange(10, 20))
    expected = COUNTS[:5].copy().toarray()
    expected[:, :10], expected[:, 20:] = 0, 0
    np.testing.assert_array_equal(sessions.transform(part).toarray(), sessions.transform(expected).toarray())


def test_in_a_pipeline_and_as_weights() -> None:
    tastes = make_pipeline(quick(), NMF(3, random_state=0, max_iter=1000)).fit_transform(COUNTS)
    assert tastes.shape == (40, 3)
    by_sessions = Ease(5.0, weighting=quick().fit(COUNTS).transform).fit(COUNTS)
    by_ones = Ease(5.0, weighting=quick(element="binary").fit(COUNTS).transform).fit(COUNTS)
    np.testing.assert_allclose(by_ones.weights_, Ease(5.0, weighting="binary").fit(COUNTS).weights_, atol=1e-6)
    assert not np.allclose(by_sessions.weights_, by_ones.weights_, atol=1e-3)
    np.testing.assert_array_equal(
        clone(by_sessions).fit(COUNTS).recommend(n=3).ranked.columns, by_sessions.recommend(n=3).ranked.columns
    )


def test_what_is_wrong_is_told() -> None:
    with pytest.raises(NotFittedError):
        quick().transform(COUNTS)
    with pytest.raises(ValueError, match="29 features"):
        quick().fit(COUNTS).transform(COUNTS[:, :29])
    with pytest.raises(ValueError, match="unknown element"):
        quick(element="nothing").fit(COUNTS)
