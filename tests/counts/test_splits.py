"""A split loses and doubles nothing, is the same for the same seed, and its parts fit together."""

import datetime
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.counts.drawn import DAY, assert_sound, by_id, dense, drawn_counts, large_counts

from dcpf.counts import Counts, Events, InvalidCounts

SEEDS = st.integers(0, 10)
FRACTIONS = st.floats(0.01, 0.99)
RANDOM: dict[str, Callable[..., tuple[Counts, ...]]] = {
    "split": Counts.split,
    "leave_out": Counts.leave_out,
    "split_users": Counts.split_users,
}


def assert_whole(counts: Counts, train: Counts, test: Counts) -> None:
    """Both parts have the users and items of the whole, and together are the whole."""
    for part in (train, test):
        assert_sound(part)
        assert part.nnz > 0
        assert (part.users, part.items, part.names) == (counts.users, counts.items, counts.names)
    np.testing.assert_array_equal(dense(train) + dense(test), dense(counts))
    assert by_id(train + test) == by_id(counts)
    assert (train + test).users == counts.users


def assert_apart(*parts: Counts) -> None:
    pairs = [pair for part in parts for pair in by_id(part)]
    assert len(pairs) == len(set(pairs))


@settings(max_examples=50, deadline=None)
@given(drawn_counts(least=2), FRACTIONS, SEEDS)
def test_a_random_split_loses_and_doubles_nothing(counts: Counts, fraction: float, seed: int) -> None:
    train, test = counts.split(fraction, seed)
    assert_whole(counts, train, test)
    assert_apart(train, test)
    assert test.nnz == min(max(round(fraction * counts.nnz), 1), counts.nnz - 1)


@settings(max_examples=50, deadline=None)
@given(drawn_counts(least=6), st.integers(1, 3), SEEDS)
def test_leaving_out_takes_k_of_each_user_with_more_than_k(counts: Counts, k: int, seed: int) -> None:
    per_user = np.count_nonzero(dense(counts), axis=1)
    if per_user.max() <= k:
        with pytest.raises(
            InvalidCounts, match=f"no user has more than k={k} interactions, at most {per_user.max()};"
        ):
            counts.leave_out(k, seed)
        return
    train, test = counts.leave_out(k, seed)
    assert_whole(counts, train, test)
    assert_apart(train, test)
    np.testing.assert_array_equal(np.count_nonzero(dense(test), axis=1), np.where(per_user > k, k, 0))


@settings(max_examples=50, deadline=None)
@given(drawn_counts(least=8), FRACTIONS, FRACTIONS, SEEDS)
def test_held_out_users_are_known_by_their_history_only(
    counts: Counts, test_fraction: float, history_fraction: float, seed: int
) -> None:
    try:
        train, history, test = counts.split_users(test_fraction, history_fraction, seed)
    except InvalidCounts as error:
        assert "held out leave" in str(error)
        return
    assert_apart(train, history, test)
    assert history.users == test.users
    assert {*train.users} | {*test.users} == {*counts.users}
    assert not {*train.users} & {*test.users}
    assert [*train.users] == [one for one in counts.users if one in train.users]
    assert [*test.users] == [one for one in counts.users if one in test.users]
    for part in (train, history, test):
        assert_sound(part)
        assert (part.items, part.names) == (counts.items, counts.names)
    assert by_id(train + history + test) == by_id(counts)
    held_out = (history + test).select(np.arange(len(test.users)))
    for row, user in enumerate(held_out.users):
        n = np.count_nonzero(dense(held_out)[row])
        of_history, of_test = (np.count_nonzero(dense(part)[part.users.find(user)]) for part in (history, test))
        assert of_history + of_test == n
        assert (of_history > 0 and of_test > 0) if n >= 2 else of_history == n


def test_held_out_users_are_divided_as_asked() -> None:
    counts = large_counts()
    train, history, test = counts.split_users(0.25, 0.7, seed=3)
    assert (train.shape, history.shape, test.shape) == ((45, 40), (15, 40), (15, 40))
    assert history.nnz / (history.nnz + test.nnz) == pytest.approx(0.7, abs=0.03)


@pytest.mark.parametrize("fraction", [0.001, 0.999])
def test_a_held_out_user_with_two_pairs_has_history_and_test_whatever_the_fraction(fraction: float) -> None:
    counts = large_counts()
    for seed in range(3):
        _, history, test = counts.split_users(0.5, fraction, seed)
        for remembered, tested in zip(dense(history) > 0, dense(test) > 0, strict=True):
            n = (remembered | tested).sum()
            assert n >= 1
            assert (remembered.sum() == 1 or tested.sum() == 1) if n >= 2 else remembered.sum() == 1
            assert n == 1 or (remembered.any() and tested.any())


