"""Counts: a users x items matrix of counts with the ids of its rows and columns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import alignment, filters, splits
from dcpf.counts.checks import InvalidCounts, Seed, count_matrix, is_table
from dcpf.counts.events import Events
from dcpf.counts.ids import Id, Ids
from dcpf.counts.strings import Strings
from dcpf.text import shape_words

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """Counts of interactions, users by items, with ids. Immutable: every method returns a new object.

    Make one with `dcpf.read_counts`, `Counts.from_table` or `Counts.from_matrix`.
    """

    matrix: sparse.csr_array  # canonical: whole numbers >= 1, sorted, summed
    users: Ids
    items: Ids
    names: Strings | None = None  # of the items; "" for an item without a name
    events: Events | None = None
    notes: tuple[str, ...] = ()  # what was done to the data on the way here

    @classmethod
    def of(cls, X: Any, *, allow_empty: bool = False) -> "Counts":
        """Counts from a `Counts`, a table in memory, or a matrix."""
        if isinstance(X, Counts):
            if X.nnz == 0 and not allow_empty:
                raise InvalidCounts(f"no interactions: {shape_words(*X.shape, 0)}")
            return X
        if is_table(X):
            return cls.from_table(X)
        return cls.from_matrix(X, allow_empty=allow_empty)

    @classmethod
    def from_matrix(
        cls,
        X: Any,
        users: Iterable[Any] | None = None,
        items: Iterable[Any] | None = None,
        *,
        allow_empty: bool = False,
    ) -> Self:
        """From a scipy sparse matrix, or what numpy makes one from. Without ids, rows and columns are numbered."""
        matrix = count_matrix(X, allow_empty=allow_empty)
        ids = []
        for given, size, what in ((users, matrix.shape[0], "user"), (items, matrix.shape[1], "item")):
            ids.append(Ids.numbered(size) if given is None else Ids.of(given, what))
            if len(ids[-1]) != size:
                raise InvalidCounts(
                    f"{size:,} {what}s in the matrix, but {len(ids[-1]):,} {what} ids: give one for each"
                )
        return cls(matrix, ids[0], ids[1])

    @staticmethod
    def from_table(
        table: Any,
        *,
        user_column: str | None = None,
        item_column: str | None = None,
        count_column: str | None = None,
        time_column: str | None = None,
        round_counts: bool = False,
    ) -> "Counts":
        """From a pandas, polars or pyarrow table with a row for each user, item and count, perhaps with a time."""
        from dcpf.counts.tables import from_table

        return from_table(
            table,
            user_column=user_column,
            item_column=item_column,
            count_column=count_column,
            time_column=time_column,
            round_counts=round_counts,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of items."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    @property
    def nnz(self) -> int:
        """Number of pairs of a user and an item with a count."""
        return int(self.matrix.nnz)

    @property
    def entry_users(self) -> NDArray[np.integer]:
        """The row of each stored entry; `matrix.indices` is its column."""
        rows = np.arange(self.matrix.shape[0], dtype=self.matrix.indices.dtype)
        return np.repeat(rows, np.diff(self.matrix.indptr))

    def __repr__(self) -> str:
        parts = [shape_words(*self.shape, self.nnz)]
        if self.nnz:
            parts[0] += f" up to {self.matrix.data.max():,}"
        if self.names is not None:
            parts.append("with names")
        if self.events is not None and len(self.events.times):
            parts.append(f"from {self.events.times.min()} to {self.events.times.max()}")
        return f"<Counts: {'; '.join(parts)}>"

    def with_names(self, names: Mapping[Id, str]) -> Self:
        """The same counts with the names of items, by id. Unknown ids are ignored."""
        found = self.items.find_all(names)
        listed = [""] * len(self.items)
        for place, name in zip(found.tolist(), names.values(), strict=True):
            if place >= 0:
                listed[place] = name
        return replace(self, names=Strings.of(listed))

    def name(self, item: int) -> str:
        """The name of the item in this column, or its id if it has no name."""
        return (self.names[item] if self.names is not None else "") or str(self.items[item])

    def with_data(self, data: NDArray[np.int64], events: Events | None) -> Self:
        """The same pairs with other counts, and with the events that add up to them."""
        matrix = sparse.csr_array((data, self.matrix.indices, self.matrix.indptr), shape=self.shape)
        return replace(self, matrix=matrix, events=events)

    def select(self, users: NDArray[np.integer] | None = None, items: NDArray[np.integer] | None = None) -> Self:
        """Only these rows and columns, by distinct positions and in this order; None selects all."""
        matrix = self.matrix
        entries = np.arange(matrix.nnz)
        places = sparse.csr_array((entries, matrix.indices, matrix.indptr), shape=matrix.shape)
        changed: dict[str, Any] = {}
        if users is not None:
            changed["users"] = self.users.take(users)
            places = places[np.arange(matrix.shape[0])[users]]
        if items is not None:
            changed["items"] = self.items.take(items)
            changed["names"] = None if self.names is None else self.names.take(items)
            places = places[:, np.arange(matrix.shape[1])[items]]
        places.sort_indices()
        changed["matrix"] = sparse.csr_array(
            (matrix.data[places.data], places.indices, places.indptr), shape=places.shape
        )
        changed["events"] = None if self.events is None else self.events.take(places.data)
        return replace(self, **changed)

    def keep(self, entries: NDArray[np.bool_]) -> Self:
        """Only the stored entries where `entries` is true. All users and items stay."""
        entries = np.asarray(entries)
        if entries.dtype != np.bool_ or entries.shape != (self.nnz,):
            raise ValueError(
                f"entries must be true or false for each of the {self.nnz:,} stored counts, found an array of "
                f"{entries.dtype} and shape {entries.shape}"
            )
        kept = np.flatnonzero(entries)
        matrix = sparse.csr_array(
            (self.matrix.data[kept], self.matrix.indices[kept], np.searchsorted(kept, self.matrix.indptr)),
            shape=self.matrix.shape,
        )
        return replace(self, matrix=matrix, events=None if self.events is None else self.events.take(kept))

    def filter(self, min_per_user: int = 1, min_per_item: int = 1, repeat: bool = True) -> "Counts":
        """Only users and items with at least this many interactions: stored pairs, whatever their counts.

        Dropping users takes interactions from items, and the other way round. With `repeat`, the filter is applied
        until every user and item left has enough. Without, it is applied once, to items and then to users, as the
        authors of the paper did; items that then have no interaction are dropped as well. A minimum of 0 keeps users
        or items without interactions.
        """
        return filters.at_least(self, min_per_user, min_per_item, repeat)

    def cap(self, largest: int) -> "Counts":
        """Cut counts above `largest` to it, and keep their earliest events, up to that sum.

        To test on later events, split first and then cap.
        """
        return filters.capped(self, largest)

    def split(self, test_fraction: float = 0.2, seed: Seed = 0) -> tuple["Counts", "Counts"]:
        """(train, test): a random fraction of all stored pairs is held out, as in the paper.

        Both have all users and all items. The number of test pairs is rounded, but neither part is empty.
        """
        return splits.split_entries(self, test_fraction, seed)

    def leave_out(self, k: int = 1, seed: Seed = 0) -> tuple["Counts", "Counts"]:
        """(train, test): k random pairs of each user with more than k are held out. Both have all users."""
        return splits.leave_out(self, k, seed)

    def split_users(
        self, test_fraction: float = 0.1, history_fraction: float = 0.8, seed: Seed = 0
    ) -> tuple["Counts", "Counts", "Counts"]:
        """(train, history, test): random users are held out, to be known by their history alone.

        train has the other users. history and test have the users held out: a user with two pairs or more has at
        least one in both, a single pair is history. All three have all items.
        """
        return splits.split_users(self, test_fraction, history_fraction, seed)

    def split_at(self, time: splits.Time) -> tuple["Counts", "Counts"]:
        """(train, test): the events before `time`, and the events from `time` on. Both have all users and all items.

        A pair with events on both sides is in both, with its part of the count. `time` is a number if the times of
        the data are numbers, else a date: datetime, numpy datetime64 or ISO text, converted to UTC if it has a zone.
        """
        return splits.split_at(self, time)

    def __add__(self, other: "Counts") -> "Counts":
        """Both together, matched by id. Counts of a pair in both are summed.

        Ids ascend if they do in both. If both name an item, the first name is kept. Events are kept if both have
        them.
        """
        if not isinstance(other, Counts):
            return NotImplemented
        return alignment.merged(self, other)

    def to_frame(self) -> "pl.DataFrame":
        """A polars DataFrame with a row for each stored pair: user, item, name (if there are names) and count."""
        import polars as pl

        rows, columns = pl.Series(self.entry_users), pl.Series(self.matrix.indices)
        series = {"user": _series(self.users).gather(rows), "item": _series(self.items).gather(columns)}
        if self.names is not None:
            names = pl.Series([name or None for name in self.names], dtype=pl.String)
            series["name"] = names.gather(columns)
        return pl.DataFrame(series | {"count": self.matrix.data})


def _series(ids: Ids) -> "pl.Series":
    import polars as pl

    return pl.Series(list(ids), dtype=pl.String) if ids.are_strings else pl.Series(ids.values, dtype=pl.Int64)
