"""The index: exact where it looks at all, honest where it does not."""

from pathlib import Path

import numpy as np
import pytest

import dcpf
from dcpf.simulation import listening_data

pytest.importorskip("voyager")  # which has no wheels for Python 3.13 and later that work

from dcpf.adapters.voyager import ItemIndex

TRUTH = listening_data(np.random.default_rng(0), n_users=120, n_songs=300)
COUNTS = dcpf.Counts.from_matrix(TRUTH.counts, TRUTH.users, TRUTH.songs)


def fitted(n_neighbors: int, seed: int = 0) -> dcpf.DCPF:
    return dcpf.DCPF(6, n_neighbors=n_neighbors, max_iter=40, tol=0, random_state=seed).fit(COUNTS)


FACTORS = fitted(0)
INDEX = ItemIndex(FACTORS)


@pytest.mark.parametrize("n_neighbors", [0, 20])
def test_with_all_items_as_candidates_lists_are_exact(n_neighbors: int) -> None:
    model = FACTORS if n_neighbors == 0 else fitted(n_neighbors)
    index = ItemIndex(model, effort=400)
    for exclude_seen in (True, False):
        exact = model.recommend(n=10, exclude_seen=exclude_seen)
        found = index.recommend(n=10, candidates=300, exclude_seen=exclude_seen)
        np.testing.assert_array_equal(found.ranked.indptr, exact.ranked.indptr)
        np.testing.assert_allclose(found.ranked.scores, exact.ranked.scores, rtol=1e-6)
    assert index.recall(10, candidates=300) == 1.0


def test_each_item_has_its_own_vector_however_threads_come_by() -> None:
    model = fitted(0).set_params(n_jobs=8)
    wanted = model.item_factors
    for _ in range(200):
        np.testing.assert_array_equal(ItemIndex(model).index.get_vectors(np.arange(len(wanted))), wanted)


def test_with_few_candidates_most_is_found() -> None:
    assert INDEX.recall(10) > 0.9
    assert INDEX.recall(10, users=TRUTH.users[:1]) > 0.5


def test_recall_is_the_shared_part_of_the_lists() -> None:
    users = TRUTH.users[:20]
    (exact, _), (found, _) = FACTORS.recommend(users, n=10), INDEX.recommend(users, n=10, candidates=10)
    shared = sum(len(set(one) & set(other)) for one, other in zip(exact, found, strict=True))
    assert INDEX.recall(10, candidates=10, users=users) == shared / 200


def test_what_users_have_is_left_out_and_histories_are_folded_in() -> None:
    items, _ = INDEX.recommend(TRUTH.users[3], n=300, candidates=300)
    assert len(items) == 300 - TRUTH.counts[[3]].nnz
    history = {TRUTH.songs[4]: 12, TRUTH.songs[9]: 1}
    items, scores = INDEX.recommend(history=history, n=5, candidates=300)
    expected, exact = FACTORS.recommend(history=history, n=5)
    assert items[0].tolist() == expected.tolist()
    np.testing.assert_allclose(scores[0], exact, rtol=1e-6)


def test_a_saved_index_is_that_of_its_model_only(tmp_path: Path) -> None:
    path = tmp_path / "items.voy"
    INDEX.save(path)
    again = ItemIndex.load(path, FACTORS)
    np.testing.assert_array_equal(again.recommend(n=5).ranked.columns, INDEX.recommend(n=5).ranked.columns)
    with pytest.raises(ValueError, match="the index of another model"):
        ItemIndex.load(path, fitted(0, seed=1))


def test_what_is_wrong_is_told() -> None:
    with pytest.raises(ValueError, match="candidates must be a whole number >= 10, found 5"):
        INDEX.recommend(n=10, candidates=5)
    with pytest.raises(ValueError, match="connections must be a whole number"):
        ItemIndex(FACTORS, connections=0)
