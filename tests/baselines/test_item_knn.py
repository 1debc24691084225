"""Item-kNN against the same in dense matrices, one pair of items at a time."""

import numpy as np
import pytest
from tests.baselines.camps import random_counts
from tests.baselines.test_ease import WEIGHTS

from dcpf.baselines import ItemKNN, neighbors

COUNTS = random_counts(40, 13)


def dense_similarity(X: np.ndarray, n: int, shrinkage: float) -> np.ndarray:
    items = X.shape[1]
    S = np.zeros((items, items))
    for j in range(items):
        cosines = {
            i: X[:, i] @ X[:, j] / (np.sqrt(X[:, i] @ X[:, i]) * np.sqrt(X[:, j] @ X[:, j]) + shrinkage)
            for i in range(items)
            if i != j and X[:, i] @ X[:, j] > 0
        }
        for i in sorted(cosines, key=lambda i: (-cosines[i], i))[:n]:
            S[i, j] = cosines[i]
    return S


@pytest.mark.parametrize("pairs", [1, 30, 2**22])
@pytest.mark.parametrize(("n", "shrinkage"), [(1, 0.0), (4, 2.5), (100, 10.0)])
@pytest.mark.parametrize("weighting", WEIGHTS)
def test_similarities_and_scores_equal_the_dense_formula(
    weighting: str, n: int, shrinkage: float, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbors, "_PAIRS", pairs)
    X = WEIGHTS[weighting](COUNTS)
    model = ItemKNN(n, shrinkage, weighting).fit(COUNTS)  # type: ignore[arg-type]
    S = dense_similarity(X, n, shrinkage)
    np.testing.assert_allclose(model.similarity_.toarray(), S, rtol=1e-12)
    items, scores = model.recommend(n=13, exclude_seen=False)
    for row in range(40):
        np.testing.assert_allclose(scores[row], (X[row] @ S)[items[row]], rtol=1e-12, atol=1e-12)


def test_among_equally_similar_items_the_first_are_kept() -> None:
    model = ItemKNN(2, 0.0).fit(np.ones((3, 5), dtype=int))
    assert model.similarity_.toarray()[:, 0].tolist() == pytest.approx([0, 1, 1, 0, 0])
    assert model.similarity_.toarray()[:, 4].tolist() == pytest.approx([1, 1, 0, 0, 0])


def test_items_without_users_are_similar_to_none() -> None:
    counts = COUNTS.copy()
    counts[:, 5] = 0
    similarity = ItemKNN(3, 0.0).fit(counts).similarity_.toarray()
    assert np.isfinite(similarity).all()
    assert not similarity[5].any()
    assert not similarity[:, 5].any()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be a whole number >= 1, found 0"),
        ({"shrinkage": -1.0}, "shrinkage must be a finite number >= 0, found -1.0"),
        ({"weighting": "bm25"}, "weighting must be one of .* found 'bm25'"),
    ],
)
def test_impossible_parameters_are_named(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ItemKNN(**parameters).fit(COUNTS)  # type: ignore[arg-type]
