"""Two Counts put together by id."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts.checks import LARGEST_COUNT, InvalidCounts
from dcpf.counts.events import Events
from dcpf.counts.strings import Strings

if TYPE_CHECKING:
    from dcpf.counts.counts import Counts

Positions = NDArray[np.int64]


def merged(one: "Counts", other: "Counts") -> "Counts":
    """See `Counts.__add__`."""
    users, *of_users = one.users.union(other.users)
    items, *of_items = one.items.union(other.items)
    shape = (len(users), len(items))
    places = [
        (u[counts.entry_users], i[counts.matrix.indices])
        for counts, u, i in zip((one, other), of_users, of_items, strict=True)
    ]
    matrix = sparse.csr_array((one.matrix.data, places[0]), shape=shape) + sparse.csr_array(
        (other.matrix.data, places[1]), shape=shape
    )
    names = _united_names(one.names, other.names, of_items, len(items))
    notes = (*one.notes, *(note for note in other.notes if note not in one.notes))
    if (one.events is None) != (other.events is None):
        notes = (*notes, "times dropped: only one of the two that were added has them")
    both = replace(one, matrix=matrix, users=users, items=items, names=names, events=None, notes=notes)
    _check_sums(both)
    if one.events is None or other.events is None:
        return both
    return replace(both, events=_united_events([one.events, other.events], places, both))


def _check_sums(both: "Counts") -> None:
    too_large = np.flatnonzero(both.matrix.data > LARGEST_COUNT)
    if len(too_large):
        first = too_large[0]
        user, item = both.users[int(both.entry_users[first])], both.items[int(both.matrix.indices[first])]
        raise InvalidCounts(
            f"Counts too large: user {user!r}, item {item!r} has {both.matrix.data[first]} in sum; the limit is "
            f"2^31-1 = {LARGEST_COUNT:,}: cap the counts first, with counts.cap(largest)"
        )


def _united_names(
    one: Strings | None, other: Strings | None, of_items: list[Positions], n_items: int
) -> Strings | None:
    """The name of each item in the first, or else in the second."""
    if one is None and other is None:
        return None
    all_names = Strings.of([""])
    pick = np.zeros(n_items, dtype=np.int64)
    for names, places in ((other, of_items[1]), (one, of_items[0])):
        if names is not None:
            named = np.flatnonzero(names.lengths)
            pick[places[named]] = len(all_names) + named
            all_names = all_names + names
    return all_names.take(pick)


def _united_events(parts: list[Events], places: list[tuple[Positions, Positions]], both: "Counts") -> Events:
    if len({part.times.dtype.kind == "M" for part in parts}) > 1:
        raise TypeError(
            f"times that are dates and times that are numbers cannot be merged: {parts[0].times[0]} and "
            f"{parts[1].times[0]}; convert one of the two, or leave its times out"
        )
    n_items = both.shape[1]
    keys = both.entry_users.astype(np.int64) * n_items + both.matrix.indices
    entries = [np.searchsorted(keys, users * n_items + items) for users, items in places]
    return Events.of(
        np.concatenate([np.repeat(one, np.diff(part.starts)) for one, part in zip(entries, parts, strict=True)]),
        both.nnz,
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.counts for part in parts]),
    )