@pytest.mark.parametrize("how", RANDOM)
def test_the_same_seed_is_the_same_split_and_another_another(how: str) -> None:
    counts, split = large_counts(), RANDOM[how]
    first, again, generated, other = (
        split(counts, seed=seed) for seed in (5, np.int64(5), np.random.default_rng(5), 6)
    )
    for one, same, drawn in zip(first, again, generated, strict=True):
        assert by_id(one) == by_id(same) == by_id(drawn)
    assert all(by_id(one) != by_id(another) for one, another in zip(first, other, strict=True))


def test_a_generator_that_goes_on_gives_another_split() -> None:
    counts, rng = large_counts(), np.random.default_rng(0)
    assert by_id(counts.split(seed=rng)[1]) != by_id(counts.split(seed=rng)[1])


def test_every_entry_of_a_user_is_left_out_equally_often() -> None:
    counts = Counts.from_matrix([[1, 1, 1, 1], [0, 0, 0, 5]])
    rng = np.random.default_rng(0)
    left_out = sum(dense(counts.leave_out(1, rng)[1]) for _ in range(2_000))
    np.testing.assert_allclose(left_out[0], 500, atol=5 * np.sqrt(2_000 * 0.25 * 0.75))
    assert left_out[1].sum() == 0


@settings(max_examples=50, deadline=None)
@given(drawn_counts(least=2, events=True), st.one_of(st.integers(-1, 11), st.floats(-1, 11)))
def test_a_split_in_time_divides_the_events(counts: Counts, time: float) -> None:
    times = counts.events.times  # type: ignore[union-attr]
    if not times.min() < time <= times.max():
        with pytest.raises(InvalidCounts, match=f"they run from {times.min()} to {times.max()}"):
            counts.split_at(time)
        return
    train, test = counts.split_at(time)
    assert_whole(counts, train, test)
    assert train.events.times.max() < time <= test.events.times.min()  # type: ignore[union-attr]


@settings(max_examples=40, deadline=None)
@given(drawn_counts(least=8, events=True, dates=True), st.integers(1, 9))
def test_a_date_may_be_given_in_any_way(counts: Counts, day: int) -> None:
    times = counts.events.times  # type: ignore[union-attr]
    date = datetime.datetime(2024, 1, 1) + datetime.timedelta(days=day)
    if not times.min() < np.datetime64(date) <= times.max():
        return
    train, test = counts.split_at(date)
    assert_whole(counts, train, test)
    assert train.events.times.max() < np.datetime64(date) <= test.events.times.min()  # type: ignore[union-attr]
    zone = datetime.timezone(datetime.timedelta(hours=5))
    ways = [
        date.date(),
        date.replace(tzinfo=datetime.UTC),
        date.replace(tzinfo=datetime.UTC).astimezone(zone),
        np.datetime64(date, "ns"),
        np.datetime64(date, "D"),
        date.date().isoformat(),
        date.isoformat(),
        date.isoformat() + "Z",
        date.replace(tzinfo=datetime.UTC).astimezone(zone).isoformat(),
        np.datetime64(date, "us") - np.timedelta64(1, "ns"),  # no event of whole days is between
    ]
    for way in ways:
        assert by_id(counts.split_at(way)[0]) == by_id(train)


def dated(*times: str, unit: str = "us") -> Counts:
    """One user, an item for each time."""
    counts = Counts.from_matrix(np.ones((1, len(times))))
    moments = np.array(times, dtype=f"M8[{unit}]")
    return Counts(
        counts.matrix,
        counts.users,
        counts.items,
        events=Events(np.arange(len(times) + 1), moments, counts.matrix.data),
    )


@pytest.mark.parametrize(
    ("unit", "time", "expected"),
    [
        ("D", "2024-01-02T12:00", [1, 1, 0]),  # in the middle of a day
        ("D", np.datetime64("2024-01-02T00:00:00.000000001"), [1, 1, 0]),
        ("ns", "2024-01-02", [1, 0, 0]),
        ("ns", "2024-01", "no events before 2024-01:"),
        ("ns", "3000-01-01", "no events from 3000-01-01:"),  # beyond what nanoseconds can hold
        ("us", "2024-01-02T00:00:01+00:00", [1, 1, 0]),
        ("s", "2024-01-02T03:00:00+05:00", [1, 0, 0]),
    ],
)
def test_dates_of_any_unit_are_compared_exactly(unit: str, time: object, expected: list[int] | str) -> None:
    counts = dated("2024-01-01", "2024-01-02", "2024-01-03", unit=unit)
    if isinstance(expected, str):
        with pytest.raises(InvalidCounts, match=expected):
            counts.split_at(time)  # type: ignore[arg-type]
        return
    np.testing.assert_array_equal(dense(counts.split_at(time)[0])[0], expected)  # type: ignore[arg-type]


