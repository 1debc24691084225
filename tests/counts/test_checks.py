"""What is not a matrix of counts is refused before any work, by an error that names place, value and way out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import dcpf
from dcpf.counts import LARGEST_COUNT, count_matrix

GOOD = np.array([[0, 2, 1], [3, 0, 0]])


def with_entry(value: object, dtype: object = float) -> np.ndarray:
    array = GOOD.astype(dtype)
    array[1, 2] = value
    return array


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-4, ["Negative", "is -4;", "clip"]),
        (np.nan, ["NaN", "remove"]),
        (np.inf, ["inf", "cap"]),
        (1.5, ["Fractions", "is 1.5;", "round"]),
        (2.0**31, ["too large", "is 2147483648;", "2^31-1"]),
    ],
)
@pytest.mark.parametrize(
    "make", [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_array]
)
def test_bad_values_are_named_with_their_place(value: float, words: list[str], make: object) -> None:
    with pytest.raises(dcpf.InvalidCounts) as error:
        count_matrix(make(with_entry(value)))  # type: ignore[operator]
    for word in ["user 1, item 2", *words]:
        assert word in str(error.value)


def test_number_of_further_bad_values_is_told() -> None:
    with pytest.raises(dcpf.InvalidCounts, match=r"user 0, item 1 .* \(and 2 more like it\)"):
        count_matrix(-GOOD)


@pytest.mark.parametrize("X", [np.zeros((3, 4)), sparse.csr_array((3, 4))])
def test_no_interactions_is_an_error(X: object) -> None:
    with pytest.raises(dcpf.InvalidCounts, match="no interactions"):
        count_matrix(X)


@pytest.mark.parametrize(("shape", "words"), [((0, 3), "no users"), ((3, 0), "no items")])
def test_no_users_and_no_items_are_errors(shape: tuple[int, int], words: str) -> None:
    for X in (np.zeros(shape), sparse.csr_array(shape)):
        with pytest.raises(dcpf.InvalidCounts, match=words):
            count_matrix(X)


@pytest.mark.parametrize("X", [np.array([[1, "a"]], dtype=object), np.array([["1", "2"]]), [["1", "2"]]])
def test_objects_and_strings_are_type_errors(X: object) -> None:
    with pytest.raises(TypeError, match="must be numbers"):
        count_matrix(X)


@pytest.mark.parametrize("X", [None, "plays.csv"])
def test_what_is_no_matrix_at_all_is_shown(X: object) -> None:
    with pytest.raises(TypeError, match=f"found {X!r}"):
        count_matrix(X)


@pytest.mark.parametrize("X", [np.array([1, 2, 3]), np.ones((2, 2, 2)), np.int64(3)])
def test_wrong_dimensions_name_the_expected_shape(X: object) -> None:
    with pytest.raises(dcpf.InvalidCounts, match="users x items"):
        count_matrix(X)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.uint64])
def test_small_types_do_not_overflow_when_summed(dtype: type) -> None:
    value = True if dtype is bool else 100
    repeated = sparse.coo_array((np.full(5, value, dtype=dtype), ([0] * 5, [1] * 5)), shape=(2, 3))
    assert count_matrix(repeated).toarray()[0, 1] == 5 * int(value)


def test_half_precision_is_fine() -> None:
    np.testing.assert_array_equal(count_matrix(GOOD.astype(np.float16)).toarray(), GOOD)


def test_sum_of_repeated_pairs_may_be_too_large() -> None:
    repeated = sparse.coo_array(([LARGEST_COUNT, 1], ([0, 0], [1, 1])), shape=(2, 3))
    with pytest.raises(dcpf.InvalidCounts, match="too large: the count of user 0, item 1 is 2147483648"):
        count_matrix(repeated)
    assert count_matrix([[LARGEST_COUNT]]).toarray() == LARGEST_COUNT


def test_stored_zeros_are_absent() -> None:
    stored = sparse.csr_array((np.array([0, 2, 0]), np.array([0, 1, 2]), np.array([0, 2, 3])), shape=(2, 3))
    assert count_matrix(stored).nnz == 1


@pytest.mark.parametrize(("index", "words"), [(3, "item 3, but it has 3 items"), (-1, "item -1")])
def test_sparse_index_out_of_shape_is_an_error(index: int, words: str) -> None:
    matrix = sparse.csr_array(GOOD)
    matrix.indices = matrix.indices.copy()
    matrix.indices[0] = index
    with pytest.raises(dcpf.InvalidCounts, match=words):
        count_matrix(matrix)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("bad", [10**6, -7])
def test_broken_sparse_structure_is_an_error(form: type, bad: int) -> None:
    matrix = form(GOOD)
    matrix.indptr = matrix.indptr.copy()
    matrix.indptr[1] = bad
    with pytest.raises(dcpf.InvalidCounts, match="broken"):
        count_matrix(matrix)


def test_spare_room_of_a_sparse_matrix_is_not_read() -> None:
    matrix = sparse.csr_array(GOOD)
    matrix.data, matrix.indices = np.append(matrix.data, [9, 9]), np.append(matrix.indices, [0, 0])
    np.testing.assert_array_equal(count_matrix(matrix).toarray(), GOOD)


def test_masked_counts_are_refused() -> None:
    with pytest.raises(dcpf.InvalidCounts, match="filled"):
        count_matrix(np.ma.array(GOOD, mask=GOOD > 1))


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=40).filter(
        lambda entries: any(y for _, _, y in entries)
    ),
    st.sampled_from(["coo", "csr", "csc"]),
)
def test_any_order_of_entries_is_made_canonical_and_the_callers_left_alone(
    entries: list[tuple[int, int, int]], form: str
) -> None:
    u, i, y = (np.array(column) for column in zip(*entries, strict=True))
    given_ = sparse.coo_array((y, (u, i)), shape=(5, 6))
    if form != "coo":  # unsorted and unsummed, as scipy allows it
        order = np.argsort(u if form == "csr" else i, kind="stable")
        major, minor = (u, i) if form == "csr" else (i, u)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(major, minlength=5 if form == "csr" else 6))])
        kind = sparse.csr_array if form == "csr" else sparse.csc_array
        given_ = kind((y[order], minor[order], indptr), shape=(5, 6))
    before = given_.copy()
    canonical = count_matrix(given_)
    expected = np.zeros((5, 6), dtype=int)
    np.add.at(expected, (u, i), y)
    np.testing.assert_array_equal(canonical.toarray(), expected)
    assert canonical.has_canonical_format
    assert (canonical.data > 0).all()
    assert canonical.data.dtype == np.int64
    assert canonical.indices.dtype == canonical.indptr.dtype == np.int32  # whatever was given
    np.testing.assert_array_equal(given_.data, before.data)


def test_fit_refuses_before_any_work() -> None:
    def never(iteration: dcpf.Iteration) -> None:
        pytest.fail("an iteration was made")

    with pytest.raises(dcpf.InvalidCounts):
        dcpf.DCPF(2, callback=never).fit(with_entry(-1))
