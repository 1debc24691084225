"""Users and items are drawn without replacement, in proportion to their interactions."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.counts.drawn import assert_sound, by_id, drawn_counts

from dcpf.counts import Counts
from dcpf.counts.filters import sample

# Users of 1 to 4 items, items of 4 to 1 users
STAIRS = np.array([[1, 0, 0, 0], [2, 1, 0, 0], [1, 1, 7, 0], [1, 1, 1, 1]])


@settings(max_examples=60, deadline=None)
@given(drawn_counts(least=3), st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))
def test_what_is_drawn_is_a_part_in_the_same_order(counts: Counts, users: int, items: int, seed: int) -> None:
    drawn = sample(counts, users, items, seed)
    assert_sound(drawn)
    whole, part = by_id(counts), by_id(drawn)
    assert part == {pair: entry for pair, entry in whole.items() if pair[0] in drawn.users and pair[1] in drawn.items}
    active, popular = len({user for user, _ in whole}), len({item for _, item in whole})
    assert drawn.shape[0] == (users if users < active else counts.shape[0])
    assert drawn.shape[1] == (items if items < popular else counts.shape[1])
    for ids, of in ((drawn.users, counts.users), (drawn.items, counts.items)):
        assert list(ids) == [one for one in of if one in ids]


def one_after_another(weights: list[int], n: int) -> list[float]:
    """How likely each is among the first n of draws without replacement, by adding up all orders."""
    likely = [0.0] * len(weights)
    for order in itertools.permutations(range(len(weights)), n):
        left, chance = float(sum(weights)), 1.0
        for one in order:
            chance *= weights[one] / left
            left -= weights[one]
        for one in order:
            likely[one] += chance
    return likely


@pytest.mark.parametrize("n", [1, 2])
def test_draws_are_in_proportion_to_interactions_and_not_to_counts(n: int) -> None:
    counts, rng, times = Counts.from_matrix(STAIRS), np.random.default_rng(0), 2000
    seen = {"user": np.zeros(4), "item": np.zeros(4)}
    for _ in range(times):
        drawn = sample(counts, n, n, rng)
        for what, ids in (("user", drawn.users), ("item", drawn.items)):
            seen[what][list(ids)] += 1  # type: ignore[arg-type]
    np.testing.assert_allclose(seen["user"] / times, one_after_another([1, 2, 3, 4], n), atol=0.04)
    np.testing.assert_allclose(seen["item"] / times, one_after_another([4, 3, 2, 1], n), atol=0.04)


def test_a_seed_and_its_generator_draw_the_same() -> None:
    counts = Counts.from_matrix(np.ones((50, 40), dtype=int))
    one, same = sample(counts, 10, 10, 5), sample(counts, 10, 10, np.random.default_rng(5))
    assert (one.users, one.items) == (same.users, same.items)
    assert sample(counts, 10, 10, 6).users != one.users


def test_nobody_without_interactions_is_drawn() -> None:
    counts = Counts.from_matrix([[0, 0], [1, 1], [0, 0], [1, 0]])
    assert all(sample(counts, 1, seed=seed).users[0] in (1, 3) for seed in range(20))
    assert sample(counts, 2) is counts


def test_what_was_drawn_is_told() -> None:
    counts = Counts.from_matrix(np.ones((50, 40), dtype=int))
    assert sample(counts, 10, 40).notes == ("10 of 50 users drawn in proportion to their interactions",)
    told = "10 of 50 users and 3 of 40 items drawn in proportion to their interactions"
    assert sample(counts, 10, 3).notes == (told,)
    assert sample(counts) is counts


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2", True])
def test_numbers_that_cannot_be_are_named(bad: object) -> None:
    counts = Counts.from_matrix(STAIRS)
    with pytest.raises(ValueError, match=f"users must be a whole number >= 1, found {bad!r}"):
        sample(counts, bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"items must be a whole number >= 1, found {bad!r}"):
        sample(counts, items=bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed must be a whole number >= 0"):
        sample(counts, 1, seed=-1)
