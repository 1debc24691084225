"""The best n by w . h: the ranking is that of the exact scores, however it is computed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dcpf.inference.excitation import Excitation
from dcpf.kernels.coded import PLACES, keep_12_bits
from dcpf.kernels.excitation import Exciting
from dcpf.kernels.threads import Threads
from dcpf.kernels.tiles import WIDTH
from dcpf.ranking.top import Excited, Ranked, tiled, top_n

pytestmark = pytest.mark.quick


def nothing(rows: int, columns: int) -> sparse.csr_array:
    return sparse.csr_array((rows, columns), dtype=np.int64)


Parts = tuple[sparse.csr_array, sparse.csr_array]  # what rows have, and what that excites: sources by columns


def rank(
    W: np.ndarray, H: np.ndarray, n: int, excluded: sparse.csr_array, threads: Threads, parts: Parts | None = None
) -> Ranked:
    items = tiled(H, np.ones(H.shape[1]), threads)
    return top_n(W, items, n, excluded, threads, None if parts is None else excited(*parts, items.order))


def excited(x: sparse.csr_array, s: sparse.csr_array, order: np.ndarray) -> Excited:
    return Excited(given_by(x), exciting(s).targets(order))


def given_by(x: sparse.csr_array) -> Exciting:
    return Exciting(x.indptr.astype(np.int64), x.indices.astype(np.int32), x.data)


def exciting(s: sparse.csr_array) -> Excitation:
    return Excitation(sparse.csr_array(s.T), np.ones(len(s.indptr) - 1), weight=1.0, scale=1.0, share=1.0)


def by_sorting(
    W: np.ndarray, H: np.ndarray, n: int, excluded: sparse.csr_array, added: np.ndarray | float = 0.0
) -> list[list[int]]:
    scores = W.astype(np.float64) @ H.T.astype(np.float64) + added
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
        ranked = rank(W, H, n, excluded, threads)
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
        assert lists(rank(W, H, n, excluded, threads)) == by_sorting(W, H, n, excluded)


def test_scores_that_only_float64_tells_apart_are_still_ranked_rightly() -> None:
    columns, k = 600, 40
    rng = np.random.default_rng(0)
    W = rng.random((3, k)).astype("float32")
    H = (1.0 + 1e-7 * rng.integers(0, 4, (columns, k))).astype("float32")  # float32 products can't rank these
    with Threads(1) as threads:
        assert lists(rank(W, H, 20, nothing(3, columns), threads)) == by_sorting(W, H, 20, nothing(3, columns))


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e150])
def test_scores_beyond_the_range_of_float32_are_ranked_rightly(scale: float) -> None:
    W, H, excluded = drawn(9, 300, 5, "float64", seed=2)
    W[3:] **= 60  # from 1e-300 to 1e60 within a row
    with Threads(1) as threads:
        assert lists(rank(W * scale, H, 20, excluded, threads)) == by_sorting(W * scale, H, 20, excluded)


def test_bits_do_not_depend_on_threads_order_or_company() -> None:
    W, H, excluded = drawn(150, 500, 20, "float32", seed=1)
    with Threads(1) as one, Threads(4) as four:
        plain = rank(W, H, 30, excluded, one)
        alone = rank(W[77:78], H, 30, excluded[[77]], one)
        other = top_n(W, tiled(H, np.arange(20.0) ** 3, four), 30, excluded, four)
    for name in ("indptr", "columns", "scores"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(other, name))
    row = slice(*plain.indptr[77:79])
    np.testing.assert_array_equal(alone.columns, plain.columns[row])
    np.testing.assert_array_equal(alone.scores, plain.scores[row])


def test_lists_are_as_long_as_something_is_left() -> None:
    W, H = np.ones((3, 2), dtype="float32"), np.ones((4, 2), dtype="float32")
    excluded = sparse.csr_array(np.array([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]]))
    with Threads(1) as threads:
        assert lists(rank(W, H, 10, excluded, threads)) == [[], [1, 3], [0, 1, 2, 3]]
        assert len(rank(W[:0], H, 10, excluded[:0], threads).columns) == 0


HOW = {"whole": 0.05, "16 bits": 0.05, "lines": 0.3}  # and how many of the pairs


def excitation(rows: int, columns: int, seed: int, size: float, how: str = "whole") -> tuple[Parts, np.ndarray]:
    """What rows have and what that excites, and the sums as an array."""
    rng = np.random.default_rng(seed)
    x = sparse.random_array((rows, columns), density=0.1, rng=rng, format="csr", dtype=np.float32)
    s = sparse.random_array((columns, columns), density=HOW[how], rng=rng, format="csr", dtype=np.float32)
    s *= np.float32(size)
    if how != "whole":
        keep_12_bits(s.data)
    pairs = sparse.csr_array(np.ones((rows, columns)))
    with Threads(1) as threads:
        added = exciting(s).at(pairs, given_by(x), threads).reshape(rows, columns)
    np.testing.assert_allclose(added, (x.astype(np.float64) @ s.astype(np.float64)).toarray(), rtol=1e-5)
    return (x, s), added


@pytest.mark.parametrize("how", HOW)
def test_there_are_three_ways_to_give_strengths(how: str) -> None:
    (x, s), _ = excitation(2, 2100, 3, 0.1, how)
    targets = excited(x, s, np.arange(2100)).targets
    found = targets.codes.dtype, len(targets.codes) // len(targets.steps)
    assert found == {"whole": (np.uint32, 1), "16 bits": (np.uint16, 1), "lines": (np.uint16, PLACES)}[how]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("size", [1e-30, 0.1, 3.0, 1e30])
@pytest.mark.parametrize("columns", [5, WIDTH, WIDTH + 1, 40 * WIDTH, 2100])
def test_excitation_is_added_to_the_scores(columns: int, size: float, how: str) -> None:
    W, H, excluded = drawn(40, columns, 6, "float32", seed=columns)
    parts, added = excitation(40, columns, 3, size, how)
    with Threads(2) as threads:
        ranked = rank(W, H, 12, excluded, threads, parts)
        alone = rank(W[7:8], H, 12, excluded[[7]], threads, (parts[0][[7]], parts[1]))
    assert lists(ranked) == by_sorting(W, H, 12, excluded, added)
    np.testing.assert_array_equal(alone.scores, ranked.scores[slice(*ranked.indptr[7:9])])


@pytest.mark.parametrize("how", HOW)
def test_each_score_is_that_of_the_pair_to_the_bit(how: str) -> None:
    (x, s), added = excitation(20, 700, 4, 0.1, how)
    with Threads(1) as threads:
        ranked = rank(
            np.zeros((20, 1), "float32"), np.ones((700, 1), "float32"), 50, nothing(20, 700), threads, (x, s)
        )
    rows = np.repeat(np.arange(20), np.diff(ranked.indptr))
    np.testing.assert_array_equal(ranked.scores, added[rows, ranked.columns])


def test_more_columns_than_16_bits_can_number() -> None:
    columns = 2**16 + 40
    W, H = np.full((2, 1), 1e-3, dtype="float32"), np.ones((columns, 1), dtype="float32")
    x = sparse.csr_array(([1.0, 2.0], ([0, 1], [5, 6])), shape=(2, columns)).astype(np.float32)
    last = columns - 1
    s = sparse.csr_array(([1.0, 2.0, 3.0], ([5, 5, 6], [last, 3, last - 1])), shape=(columns, columns))
    with Threads(1) as threads:
        ranked = rank(W, H, 3, nothing(2, columns), threads, (x, s.astype(np.float32)))
    assert lists(ranked) == [[3, last, 0], [last - 1, 0, 1]]


def test_places_beyond_the_last_column_are_never_ranked_whatever_row_came_before() -> None:
    """The last group lacks one tile. What is added is so little beside the factors that it tells nobody apart."""
    columns = 2**16 + 31 * WIDTH
    W, H = np.ones((3, 1), dtype="float32"), np.ones((columns, 1), dtype="float32")
    x = sparse.csr_array(([1.0] * 3, ([0, 1, 2], [5, 5, 5])), shape=(3, columns)).astype(np.float32)
    s = sparse.csr_array(([1e-44] * 3, ([5] * 3, [0, 1, 2])), shape=(columns, columns)).astype(np.float32)
    few = sparse.csr_array(np.repeat(np.arange(columns)[None] > 2, 3, axis=0).astype(np.int64))
    with Threads(1) as threads:
        ranked = rank(W, H, 3, few, threads, (x, s))
    assert lists(ranked) == [[0, 1, 2]] * 3


def test_factors_beyond_float32_beside_excitation_rank_no_place_beyond_the_last_column() -> None:
    W, H = np.full((1, 1), 1e20, dtype="float32"), np.full((40, 1), 1e20, dtype="float32")
    x = sparse.csr_array(([1.0], ([0], [5])), shape=(1, 40)).astype(np.float32)
    s = sparse.csr_array((np.ones(40, np.float32), ([5] * 40, np.arange(40))), shape=(40, 40))
    with Threads(1) as threads:
        ranked = rank(W, H, 10, nothing(1, 40), threads, (x, s))
    assert lists(ranked) == [list(range(10))]


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 200), st.integers(1, 90), st.integers(0, 10**6))
def test_equal_scores_of_both_parts_are_ranked_by_number(columns: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    W, H = (rng.integers(0, 2, (size, 2)).astype("float32") for size in (6, columns))
    x, s = (sparse.csr_array(rng.integers(0, 3, (size, columns)).astype("float32")) for size in (6, columns))
    excluded = sparse.csr_array(rng.integers(0, 2, (6, columns)))
    with Threads(1) as threads:
        ranked = rank(W, H, n, excluded, threads, (x, s))
    assert lists(ranked) == by_sorting(W, H, n, excluded, (x @ s).toarray())


@pytest.mark.parametrize("share", [0.0, 1e-6, 0.1, 1.0])
def test_many_or_few_are_promising(share: float) -> None:
    W, H, excluded = drawn(30, 3000, 6, "float32", seed=8)
    parts, added = excitation(30, 3000, 9, 1.0)
    W *= np.float32(share)
    with Threads(1) as threads:
        assert lists(rank(W, H, 100, excluded, threads, parts)) == by_sorting(W, H, 100, excluded, added)


def test_rows_of_nothing_are_ranked_by_number() -> None:
    W, H = np.zeros((2, 3), dtype="float32"), np.ones((100, 3), dtype="float32")
    W[1], H[:] = 1.0, 0.0
    with Threads(1) as threads:
        assert lists(rank(W, H, 4, nothing(2, 100), threads)) == [[0, 1, 2, 3], [0, 1, 2, 3]]


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 3000), st.integers(1, 120), st.floats(0.05, 2.0), st.integers(0, 10**6))
def test_whatever_the_factors_are_like(columns: int, n: int, shape: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    W, H = (rng.gamma(shape, 1.0, (size, 5)).astype("float32") for size in (3, columns))
    excluded = sparse.csr_array((rng.random((3, columns)) < 0.3).astype(np.int64))
    with Threads(1) as threads:
        assert lists(rank(W, H, n, excluded, threads)) == by_sorting(W, H, n, excluded)
