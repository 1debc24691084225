"""From rows of a table, chunk after chunk, to Counts: checked, encoded, sorted and summed."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts.checks import LARGEST_COUNT, InvalidCounts
from dcpf.counts.counts import Counts
from dcpf.counts.encode import Encoder, Kind
from dcpf.counts.events import Events
from dcpf.counts.ids import Ids
from dcpf.counts.spill import Triplets
from dcpf.counts.values import Fault, Times, read_counts_column, shown
from dcpf.text import plural


class Place(NamedTuple):
    """Where a row stands: its number, and how an error names it."""

    number: int
    shown: str


@dataclass(frozen=True)
class Rows:
    """Some rows of a table: columns user, item, and where there are such count and time."""

    frame: pl.DataFrame
    place: Callable[[int], Place]


class BadRows:
    """What is done with rows that cannot be used: the first is an error, or all are skipped and counted."""

    def __init__(self, skip: bool = False, hint: str = "") -> None:
        self.skip = skip
        self.hint = hint  # how to skip them, for the error
        self.number = 0
        self.first: Place | None = None
        self.kinds = Counter[str]()
        self._why_first = ""

    def found(self, place: Place, why: str, number: int = 1, kinds: Mapping[str, int] | None = None) -> None:
        """There are so many; this is the first. `kinds` tells how many of them are wrong in which way."""
        if not self.skip:
            more = f" (and {number - 1:,} more rows at fault)" if number > 1 else ""
            raise InvalidCounts(f"{place.shown}: {why}{self.hint}{more}")
        self.number += number
        self.kinds.update(kinds or {})
        if self.first is None or place < self.first:
            self.first, self._why_first = place, why

    def notes(self) -> list[str]:
        """A sentence, if there were any."""
        if self.first is None:
            return []
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in self.kinds.items())
        return [
            f"{self._skipped()}{f' ({kinds})' * (self.number > 1 and bool(kinds))}, the first is {self.first.shown}"
        ]

    def check_left(self, where: str) -> None:
        """An error, if rows were skipped and none is left; then it is known that none is."""
        if self.first is not None:
            raise InvalidCounts(
                f"{where}: nothing is left, {self._skipped()}; the first is {self.first.shown}: {self._why_first}"
            )

    def _skipped(self) -> str:
        return f"{plural(self.number, 'bad line')} skipped"


class Collector:
    """Takes rows and makes Counts of them. What it keeps of a row is 12 bytes, and its time.

    Rows that are too many for memory go to a file. Rows with times stay in memory, however many: their events do too.
    """

    def __init__(
        self,
        where: str,
        kinds: tuple[Kind, Kind],
        bad: BadRows,
        *,
        round_counts: bool = False,
        time_was_asked_for: bool = True,
    ) -> None:
        self._where = where
        self._encoders = {"user": Encoder(kinds[0]), "item": Encoder(kinds[1])}
        self._bad = bad
        self._round = round_counts
        self._time_was_asked_for = time_was_asked_for
        self._times: Times | None = Times()
        self._rows = Triplets()
        self._zeros = 0
        self._notes: list[str] = []

    def add(self, rows: Rows) -> None:
        """Check and encode these rows."""
        frame = rows.frame
        if frame.height == 0:
            return
        faults = [*_missing(frame["user"], "user"), *_missing(frame["item"], "item")]
        counts, of_counts = self._read_counts(frame)
        faults += of_counts
        times, of_times = self._read_times(rows, faults)
        faults += of_times
        keep = counts > 0
        good = frame.height
        if faults:
            bad, kinds = np.zeros(frame.height, dtype=bool), Counter[str]()
            for mask, _, kind in faults:
                kinds[kind] += int((mask & ~bad).sum())
                bad |= mask
            first, number = int(np.argmax(bad)), int(bad.sum())
            why = next(fault.why(first) for fault in faults if fault.mask[first])
            if number == frame.height > 1:
                why += "; every row is like this, so another column may be meant: --count-column and so on name it"
            self._bad.found(rows.place(first), why, number, kinds)
            keep &= ~bad
            good -= number
        left = int(keep.sum())
        self._zeros += good - left
        if left < frame.height:
            frame, counts = frame.filter(pl.Series(keep)), counts[keep]
        users, items = (encoder.encode(frame[role]) for role, encoder in self._encoders.items())
        self._rows.add(users, items, counts)
        if times is not None and self._times is not None:
            self._times.keep(times[keep])
        if self._times is None or self._times.are_dates is None:
            self._rows.make_room()

    def finish(self, notes: tuple[str, ...] = ()) -> Counts:
        """The counts of all the rows."""
        n_rows = len(self._rows)
        if not n_rows:
            if not self._zeros:
                self._bad.check_left(self._where)
            zeros = f"{plural(self._zeros, 'count')}, all 0" if self._zeros else "there are no rows with a count"
            raise InvalidCounts(f"{self._where}: no interactions: {zeros}; at least one must be positive")
        users, user_places = self._finish_ids("user")
        items, item_places = self._finish_ids("item")
        events: Events | None = None
        if self._times is None or self._times.are_dates is None:
            matrix = self._rows.matrix(user_places, item_places)
        else:
            columns = self._rows.columns(user_places, item_places)
            matrix, events = _with_events(*columns, self._times.finish(), (len(users), len(items)))
        self._check_sums(matrix, users, items)
        repeated = n_rows - matrix.nnz
        told = [*notes, *self._notes, *self._bad.notes()]
        told += [f"{plural(repeated, 'repeated pair')} summed"] if repeated else []
        told += [f"{plural(self._zeros, 'zero count')} left out"] if self._zeros else []
        return Counts(matrix, users, items, events=events, notes=tuple(told))

    def _read_counts(self, frame: pl.DataFrame) -> tuple[NDArray[np.int32], list[Fault]]:
        if "count" not in frame.columns:
            return np.ones(frame.height, dtype=np.int32), []
        counts, faults = read_counts_column(frame["count"], self._round)
        whose = [one._replace(why=_of_pair(frame, one.why)) for one in faults]
        return counts, whose

    def _read_times(self, rows: Rows, others: list[Fault]) -> tuple[NDArray[Any] | None, list[Fault]]:
        """Times, and their faults. If nobody asked for them, all are given up rather than a row that is else good."""
        if self._times is None or "time" not in rows.frame.columns:
            return None, []
        column = rows.frame["time"]
        try:
            times, faults = self._times.read(column)
        except InvalidCounts as error:
            if self._time_was_asked_for:
                raise InvalidCounts(f"{self._where}: {error}") from None
            return self._give_up_times(f"it holds {column.dtype}")
        if not self._time_was_asked_for:
            good = ~np.logical_or.reduce([np.zeros(len(column), dtype=bool), *(one.mask for one in others)])
            for fault in faults:
                if (first := np.flatnonzero(fault.mask & good)).size:
                    return self._give_up_times(f"{rows.place(int(first[0])).shown}: {fault.why(int(first[0]))}")
        return times, faults

    def _give_up_times(self, why: str) -> tuple[None, list[Fault]]:
        self._times = None
        self._notes.append(f"the time column is ignored: {why}")
        return None, []

    def _finish_ids(self, role: str) -> tuple[Ids, NDArray[np.int32]]:
        encoder = self._encoders.pop(role)
        if mixture := encoder.mixture():
            integer, other = map(shown, mixture)
            self._notes.append(f"{role} ids are kept as strings: {integer} is an integer, {other} is not")
        return encoder.finish()

    def _check_sums(self, matrix: sparse.csr_array, users: Ids, items: Ids) -> None:
        if matrix.data.max() <= LARGEST_COUNT:
            return
        entry = int(np.argmax(matrix.data > LARGEST_COUNT))
        user = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        whose = f"user {shown(users[user])}, item {shown(items[int(matrix.indices[entry])])}"
        raise InvalidCounts(
            f"{self._where}: the counts of {whose} sum to {matrix.data[entry]}, which is too large; the limit is "
            f"2^31-1 = {LARGEST_COUNT:,}: cap the counts or count in larger units"
        )


def _missing(ids: pl.Series, role: str) -> list[Fault]:
    missing = ids.is_null() | (ids == "") if ids.dtype == pl.String else ids.is_null()
    if not missing.any():
        return []
    why = f"the {role} id is missing; give it one, or remove the row"
    return [Fault(missing.to_numpy(), lambda row: why, "empty id")]


def _of_pair(frame: pl.DataFrame, why: Callable[[int], str]) -> Callable[[int], str]:
    return lambda row: (
        f"the count of user {shown(frame['user'][row])}, item {shown(frame['item'][row])} is {why(row)}"
    )


def _with_events(
    users: NDArray[np.int32],
    items: NDArray[np.int32],
    counts: NDArray[np.int64],
    times: NDArray[Any],
    shape: tuple[int, int],
) -> tuple[sparse.csr_array, Events]:
    order = np.lexsort((counts, times, items, users))
    users, items, counts, times = users[order], items[order], counts[order], times[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (users[1:] != users[:-1]) | (items[1:] != items[:-1])
    starts = np.append(np.flatnonzero(fresh), len(order)).astype(np.int64)
    sums = np.add.reduceat(counts, starts[:-1])
    matrix = sparse.csr_array((sums, (users[fresh], items[fresh])), shape=shape)
    matrix.sum_duplicates()
    return matrix, Events(starts, times, counts)