def test_large_numbers_as_times_are_compared_exactly() -> None:
    counts = Counts.from_matrix(np.ones((1, 3)))
    times = 2**60 + np.arange(3)  # as a float, all three would be equal
    counts = Counts(counts.matrix, counts.users, counts.items, events=Events(np.arange(4), times, counts.matrix.data))
    for j, expected in ((1, [1, 0, 0]), (2, [1, 1, 0])):
        np.testing.assert_array_equal(dense(counts.split_at(2**60 + j)[0])[0], expected)


def test_a_time_of_another_kind_than_the_data_is_a_type_error() -> None:
    numbered, dates = Counts.from_matrix(np.ones((1, 2))), dated("2024-01-01", "2024-01-03")
    numbered = Counts(
        numbered.matrix,
        numbered.users,
        numbered.items,
        events=Events(np.arange(3), np.array([3.5, 4]), numbered.matrix.data),
    )
    np.testing.assert_array_equal(dense(numbered.split_at(4)[0]), [[1, 0]])
    for time in ("2024-01-02", DAY, datetime.date(2024, 1, 2), True, None):
        with pytest.raises(TypeError, match=r"numbers such as 3.5, found .*; give a number"):
            numbered.split_at(time)  # type: ignore[arg-type]
    for time in (3, 2.5, True, None):
        with pytest.raises(TypeError, match=f"dates such as 2024-01-01.*, found {time!r}; give a date"):
            dates.split_at(time)  # type: ignore[arg-type]
    for text in ("soon", "now", "", "2024-13-01", np.datetime64("NaT", "s"), "2024-01-02T99Z"):
        with pytest.raises(ValueError, match="time must be a date"):
            dates.split_at(text)  # type: ignore[arg-type]
    for number in (np.nan, np.inf):
        with pytest.raises(ValueError, match="time must be a finite number"):
            numbered.split_at(number)


def test_a_split_in_time_needs_times() -> None:
    with pytest.raises(InvalidCounts, match=r"no times to split at; read them with time_column=\.\.\., or use split"):
        large_counts().split_at(3)


@pytest.mark.parametrize("bad", [0, 1, -0.2, 1.5, np.nan, "half", None, True])
def test_fractions_that_cannot_be_are_named(bad: object) -> None:
    counts = large_counts()
    with pytest.raises(ValueError, match=f"test_fraction must be a number between 0 and 1, found {bad!r}"):
        counts.split(bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"test_fraction must be a number between 0 and 1, found {bad!r}"):
        counts.split_users(bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"history_fraction must be a number between 0 and 1, found {bad!r}"):
        counts.split_users(0.2, bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("how", RANDOM)
@pytest.mark.parametrize("bad", [-1, 1.0, "0", None, True])
def test_seeds_that_cannot_be_are_named(how: str, bad: object) -> None:
    with pytest.raises(ValueError, match=f"seed must be a whole number >= 0 or a numpy Generator, found {bad!r}"):
        RANDOM[how](large_counts(), seed=bad)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_a_k_that_cannot_be_is_named(k: object) -> None:
    with pytest.raises(ValueError, match=f"k must be a whole number >= 1, found {k!r}"):
        large_counts().leave_out(k)  # type: ignore[arg-type]


def test_what_cannot_be_split_is_refused() -> None:
    single = Counts.from_matrix([[0, 3]])
    with pytest.raises(InvalidCounts, match="1 count cannot be split"):
        single.split()
    with pytest.raises(InvalidCounts, match="at least 2, found 1"):
        single.split_users()
    with pytest.raises(InvalidCounts, match="no user has more than k=1"):
        single.leave_out()
    for rows in ([[1, 1], [0, 0]], [[1, 0], [0, 1]]):  # whoever is held out, nothing is left to learn from or to test
        with pytest.raises(InvalidCounts, match="1 of 2 users held out leave"):
            for seed in range(20):
                Counts.from_matrix(rows).split_users(0.5, seed=seed)
