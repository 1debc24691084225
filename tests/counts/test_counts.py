"""Counts carry ids, names and events through whatever is done to them."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.counts.drawn import assert_sound, by_id, dense, drawn_counts, large_counts

from dcpf.counts import LARGEST_COUNT, Counts, Events, Ids, InvalidCounts, Strings

GOOD = np.array([[0, 2, 1], [3, 0, 0]])


def with_times(counts: Counts, times: np.ndarray) -> Counts:
    """One event for each entry."""
    return replace(counts, events=Events(np.arange(counts.nnz + 1), times, counts.matrix.data))


@settings(max_examples=100, deadline=None)
@given(drawn_counts(least=0), st.data())
def test_selecting_agrees_with_dense_indexing(counts: Counts, data: st.DataObject) -> None:
    users, items = (np.array(data.draw(st.lists(st.sampled_from(range(n)), unique=True)), int) for n in counts.shape)
    chosen = counts.select(users, items)
    assert_sound(chosen)
    np.testing.assert_array_equal(dense(chosen), dense(counts)[np.ix_(users, items)])
    assert list(chosen.users) == counts.users.at(users)
    assert list(chosen.items) == counts.items.at(items)
    whole = by_id(counts)
    assert all(whole[pair] == contents for pair, contents in by_id(chosen).items())
    np.testing.assert_array_equal(dense(counts.select(users)), dense(counts)[users])
    np.testing.assert_array_equal(dense(counts.select(items=items)), dense(counts)[:, items])


@settings(max_examples=60, deadline=None)
@given(drawn_counts(least=0), st.data())
def test_permuting_users_and_items_permutes_nothing_else(counts: Counts, data: st.DataObject) -> None:
    users, items = (np.array(data.draw(st.permutations(range(n)))) for n in counts.shape)
    permuted = counts.select(users, items)
    assert by_id(permuted) == by_id(counts)
    back = permuted.select(np.argsort(users), np.argsort(items))
    assert back.users == counts.users
    assert back.items == counts.items
    assert by_id(back) == by_id(counts)


@settings(max_examples=100, deadline=None)
@given(drawn_counts(least=0), st.data())
def test_keeping_entries_agrees_with_a_dense_mask(counts: Counts, data: st.DataObject) -> None:
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=counts.nnz, max_size=counts.nnz)), dtype=bool)
    chosen = counts.keep(kept)
    assert_sound(chosen)
    expected = dense(counts)
    expected[counts.entry_users[~kept], counts.matrix.indices[~kept]] = 0
    np.testing.assert_array_equal(dense(chosen), expected)
    whole = by_id(counts)
    assert all(whole[pair] == contents for pair, contents in by_id(chosen).items())


def test_positions_and_masks_that_cannot_be_are_errors() -> None:
    counts = Counts.from_matrix(GOOD)
    with pytest.raises(IndexError):
        counts.select(np.array([2]))
    with pytest.raises(InvalidCounts, match="id 1 is there twice"):
        counts.select(items=np.array([1, 1]))
    for mask in (np.array([1, 0, 1]), np.array([True, False])):
        with pytest.raises(ValueError, match="for each of the 3 stored counts"):
            counts.keep(mask)


def test_nothing_that_is_done_changes_the_counts_it_is_done_to() -> None:
    counts = with_times(large_counts(), np.arange(large_counts().nnz))
    before = (counts.matrix.data.copy(), counts.matrix.indices.copy(), counts.matrix.indptr.copy())
    for part in (
        counts.keep(counts.matrix.data > 2),
        counts.select(np.array([3, 1])),
        counts.cap(2),
        counts + counts,
    ):
        part.matrix.data[:] = 77
    assert counts.split()[0].split_at(50)[0].filter(2, 2).nnz > 0
    for now, then in zip((counts.matrix.data, counts.matrix.indices, counts.matrix.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


@settings(max_examples=100, deadline=None)
@given(drawn_counts(least=0), drawn_counts(least=0))
def test_a_sum_agrees_with_adding_by_id(one: Counts, other: Counts) -> None:
    if any(a.are_strings != b.are_strings for a, b in ((one.users, other.users), (one.items, other.items))):
        with pytest.raises(TypeError, match="integer ids and string ids cannot be merged"):
            one + other
        return
    both = one + other
    assert_sound(both)
    assert set(both.users) == {*one.users, *other.users}
    first, second, found = by_id(one), by_id(other), by_id(both)
    assert found.keys() == first.keys() | second.keys()
    for pair, (count, _, events) in found.items():
        parts = [contents[pair] for contents in (first, second) if pair in contents]
        assert count == sum(part[0] for part in parts)
        if both.events is not None:
            assert list(events) == sorted(event for part in parts for event in part[2])
    assert (both.events is not None) == (one.events is not None and other.events is not None)
    for item in both.items:
        names = [c.names[c.items.find(item)] for c in (one, other) if c.names is not None and item in c.items]
        assert (both.names[both.items.find(item)] if both.names is not None else "") == next(filter(None, names), "")


def test_times_that_only_one_of_two_has_are_dropped_with_a_note() -> None:
    plain = Counts.from_matrix(GOOD)
    both = with_times(plain, np.array([1, 2, 3])) + plain
    assert both.events is None
    assert "times dropped" in both.notes[0]


def test_dates_and_numbers_as_times_are_not_merged() -> None:
    plain = Counts.from_matrix(GOOD)
    dates = with_times(plain, np.full(3, np.datetime64("2024-01-01")))
    with pytest.raises(TypeError, match="dates and times that are numbers cannot be merged: 1 and 2024-01-01"):
        with_times(plain, np.array([1, 2, 3])) + dates


def test_a_sum_that_is_too_large_names_user_item_and_value() -> None:
    one = Counts.from_matrix([[1, LARGEST_COUNT]], ["alice"], ["a", "b"])
    with pytest.raises(
        InvalidCounts, match=r"user 'alice', item 'b' sum to 2147483648, which is too large; the limit is 2\^31-1"
    ):
        one + Counts.from_matrix([[1]], ["alice"], ["b"])


def test_counts_are_added_to_counts_only() -> None:
    with pytest.raises(TypeError):
        Counts.from_matrix(GOOD) + 1  # type: ignore[operator]


def test_a_name_in_the_first_goes_before_one_in_the_second() -> None:
    one = Counts.from_matrix(GOOD).with_names({0: "a", 1: "b"})
    other = Counts.from_matrix(GOOD, items=[1, 2, 3]).with_names({1: "not b", 2: "c", 3: "d"})
    assert list((one + other).names or ()) == ["a", "b", "c", "d"]
    assert list((other + one).names or ()) == ["a", "not b", "c", "d"]


def test_notes_of_both_are_kept_once() -> None:
    plain = Counts.from_matrix(GOOD)
    both = replace(plain, notes=("a", "b")) + replace(plain, notes=("b", "c"))
    assert both.notes == ("a", "b", "c")


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.coo_matrix, np.ndarray.tolist])
def test_a_matrix_is_taken_for_counts_with_numbers_as_ids(make: object) -> None:
    counts = Counts.of(make(GOOD))  # type: ignore[operator]
    np.testing.assert_array_equal(dense(counts), GOOD)
    assert counts.users == Ids.numbered(2)
    assert counts.items == Ids.numbered(3)


def test_counts_are_taken_as_they_are() -> None:
    counts = Counts.from_matrix(GOOD)
    assert Counts.of(counts) is counts
    empty = counts.keep(np.zeros(3, dtype=bool))
    assert Counts.of(empty, allow_empty=True) is empty
    for nothing in (empty, np.zeros((2, 3))):
        with pytest.raises(InvalidCounts, match="no interactions"):
            Counts.of(nothing)
    assert Counts.of(np.zeros((2, 3)), allow_empty=True).nnz == 0


@settings(max_examples=30, deadline=None)
@given(drawn_counts())
def test_a_frame_has_a_row_for_each_pair_and_is_taken_for_counts(counts: Counts) -> None:
    frame = counts.to_frame()
    assert frame.columns == ["user", "item", *(["name"] if counts.names is not None else []), "count"]
    found = {(row["user"], row["item"]): (row["count"], row.get("name") or "") for row in frame.iter_rows(named=True)}
    assert found == {pair: contents[:2] for pair, contents in by_id(counts).items()}
    assume("" not in counts.users and "" not in counts.items)  # in a table, that is a missing id
    again = Counts.of(frame)
    assert {pair: contents[0] for pair, contents in by_id(again).items()} == {
        pair: contents[0] for pair, contents in by_id(counts).items()
    }


def test_a_table_with_columns_of_other_names_is_read_by_name() -> None:
    frame = Counts.from_matrix(GOOD).to_frame().rename({"user": "a", "item": "b", "count": "c"})
    counts = Counts.from_table(frame, user_column="a", item_column="b", count_column="c")
    np.testing.assert_array_equal(dense(counts), GOOD)


def test_ids_must_be_as_many_as_rows_and_columns() -> None:
    with pytest.raises(InvalidCounts, match="2 users in the matrix, but 1 user ids: give one for each"):
        Counts.from_matrix(GOOD, users=["a"])
    with pytest.raises(InvalidCounts, match="item 4 is there twice"):
        Counts.from_matrix(GOOD, items=[4, 4, 5])


def test_names_are_given_by_id_and_stand_for_it() -> None:
    counts = Counts.from_matrix(GOOD, items=["x", "y", "z"]).with_names({"y": "Why?", "nowhere": "?"})
    assert [counts.name(j) for j in range(3)] == ["x", "Why?", "z"]
    assert counts.names == Strings.of(["", "Why?", ""])
    assert counts.select(items=np.array([2, 1])).name(1) == "Why?"
    with pytest.raises(TypeError, match=r"3 .* is not a string"):
        counts.with_names({"y": 3})  # type: ignore[dict-item]


def test_counts_show_themselves_in_one_line() -> None:
    counts = Counts.from_matrix(GOOD).with_names({0: "x"})
    assert repr(counts) == "<Counts: 2 users x 3 items, 3 counts up to 3; with names>"
    dated = with_times(Counts.from_matrix(GOOD), np.arange("2024-01-01", "2024-01-04", dtype="M8[D]"))
    assert repr(dated) == "<Counts: 2 users x 3 items, 3 counts up to 3; from 2024-01-01 to 2024-01-03>"
    assert repr(dated.keep(np.zeros(3, dtype=bool))) == "<Counts: 2 users x 3 items, 0 counts>"


def test_no_reader_of_tables_is_loaded_with_counts() -> None:
    loaded = (
        "import sys, numpy, dcpf.counts as c; c.Counts.of(numpy.eye(3)).split(); "
        "assert not {'polars', 'pandas', 'pyarrow', 'narwhals'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", loaded], check=True)
