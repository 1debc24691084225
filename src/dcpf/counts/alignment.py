"""Counts brought to given users and items, and two Counts put together by id."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts.checks import check_sums
from dcpf.counts.events import Events
from dcpf.counts.ids import Ids
from dcpf.counts.strings import Strings

if TYPE_CHECKING:
    from dcpf.counts.counts import Counts

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Aligned:
    """Counts with the rows of given users and the columns of given items, and what did not fit.

    `unknown_users` and `unknown_items` are positions in the counts before: those that were not given.
    """

    counts: "Counts"
    before: "Counts"
    unknown_users: Positions
    unknown_items: Positions

    @property
    def left_out(self) -> int:
        """Stored pairs whose user or item is unknown; with `keep_unknown` there are none."""
        return self.before.nnz - self.counts.nnz

    def notes(self, known_to: str) -> list[str]:
        """A sentence on unknown users, and one on unknown items, if there are any."""
        before = self.before
        return [
            f"{len(unknown):,} of {len(ids):,} {what} are unknown to {known_to} and were left out, such as "
            f"{ids[int(unknown[0])]!r}"
            for what, ids, unknown in (
                ("users", before.users, self.unknown_users),
                ("items", before.items, self.unknown_items),
            )
            if len(unknown)
        ]


def align(
    counts: "Counts", users: Ids | None = None, items: Ids | None = None, *, keep_unknown: bool = False
) -> Aligned:
    """The counts with exactly these users as rows and these items as columns, in this order; None: as they are.

    Users and items without counts get empty rows and columns. Unknown ones are left out, or with `keep_unknown` come
    after the others, in their own order. Nothing may be left; that is no error here.
    """
    users, user_positions, unknown_users = _positions(counts.users, users, keep_unknown)
    items, item_positions, unknown_items = _positions(counts.items, items, keep_unknown)
    moved = _moved(counts, users, user_positions, items, item_positions)
    return Aligned(moved, counts, unknown_users, unknown_items)


def merged(one: "Counts", other: "Counts") -> "Counts":
    """See `Counts.__add__`."""
    users, *of_users = one.users.union(other.users)
    items, *of_items = one.items.union(other.items)
    first, second = (
        _moved(counts, users, u, items, i) for counts, u, i in zip((one, other), of_users, of_items, strict=True)
    )
    notes = (*one.notes, *(note for note in other.notes if note not in one.notes))
    if (one.events is None) != (other.events is None):
        notes = (*notes, "times dropped: only one of the two that were added has them")
    both = replace(
        first,
        matrix=first.matrix + second.matrix,
        names=_first_names(first.names, second.names),
        events=None,
        notes=notes,
    )
    check_sums(both.matrix, users, items)
    if first.events is None or second.events is None:
        return both
    return replace(both, events=_united_events(first, second, both))


def _positions(ids: Ids, wanted: Ids | None, keep_unknown: bool) -> tuple[Ids, Positions, Positions]:
    """The ids of the rows to come, where each id stands among them (-1: nowhere), and which ids were not wanted."""
    nothing = np.empty(0, dtype=np.int64)
    if wanted is None or ids == wanted:
        return ids, np.arange(len(ids)), nothing
    positions = wanted.find_all(ids)
    unknown = np.flatnonzero(positions < 0)
    if not keep_unknown or not len(unknown):
        return wanted, positions, unknown
    positions[unknown] = len(wanted) + np.arange(len(unknown))
    return Ids.of([*wanted, *ids.at(unknown)]), positions, unknown


def _moved(counts: "Counts", users: Ids, rows: Positions, items: Ids, columns: Positions) -> "Counts":
    """The counts of user j in row rows[j], those of item j in column columns[j]; left out where that is -1."""
    if users is counts.users and items is counts.items:
        return counts
    row, column = rows[counts.entry_users], columns[counts.matrix.indices]
    entries = np.flatnonzero((row >= 0) & (column >= 0))
    order = sparse.csr_array((entries, (row[entries], column[entries])), shape=(len(users), len(items)))
    order.sort_indices()
    return replace(
        counts,
        matrix=sparse.csr_array((counts.matrix.data[order.data], order.indices, order.indptr), shape=order.shape),
        users=users,
        items=items,
        names=None if counts.names is None else _moved_names(counts.names, columns, len(items)),
        events=None if counts.events is None else counts.events.take(order.data),
    )


def _moved_names(names: Strings, columns: Positions, n_items: int) -> Strings:
    source = np.full(n_items, len(names), dtype=np.int64)  # the empty name that comes after all others
    source[columns[columns >= 0]] = np.flatnonzero(columns >= 0)
    return (names + Strings.of([""])).take(source)


def _first_names(one: Strings | None, other: Strings | None) -> Strings | None:
    """The name of each item in the first, or else in the second."""
    if one is None or other is None:
        return other if one is None else one
    own = np.arange(len(one))
    return (one + other).take(np.where(one.lengths > 0, own, len(one) + own))


def _united_events(first: "Counts", second: "Counts", both: "Counts") -> Events:
    parts = [(counts, counts.events) for counts in (first, second) if counts.events is not None]
    if len({events.times.dtype.kind == "M" for _, events in parts}) > 1:
        raise TypeError(
            f"times that are dates and times that are numbers cannot be merged: {parts[0][1].times[0]} and "
            f"{parts[1][1].times[0]}; convert one of the two, or leave its times out"
        )
    sizes = [np.diff(events.starts) for _, events in parts]
    return Events.of(
        both.matrix,
        np.concatenate([np.repeat(part.entry_users, n) for (part, _), n in zip(parts, sizes, strict=True)]),
        np.concatenate([np.repeat(part.matrix.indices, n) for (part, _), n in zip(parts, sizes, strict=True)]),
        np.concatenate([events.times for _, events in parts]),
        np.concatenate([events.counts for _, events in parts]),
    )
