"""Counts for the tests of this room, with everything that counts can carry."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Counts, Events, Ids, Strings

DAY = np.datetime64("2024-01-01T00:00:00", "us")


@st.composite
def drawn_counts(draw: st.DrawFn, least: int = 1, events: bool | None = None, dates: bool = False) -> Counts:
    """Up to 7 users and 6 items, `least` pairs or more, any ids in any order, with names and events or not."""
    n_users, n_items = draw(st.integers(2, 7)), draw(st.integers(2, 6))
    pairs = st.tuples(st.integers(0, n_users - 1), st.integers(0, n_items - 1))
    where = sorted(draw(st.lists(pairs, min_size=min(least, n_users * n_items), max_size=30, unique=True)))
    happened = [
        draw(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=3)) for _ in where
    ]
    counts = Counts.from_matrix(
        sparse.coo_array(
            (
                np.array([sum(y for _, y in one) for one in happened], dtype=int),
                (np.array([u for u, _ in where], dtype=int), np.array([i for _, i in where], dtype=int)),
            ),
            shape=(n_users, n_items),
        ),
        users=draw(some_ids(n_users)),
        items=draw(some_ids(n_items)),
        allow_empty=True,
    )
    if draw(st.booleans()):
        counts = replace(counts, names=Strings.of(f"n{j}ä" if j % 3 else "" for j in range(n_items)))
    if draw(st.booleans()) if events is None else events:
        flat = [event for one in happened for event in sorted(one)]
        times = np.array([time for time, _ in flat], dtype=np.int64)
        counts = replace(
            counts,
            events=Events(
                np.concatenate([[0], np.cumsum([len(one) for one in happened], dtype=np.int64)]),
                DAY + times * np.timedelta64(86_400_000_000, "us") if dates else times,
                np.array([y for _, y in flat], dtype=np.int64),
            ),
        )
    return counts


def some_ids(n: int) -> st.SearchStrategy[Ids]:
    """Distinct integers, or distinct strings, in any order."""
    letters = st.text(alphabet="ab0é7", max_size=4)
    one_of = st.one_of(
        st.lists(st.integers(-50, 50), min_size=n, max_size=n, unique=True),
        st.lists(letters, min_size=n, max_size=n, unique=True),
    )
    return st.one_of(one_of, one_of.map(sorted)).map(Ids.of)


def large_counts(seed: int = 0, n_users: int = 60, n_items: int = 40) -> Counts:
    """Counts of 60 x 40 of which a third is stored, the last user having a single one."""
    rng = np.random.default_rng(seed)
    dense = rng.integers(1, 9, (n_users, n_items)) * (rng.random((n_users, n_items)) < 0.3)
    dense[-1] = 0
    dense[-1, 3] = 2
    return Counts.from_matrix(dense)


def assert_sound(counts: Counts) -> None:
    """Canonical, and everything in it of one size; events are in order and add up to the counts."""
    matrix = counts.matrix
    matrix.check_format(full_check=True)
    fresh = sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    assert fresh.has_canonical_format
    assert matrix.data.dtype == np.int64
    assert (matrix.data > 0).all()
    assert matrix.shape == (len(counts.users), len(counts.items))
    assert counts.names is None or len(counts.names) == matrix.shape[1]
    for ids in (counts.users, counts.items):
        assert len(set(ids)) == len(ids)
        assert [ids.find(one) for one in ids] == list(range(len(ids)))
    if counts.events is not None:
        np.testing.assert_array_equal(counts.events.totals(), matrix.data)
        for begin, end in zip(counts.events.starts[:-1], counts.events.starts[1:], strict=True):
            assert (np.diff(counts.events.times[begin:end].astype(np.int64)) >= 0).all()
        assert counts.events.starts[0] == 0
        assert counts.events.starts[-1] == len(counts.events.times) == len(counts.events.counts)


def by_id(counts: Counts) -> dict[tuple[object, object], tuple[object, ...]]:
    """What stands where: (user, item) -> count, name, events."""
    contents = {}
    for j, (u, i) in enumerate(zip(counts.entry_users, counts.matrix.indices, strict=True)):
        events: Iterable[tuple[object, object]] = ()
        if counts.events is not None:
            stretch = slice(counts.events.starts[j], counts.events.starts[j + 1])
            events = sorted(
                zip(counts.events.times[stretch].tolist(), counts.events.counts[stretch].tolist(), strict=True)
            )
        contents[counts.users[int(u)], counts.items[int(i)]] = (
            int(counts.matrix.data[j]),
            "" if counts.names is None else counts.names[int(i)],
            tuple(events),
        )
    return contents


def dense(counts: Counts) -> NDArray[np.int64]:
    return np.asarray(counts.matrix.toarray())
