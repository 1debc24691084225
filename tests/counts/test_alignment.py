"""Counts are brought to given users and items: what is known moves to its place, what is not is left out and told."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.counts.drawn import assert_sound, by_id, drawn_counts, some_ids

from dcpf.counts import Counts, Ids, align

PLAYS = Counts.from_matrix([[1, 2, 0], [0, 3, 4]], ["b", "a"], ["x", "y", "z"]).with_names({"x": "An X", "z": "A Z"})


def of_one_type(ids: Ids, others: Ids) -> bool:
    return ids.are_strings == others.are_strings


@settings(max_examples=100, deadline=None)
@given(drawn_counts(), st.none() | some_ids(5), st.none() | some_ids(4))
def test_known_pairs_move_with_all_they_have(counts: Counts, users: Ids | None, items: Ids | None) -> None:
    aligned = align(counts, users, items)
    after = aligned.counts
    assert_sound(after)
    assert after.users == (counts.users if users is None else users)
    assert after.items == (counts.items if items is None else items)

    def known(ids: Ids | None, one: object) -> object:
        """The id as it is given: "7" finds the integer 7."""
        place = None if ids is None else ids.find(one)
        return one if ids is None else None if place is None else ids[place]

    expected = {(known(users, user), known(items, item)): entry for (user, item), entry in by_id(counts).items()}
    expected = {pair: entry for pair, entry in expected.items() if None not in pair}
    assert by_id(after) == expected
    assert aligned.left_out == counts.nnz - len(expected)
    assert after.notes == counts.notes
    for ids, given_, unknown in (
        (counts.users, users, aligned.unknown_users),
        (counts.items, items, aligned.unknown_items),
    ):
        assert unknown.tolist() == [j for j, one in enumerate(ids) if known(given_, one) is None]


@settings(max_examples=60, deadline=None)
@given(drawn_counts(), drawn_counts())
def test_unknown_ids_come_after_the_given_ones_if_kept(counts: Counts, model: Counts) -> None:
    if not (of_one_type(counts.users, model.users) and of_one_type(counts.items, model.items)):
        return
    aligned = align(counts, model.users, model.items, keep_unknown=True)
    after = aligned.counts
    assert_sound(after)
    assert by_id(after) == by_id(counts)
    assert aligned.left_out == 0
    assert list(after.users) == [*model.users, *(user for user in counts.users if user not in model.users)]
    assert list(after.items) == [*model.items, *(item for item in counts.items if item not in model.items)]


def test_names_and_empty_rows() -> None:
    after = align(PLAYS, users=Ids.of(["c", "a"]), items=Ids.of(["z", "w", "y"])).counts
    np.testing.assert_array_equal(after.matrix.toarray(), [[0, 0, 0], [4, 0, 3]])
    assert list(after.names or ()) == ["A Z", "", ""]


def test_the_same_users_and_items_change_nothing() -> None:
    assert align(PLAYS).counts is PLAYS
    assert align(PLAYS, Ids.of(["b", "a"]), Ids.of(["x", "y", "z"])).counts is PLAYS


def test_what_was_left_out_is_told() -> None:
    aligned = align(PLAYS, Ids.of(["a", "q"]), Ids.of(["y"]))
    assert aligned.left_out == 3
    assert aligned.notes("the model") == [
        "1 of 2 users are unknown to the model and were left out, such as 'b'",
        "2 of 3 items are unknown to the model and were left out, such as 'x'",
    ]
    assert align(PLAYS, Ids.of(["a", "b"])).notes("the model") == []


def test_nothing_known_is_no_error() -> None:
    aligned = align(PLAYS, items=Ids.of([7]))
    assert aligned.counts.shape == (2, 1)
    assert aligned.counts.nnz == 0
    assert aligned.left_out == 4


def test_unknown_ids_of_another_type_cannot_be_kept() -> None:
    with pytest.raises(TypeError, match="all integers or all strings"):
        align(PLAYS, items=Ids.of([7]), keep_unknown=True)
