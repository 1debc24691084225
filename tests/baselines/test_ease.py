"""EASE against the formula of its paper in dense matrices, and against what it is the optimum of."""

import numpy as np
import pytest
from scipy import sparse
from tests.baselines.camps import random_counts

from dcpf.baselines import Ease, TooManyItems, ease, memory_needed

WEIGHTS = {"binary": lambda y: (y > 0).astype(float), "log": lambda y: np.log(1.0 + y), "raw": lambda y: 1.0 * y}
COUNTS = random_counts(40, 13)


def dense_weights(X: np.ndarray, regularization: float) -> np.ndarray:
    P = np.linalg.inv(X.T @ X + regularization * np.eye(X.shape[1]))
    return np.eye(X.shape[1]) - P @ np.diag(1.0 / np.diag(P))


@pytest.mark.parametrize("block", [1, 4, 1024])
@pytest.mark.parametrize("weighting", WEIGHTS)
def test_weights_and_scores_equal_the_dense_formula(
    weighting: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ease, "_BLOCK", block)
    model = Ease(3.0, weighting).fit(COUNTS)  # type: ignore[arg-type]
    X = WEIGHTS[weighting](COUNTS)
    B = dense_weights(X, 3.0)
    np.testing.assert_allclose(model.weights_, B, rtol=0, atol=1e-6)
    items, scores = model.recommend(n=13, exclude_seen=False)
    for row in range(40):
        np.testing.assert_allclose(scores[row], (X[row] @ B)[items[row]], rtol=0, atol=1e-5)
        assert (np.diff(scores[row]) <= 0).all()


def test_a_function_of_counts_may_give_the_weights() -> None:
    model = Ease(3.0, lambda counts: counts.sqrt()).fit(COUNTS)
    np.testing.assert_allclose(model.weights_, dense_weights(np.sqrt(COUNTS), 3.0), rtol=0, atol=1e-6)


def test_weights_are_the_best_without_an_item_explaining_itself() -> None:
    X, B = (COUNTS > 0).astype(float), Ease(3.0).fit(COUNTS).weights_
    for j in range(13):
        others = np.delete(np.arange(13), j)
        system = X[:, others].T @ X[:, others] + 3.0 * np.eye(12)
        np.testing.assert_allclose(B[others, j], np.linalg.solve(system, X[:, others].T @ X[:, j]), atol=1e-6)
        assert B[j, j] == 0.0


def test_an_item_that_nobody_has_gets_no_weight() -> None:
    counts = COUNTS.copy()
    counts[:, 5] = 0
    model = Ease(3.0).fit(counts)
    assert not model.weights_[5].any()
    assert not model.weights_[:, 5].any()


def test_a_badly_conditioned_matrix_is_inverted_precisely() -> None:
    counts = COUNTS.astype(np.int64)
    counts[:, 0] = 30_000
    expected = dense_weights(counts.astype(float), 1.0)
    np.testing.assert_allclose(Ease(1.0, "raw").fit(counts).weights_, expected, rtol=1e-4, atol=1e-7)


def test_what_float64_cannot_invert_is_refused_with_a_way_out() -> None:
    with pytest.raises(ValueError, match=r"too large; raise regularization, or use weighting='log'"):
        Ease(1e-6, "raw").fit(np.full((3, 4), 2**31 - 1))


def test_too_many_items_are_refused_with_the_memory_they_would_take() -> None:
    many = sparse.csr_array(([1], ([0], [20_000])), shape=(1, 20_001))
    with pytest.raises(TooManyItems, match=r"20,001 items would take 4\.5 GiB.*limit is 20,000.*ItemKNN"):
        Ease().fit(many)
    assert memory_needed(20_001) == 12 * 20_001**2


def test_the_limit_on_items_can_be_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ease, "MOST_ITEMS", 12)
    with pytest.raises(TooManyItems, match="13 items"):
        Ease().fit(COUNTS)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"regularization": 0.0}, "regularization must be a finite number > 0, found 0.0"),
        ({"regularization": np.nan}, "regularization must be a finite number > 0, found nan"),
        ({"regularization": "much"}, "regularization must be .* found 'much'"),
        (
            {"weighting": "sqrt"},
            "weighting must be one of 'binary', 'log', 'raw', or a function of counts, found 'sqrt'",
        ),
    ],
)
def test_impossible_parameters_are_named(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Ease(**parameters).fit(COUNTS)  # type: ignore[arg-type]
