"""The stored counts in two orders, block after block."""

import numpy as np
import pytest
from scipy import sparse

import dcpf
from dcpf.inference import data

RNG = np.random.default_rng(0)
COUNTS = sparse.csr_array(RNG.poisson(0.7, (30, 9)) * RNG.integers(1, 500_000, (30, 9)))


@pytest.fixture(params=[1, 7, 40, 10**6])
def block_entries(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(data, "BLOCK_ENTRIES", request.param)
    return int(request.param)


def test_indices_of_64_bits_give_the_same_fit() -> None:  # row 21
    def fitted(counts: sparse.csr_array) -> dcpf.DCPF:
        return dcpf.DCPF(2, max_iter=3, tol=0.0, random_state=0).fit(counts)

    long = COUNTS.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    assert fitted(long).user_factors.tobytes() == fitted(COUNTS).user_factors.tobytes()
    (block,) = data.Data.from_matrix(long).blocks
    assert block.by_user.indptr.dtype == np.int64  # beyond 2^31 entries; within a block there are always fewer


def test_blocks_are_whole_users_and_no_larger_than_they_may_be(block_entries: int) -> None:
    made = data.Data.from_matrix(COUNTS)
    stops = [block.users.stop for block in made.blocks]
    assert [block.users.start for block in made.blocks] == [0, *stops[:-1]]
    assert stops[-1] == 30
    assert made.entries == COUNTS.nnz == sum(len(block.by_user.indices) for block in made.blocks)
    assert made.total == COUNTS.sum()
    for block in made.blocks:
        alone = block.users.stop - block.users.start == 1
        assert alone or len(block.by_user.indices) <= block_entries
    for block, after in zip(made.blocks[:-1], made.blocks[1:], strict=True):  # one user more would be too many
        assert len(block.by_user.indices) + after.by_user.indptr[1] > block_entries


def test_blocks_are_the_matrix_in_both_orders(block_entries: int) -> None:
    made = data.Data.from_matrix(COUNTS)
    for block in made.blocks:
        part = COUNTS[block.users]
        by_user, by_item = block.by_user, block.by_item
        counts, users = made.counts[by_user.codes], np.repeat(np.arange(part.shape[0]), np.diff(by_user.indptr))
        again = np.zeros(part.shape, dtype=np.int64)
        again[users, by_user.indices] = counts
        np.testing.assert_array_equal(again, part.toarray())
        for u in range(part.shape[0]):  # by count within a row
            assert (np.diff(counts[by_user.indptr[u] : by_user.indptr[u + 1]]) >= 0).all()
        placed = np.empty_like(counts)
        placed[by_user.place] = counts
        columns = sparse.csc_array(part)
        np.testing.assert_array_equal(placed, columns.data)
        np.testing.assert_array_equal(by_item.indices, columns.indices)
        np.testing.assert_array_equal(by_item.indptr, columns.indptr)


def test_rows_are_the_matrix_in_its_own_order() -> None:
    rows = data.CountRows.from_matrix(COUNTS)
    np.testing.assert_array_equal(rows.counts[rows.by_user.codes], COUNTS.data)
    np.testing.assert_array_equal(rows.by_user.indices, COUNTS.indices)


@pytest.mark.parametrize("element", dcpf.elements.names())
def test_where_blocks_are_cut_changes_a_fit_by_rounding_only(element: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fitted(size: int, n_jobs: int = 1) -> dcpf.DCPF:
        monkeypatch.setattr(data, "BLOCK_ENTRIES", size)
        settings = {"max_iter": 30, "tol": 0.0, "random_state": 0, "dtype": "float64", "n_jobs": n_jobs}
        return dcpf.DCPF(3, element, **settings).fit(COUNTS)

    whole, cut = fitted(10**6), fitted(13)
    np.testing.assert_allclose(cut.bounds_, whole.bounds_, rtol=1e-12)
    np.testing.assert_allclose(cut.user_factors, whole.user_factors, rtol=1e-8)
    assert fitted(13, n_jobs=3).item_factors.tobytes() == cut.item_factors.tobytes()


def test_stable_order_is_that_of_a_stable_sort() -> None:
    keys = RNG.integers(0, 50, 1000)
    np.testing.assert_array_equal(data._stable_order(keys, 50), np.argsort(keys, kind="stable"))
