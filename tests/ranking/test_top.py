"""The best n by w . h: the ranking is that of the exact scores, however it is computed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dcpf.kernels.threads import Threads
from dcpf.ranking import top
from dcpf.ranking.top import Ranked, top_n


def nothing(rows: int, columns: int) -> sparse.csr_array:
    return sparse.csr_array((rows, columns), dtype=np.int64)


def by_sorting(W: np.ndarray, H: np.ndarray, n: int, excluded: sparse.csr_array) -> list[list[int]]:
    scores = W.astype(np.float64) @ H.T.astype(np.float64)
    scores[excluded.toarray() > 0] = -1.0
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    return [[int(j) for j in row if scores[r, j] >= 0.0] for r, row in enumerate(order)]


def lists(ranked: Ranked) -> list[list[int]]:
    return [part.tolist() for part in np.split(ranked.columns, ranked.indptr[1:-1])]


def drawn(rows: int, columns: int, k: int, dtype: str, seed: int) -> tuple[np.ndarray, np.ndarray, sparse.csr_array]:
    rng = np.random.default_rng(seed)
    W, H = rng.gamma(0.3, 1.0, (rows, k)).astype(dtype), rng.gamma(0.3, 1.0, (columns, k)).astype(dtype)
    return W, H, sparse.csr_array((rng.random((rows, columns)) < 0.1).astype(np.int64))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("rows", "columns", "n"), [(1, 1, 1), (7, 31, 5), (5, 33, 33), (300, 70, 10), (3, 2100, 100)]
)
def test_equals_sorting_all_scores(rows: int, columns: int, n: int, dtype: str) -> None:
    W, H, excluded = drawn(rows, columns, 8, dtype, seed=rows)
    with Threads(2) as threads:
        ranked = top_n(W, H, n, excluded, threads)
    assert lists(ranked) == by_sorting(W, H, n, excluded)
    exact = W.astype(np.float64) @ H.T.astype(np.float64)
    rows_of = np.repeat(np.arange(rows), np.diff(ranked.indptr))
    np.testing.assert_allclose(ranked.scores, exact[rows_of, ranked.columns], rtol=1e-14)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 12), st.integers(1, 80), st.integers(1, 90), st.integers(0, 10**6))
def test_small_whole_numbers_are_ranked_by_number_where_scores_are_equal(
    rows: int, columns: int, n: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    W, H = (rng.integers(0, 3, (size, 2)).astype("float32") for size in (rows, columns))
    excluded = sparse.csr_array(rng.integers(0, 2, (rows, columns)))
    with Threads(1) as threads:
        assert lists(top_n(W, H, n, excluded, threads)) == by_sorting(W, H, n, excluded)


def test_scores_that_only_float64_tells_apart_are_still_ranked_rightly() -> None:
    columns, k = 600, 40
    rng = np.random.default_rng(0)
    W = rng.random((3, k)).astype("float32")
    H = (1.0 + 1e-7 * rng.integers(0, 4, (columns, k))).astype("float32")  # float32 products can't rank these
    with Threads(1) as threads:
        assert lists(top_n(W, H, 20, nothing(3, columns), threads)) == by_sorting(W, H, 20, nothing(3, columns))


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e150])
def test_scores_beyond_the_range_of_float32_are_ranked_rightly(scale: float) -> None:
    W, H, excluded = drawn(9, 300, 5, "float64", seed=2)
    W[3:] **= 60  # from 1e-300 to 1e60 within a row
    with Threads(1) as threads:
        assert lists(top_n(W * scale, H, 20, excluded, threads)) == by_sorting(W * scale, H, 20, excluded)


def test_bits_do_not_depend_on_threads_tiles_or_company(monkeypatch: pytest.MonkeyPatch) -> None:
    W, H, excluded = drawn(150, 500, 20, "float32", seed=1)
    with Threads(1) as one, Threads(4) as four:
        plain = top_n(W, H, 30, excluded, one)
        alone = top_n(W[77:78], H, 30, excluded[[77]], one)
        monkeypatch.setattr(top, "_ROWS", 16)
        monkeypatch.setattr(top, "_COLUMNS", 64)
        monkeypatch.setattr(top, "_WORTH_SORTING", 10**9)
        tiled = top_n(W, H, 30, excluded, four)
    for name in ("indptr", "columns", "scores"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(tiled, name))
    row = slice(*plain.indptr[77:79])
    np.testing.assert_array_equal(alone.columns, plain.columns[row])
    np.testing.assert_array_equal(alone.scores, plain.scores[row])


def test_lists_are_as_long_as_something_is_left() -> None:
    W, H = np.ones((3, 2), dtype="float32"), np.ones((4, 2), dtype="float32")
    excluded = sparse.csr_array(np.array([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]]))
    with Threads(1) as threads:
        assert lists(top_n(W, H, 10, excluded, threads)) == [[], [1, 3], [0, 1, 2, 3]]
        assert len(top_n(W[:0], H, 10, excluded[:0], threads).columns) == 0
