"""Filters keep who has enough and nothing else, and say what they dropped."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.counts.drawn import assert_sound, by_id, dense, drawn_counts, large_counts

from dcpf.counts import Counts, InvalidCounts

Pairs = set[tuple[object, object]]
# User 2 has item 2 only; without user 2, item 2 has user 1 only; without item 2, user 1 has item 1 only; ...
CHAIN = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]]).T


def enough(pairs: Pairs, ids: list[object], side: int, least: int) -> set[object]:
    return {one for one in ids if sum(pair[side] == one for pair in pairs) >= least}


def naive(
    counts: Counts, min_per_user: int, min_per_item: int, repeat: bool
) -> tuple[Pairs, list[object], list[object]]:
    pairs, users, items = set(by_id(counts)), list(counts.users), list(counts.items)
    while True:
        before = len(users), len(items)
        kept = enough(pairs, items, 1, min_per_item)
        pairs, items = {pair for pair in pairs if pair[1] in kept}, [one for one in items if one in kept]
        kept = enough(pairs, users, 0, min_per_user)
        pairs, users = {pair for pair in pairs if pair[0] in kept}, [one for one in users if one in kept]
        if not repeat or before == (len(users), len(items)):
            break
    if min_per_item:
        kept = enough(pairs, items, 1, 1)
        items = [one for one in items if one in kept]
    return pairs, users, items


@settings(max_examples=100, deadline=None)
@given(drawn_counts(least=6), st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_filtering_agrees_with_a_plain_loop_over_pairs(
    counts: Counts, min_per_user: int, min_per_item: int, repeat: bool
) -> None:
    pairs, users, items = naive(counts, min_per_user, min_per_item, repeat)
    if not pairs:
        with pytest.raises(InvalidCounts, match=f"min_per_user={min_per_user} and min_per_item={min_per_item}"):
            counts.filter(min_per_user, min_per_item, repeat)
        return
    left = counts.filter(min_per_user, min_per_item, repeat)
    assert_sound(left)
    assert (list(left.users), list(left.items)) == (users, items)
    whole = by_id(counts)
    assert by_id(left) == {pair: whole[pair] for pair in pairs}


@settings(max_examples=40, deadline=None)
@given(drawn_counts(least=15), st.integers(0, 2), st.integers(0, 2))
def test_filtering_until_stable_is_stable(counts: Counts, min_per_user: int, min_per_item: int) -> None:
    try:
        left = counts.filter(min_per_user, min_per_item)
    except InvalidCounts:
        return
    assert left.filter(min_per_user, min_per_item) is left
    assert (np.count_nonzero(dense(left), axis=1) >= min_per_user).all()
    assert (np.count_nonzero(dense(left), axis=0) >= min_per_item).all()


@settings(max_examples=40, deadline=None)
@given(drawn_counts(least=12), st.booleans(), st.data())
def test_the_order_of_users_does_not_matter_to_a_filter(counts: Counts, repeat: bool, data: st.DataObject) -> None:
    permuted = counts.select(np.array(data.draw(st.permutations(range(counts.shape[0])))))
    try:
        expected = by_id(counts.filter(2, 2, repeat))
    except InvalidCounts:
        with pytest.raises(InvalidCounts):
            permuted.filter(2, 2, repeat)
        return
    assert by_id(permuted.filter(2, 2, repeat)) == expected


def test_once_round_is_items_first_and_then_users() -> None:
    counts = Counts.from_matrix(CHAIN)
    once = counts.filter(2, 2, repeat=False)
    assert list(once.users) == [1]
    assert list(once.items) == [1, 2]
    with pytest.raises(InvalidCounts, match="no interactions are left with min_per_user=2 and min_per_item=2"):
        counts.filter(2, 2)


def test_an_item_that_lost_all_its_users_goes_with_them() -> None:
    counts = Counts.from_matrix([[1, 0, 0], [1, 0, 0], [0, 1, 1], [0, 1, 1]])
    left = counts.filter(2, 2, repeat=False)
    assert (list(left.users), list(left.items)) == ([2, 3], [1, 2])
    assert list(counts.filter(2, 0, repeat=False).items) == [0, 1, 2]


def test_a_filter_by_default_drops_who_has_nothing_and_says_so() -> None:
    counts = Counts.from_matrix([[0, 0, 0], [0, 2, 1]], users=["a", "b"])
    left = counts.filter()
    assert list(left.users) == ["b"]
    assert list(left.items) == [1, 2]
    assert "1 user and 1 item dropped" in left.notes[-1]
    assert counts.filter(0, 0) is counts


@settings(max_examples=80, deadline=None)
@given(drawn_counts(), st.integers(1, 8))
def test_capped_counts_are_cut_and_keep_their_first_events(counts: Counts, largest: int) -> None:
    capped = counts.cap(largest)
    assert_sound(capped)
    np.testing.assert_array_equal(dense(capped), np.minimum(dense(counts), largest))
    assert (capped.users, capped.items, capped.names) == (counts.users, counts.items, counts.names)
    assert (capped.events is None) == (counts.events is None)
    before, after = by_id(counts), by_id(capped)
    for pair, (_, _, events) in after.items():

        def single(happened: tuple[tuple[int, int], ...]) -> list[int]:
            return [time for time, times in happened for _ in range(times)]

        assert single(events) == single(before[pair][2])[:largest]  # type: ignore[arg-type]


def test_a_cap_says_how_many_it_cut() -> None:
    counts = large_counts()
    assert counts.cap(8) is counts
    assert counts.cap(4).notes == (f"{(dense(counts) > 4).sum()} counts above 4 cut to it",)


@pytest.mark.parametrize("bad", [-1, 1.5, "2", True, None])
def test_thresholds_that_cannot_be_are_named(bad: object) -> None:
    counts = large_counts()
    with pytest.raises(ValueError, match=f"min_per_user must be a whole number >= 0, found {bad!r}"):
        counts.filter(min_per_user=bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"min_per_item must be a whole number >= 0, found {bad!r}"):
        counts.filter(min_per_item=bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"largest must be a whole number >= 1, found {bad!r}"):
        counts.cap(bad)  # type: ignore[arg-type]
