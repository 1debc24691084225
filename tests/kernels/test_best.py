"""The selection of the best: against sorting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcpf.kernels.best import partition, sort


@st.composite
def scored(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    scores = draw(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.5, np.inf]) | st.floats(0, 10), min_size=1, max_size=90)
    )
    return np.array(scores), np.random.default_rng(len(scores)).permutation(len(scores))


def ranking(scores: np.ndarray, columns: np.ndarray) -> list[tuple[float, int]]:
    return sorted(zip((-scores).tolist(), columns.tolist(), strict=True))


@settings(deadline=None)
@given(scored())
def test_sort_is_by_score_and_then_by_column(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    scores, columns = drawn
    expected = ranking(scores, columns)
    sort(scores, columns, len(scores))
    assert list(zip((-scores).tolist(), columns.tolist(), strict=True)) == expected


@settings(deadline=None)
@given(scored(), st.data())
def test_partition_brings_the_best_to_the_front_and_their_worst_last(
    drawn: tuple[np.ndarray, np.ndarray], data: st.DataObject
) -> None:
    scores, columns = drawn
    n = data.draw(st.integers(1, len(scores)))
    expected = ranking(scores, columns)
    partition(scores, columns, len(scores), n)
    found = list(zip((-scores).tolist(), columns.tolist(), strict=True))
    assert sorted(found[:n]) == expected[:n]
    assert found[n - 1] == expected[n - 1]
    assert sorted(found) == expected


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_short_lists_are_sorted_too(size: int) -> None:
    scores, columns = np.arange(size, dtype=float), np.arange(size)
    sort(scores, columns, size)
    assert scores.tolist() == sorted(scores.tolist(), reverse=True)
