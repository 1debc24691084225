"""Rates are W H' + X S: lists, pairs and totals by compiled code and by numpy, to the bit, and by brute force."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dcpf.kernels.ranking import WIDTH
from dcpf.kernels.threads import Threads
from dcpf.ranking.rates import Items, ItemSide, Ranked, Rates, UserSide, joined_users, no_sparse, scores

pytestmark = pytest.mark.quick


def nothing(rows: int, columns: int) -> sparse.csr_array:
    return sparse.csr_array((rows, columns), dtype=np.int64)


Sparse = tuple[sparse.csr_array, sparse.csr_array]  # X and S


def rates(W: np.ndarray, H: np.ndarray, both: Sparse | None, weights: np.ndarray | None = None) -> Rates:
    X, S = (no_sparse(len(W), 0), no_sparse(0, len(H))) if both is None else both
    items = Items(ItemSide(H, S), np.ones(H.shape[1]) if weights is None else weights)
    return Rates(UserSide(W, X), items)


def rank(
    W: np.ndarray, H: np.ndarray, n: int, excluded: sparse.csr_array, threads: Threads, both: Sparse | None = None
) -> Ranked:
    """By compiled code, and a few rows by numpy as well, which must not differ by a bit."""
    asked = rates(W, H, both)
    few = slice(0, 8)
    by_numpy = Rates(UserSide(W[few], asked.users.X[few]), asked.items, asked.link).lists(n, excluded[few], threads)
    assert not asked.items.is_laid_out
    assert asked.items.layout
    ranked = asked.lists(n, excluded, threads)
    assert asked.items.is_laid_out
    size = by_numpy.indptr[-1]
    np.testing.assert_array_equal(by_numpy.indptr, ranked.indptr[: len(by_numpy.indptr)])
    np.testing.assert_array_equal(by_numpy.columns, ranked.columns[:size])
    np.testing.assert_array_equal(by_numpy.scores, ranked.scores[:size])
    return ranked


def by_sorting(
    W: np.ndarray, H: np.ndarray, n: int, excluded: sparse.csr_array, added: np.ndarray | float = 0.0
) -> list[list[int]]:
    found = W.astype(np.float64) @ H.T.astype(np.float64) + added
    found[excluded.toarray() > 0] = -1.0
    order = np.argsort(-found, axis=1, kind="stable")[:, :n]
    return [[int(j) for j in row if found[r, j] >= 0.0] for r, row in enumerate(order)]


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
        other = rates(W, H, None, np.arange(20.0) ** 3).lists(30, excluded, four)
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


def excitation(rows: int, columns: int, seed: int, size: float) -> tuple[Sparse, np.ndarray]:
    """X and S, and their product."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((rows, columns), density=0.1, rng=rng, format="csr", dtype=np.float32)
    S = sparse.random_array((columns, columns), density=0.05, rng=rng, format="csr", dtype=np.float32)
    S *= np.float32(size)
    return (X, S), (X.astype(np.float64) @ S.astype(np.float64)).toarray()


@pytest.mark.parametrize("size", [1e-30, 0.1, 3.0, 1e30])
@pytest.mark.parametrize("columns", [5, WIDTH, WIDTH + 1, 40 * WIDTH, 2100])
def test_both_products_are_added(columns: int, size: float) -> None:
    W, H, excluded = drawn(40, columns, 6, "float32", seed=columns)
    both, added = excitation(40, columns, 3, size)
    with Threads(2) as threads:
        ranked = rank(W, H, 12, excluded, threads, both)
        alone = rank(W[7:8], H, 12, excluded[[7]], threads, (both[0][[7]], both[1]))
    assert lists(ranked) == by_sorting(W, H, 12, excluded, added)
    np.testing.assert_array_equal(alone.scores, ranked.scores[slice(*ranked.indptr[7:9])])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_each_score_is_the_rate_of_its_pair_to_the_bit(dtype: str) -> None:
    W, H, excluded = drawn(40, 700, 7, dtype, seed=5)
    both, _ = excitation(40, 700, 4, 0.1)
    with Threads(2) as threads:
        ranked = rank(W, H, 50, excluded, threads, both)
        asked = rates(W, H, both)
        rows = np.repeat(np.arange(40), np.diff(ranked.indptr))
        pairs = sparse.csr_array((np.ones(len(rows)), (rows, ranked.columns)), shape=(40, 700))
        found = sparse.csr_array((asked.at(pairs, threads), pairs.indices, pairs.indptr), shape=pairs.shape)
        np.testing.assert_array_equal(ranked.scores, found[rows, ranked.columns])
        few = Rates(UserSide(W[3:5], both[0][3:5]), asked.items, asked.link)
        np.testing.assert_array_equal(few.at(pairs[3:5], threads), found[3:5].data)
    np.testing.assert_array_equal(
        found.toarray()[pairs.toarray() > 0], scores(*sides(W, H, both))[pairs.toarray() > 0]
    )


def sides(W: np.ndarray, H: np.ndarray, both: Sparse) -> tuple[UserSide, ItemSide]:
    return UserSide(W, both[0]), ItemSide(H, both[1])


def test_totals_are_sums_of_rates() -> None:
    W, H, _ = drawn(30, 90, 4, "float32", seed=6)
    both, _ = excitation(30, 90, 7, 0.5)
    np.testing.assert_allclose(rates(W, H, both).by_user(), scores(*sides(W, H, both)).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("rows", [3, 40])
def test_only_candidates_are_ranked(rows: int) -> None:
    W, H, excluded = drawn(rows, 200, 6, "float32", seed=11)
    both, added = excitation(rows, 200, 12, 0.3)
    candidates = np.array([3, 50, 51, 120, 199])
    others = np.ones((rows, 200), dtype=np.int64)
    others[:, candidates] = 0
    left_out = sparse.csr_array(np.maximum(others, excluded.toarray()))
    asked = rates(W, H, both)
    with Threads(1) as threads:
        for _ in range(2):
            assert lists(asked.lists(4, excluded, threads, candidates)) == by_sorting(W, H, 4, left_out, added)
            assert asked.items.layout  # and once more by compiled code


@pytest.mark.parametrize("where", ["W", "H", "X"])
def test_numbers_that_are_not_finite_are_refused(where: str) -> None:
    W, H, excluded = drawn(20, 60, 3, "float32", seed=2)
    both, _ = excitation(20, 60, 3, 1.0)
    {"W": W, "H": H, "X": both[0].data[:, None]}[where][0, 0] = np.inf
    with Threads(1) as threads, pytest.raises(ValueError, match="not finite"):
        rates(W, H, both).lists(60, excluded, threads)


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
    """What is added is so little beside the factors that it tells nobody apart."""
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


def test_many_users_are_not_copied_more_often_than_needed() -> None:
    W = np.random.default_rng(0).random((200_000, 16), dtype=np.float32)
    asked = rates(W, np.ones((3, 16), np.float32), None)
    assert len(asked.items.totals) == 2
    tracemalloc.start()
    try:
        totals = asked.by_user()
        assert tracemalloc.get_traced_memory()[1] < 0.75 * W.nbytes  # float64 takes twice its bytes
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        joined = joined_users([asked.users, asked.users._replace(W=W[:, :0])], (0.5, 0.5))
        assert tracemalloc.get_traced_memory()[1] - before < 1.25 * W.nbytes
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(totals, 3.0 * W.sum(axis=1, dtype=np.float64))
    np.testing.assert_array_equal(joined.W, W / 2.0)
