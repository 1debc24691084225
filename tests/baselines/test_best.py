"""The best n by score and then by place, as a stable sort of everything gives them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.baselines.camps import random_counts

from dcpf.baselines import base
from dcpf.baselines.base import best, best_in_blocks

few_values = st.sampled_from([-np.inf, -2.5, -1.0, 0.0, 0.5, 0.5000001, 7.0])


@given(scores=st.lists(few_values, max_size=30), n=st.integers(0, 35))
def test_best_equals_a_stable_sort(scores: list[float], n: int) -> None:
    array = np.array(scores, dtype=np.float64)
    np.testing.assert_array_equal(best(array, n), np.argsort(-array, kind="stable")[:n])


def test_among_equals_the_first_ones_are_chosen() -> None:
    assert best(np.array([1.0, 3.0, 3.0, 2.0, 3.0, 3.0]), 3).tolist() == [1, 2, 4]


@pytest.mark.parametrize("size", [1, 40, 2**22])
@pytest.mark.parametrize("exclude_seen", [True, False])
def test_blocks_of_any_size_give_the_ranking_of_each_row(
    size: int, exclude_seen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "_SCORES", size)
    counts = random_counts(25, 11)
    counts[3], counts[4] = 0, 1  # one who has nothing, and one who has everything
    scores = np.random.default_rng(1).integers(-3, 3, counts.shape).astype(np.float64)
    ranked = best_in_blocks(lambda block: scores[block].copy(), sparse.csr_array(counts), 4, exclude_seen)
    for row in range(25):
        order = [j for j in np.argsort(-scores[row], kind="stable") if not (exclude_seen and counts[row, j])][:4]
        mine = slice(ranked.indptr[row], ranked.indptr[row + 1])
        assert ranked.columns[mine].tolist() == order
        np.testing.assert_array_equal(ranked.scores[mine], scores[row, order])


def test_no_rows_give_no_lists() -> None:
    ranked = best_in_blocks(lambda block: np.empty((0, 3)), sparse.csr_array((0, 3), dtype=np.int64), 2, True)
    assert ranked.indptr.tolist() == [0]
    assert len(ranked.columns) == len(ranked.scores) == 0
