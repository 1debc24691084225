"""Counts from the rows of a table, which come chunk after chunk: checked, encoded, sorted and summed."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcpf.counts.checks import InvalidCounts, check_sums, shown
from dcpf.counts.codes import Encoder, Kind
from dcpf.counts.counts import Counts
from dcpf.counts.events import Events
from dcpf.counts.ids import Ids
from dcpf.counts.spill import Triplets, canonical
from dcpf.counts.values import Fault, TimeColumn, read_counts_column
from dcpf.text import plural


class RowRef(NamedTuple):
    """A row, for error messages."""

    number: int
    shown: str  # such as plays.csv:3


@dataclass(frozen=True)
class Rows:
    """Some rows of a table: columns user and item, and perhaps count and time."""

    frame: pl.DataFrame
    ref: Callable[[int], RowRef]


class BadRows:
    """Rows that cannot be used: the first is an error, or all are skipped and counted."""

    def __init__(self, skip: bool = False, hint: str = "") -> None:
        self.skip = skip
        self.hint = hint  # how to skip them, for the error
        self.number = 0
        self.first: RowRef | None = None
        self.kinds = Counter[str]()
        self._why_first = ""

    def add(self, row: RowRef, why: str, number: int = 1, kinds: Mapping[str, int] | None = None) -> None:
        """So many bad rows, of which this is the first. `kinds` tells how many are wrong in which way."""
        if not self.skip:
            more = f" (and {number - 1:,} more bad rows)" if number > 1 else ""
            raise InvalidCounts(f"{row.shown}: {why}{self.hint}{more}")
        self.number += number
        self.kinds.update(kinds or {})
        if self.first is None or row < self.first:
            self.first, self._why_first = row, why

    def notes(self) -> list[str]:
        """A sentence, if there were any."""
        if self.first is None:
            return []
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in self.kinds.items())
        shown = f" ({kinds})" if self.number > 1 and kinds else ""
        return [f"{self._skipped()}{shown}, the first is {self.first.shown}"]

    def check_left(self, where: str) -> None:
        """Raise if rows were skipped, when it turns out that no row is left."""
        if self.first is not None:
            raise InvalidCounts(
                f"{where}: nothing is left, {self._skipped()}; the first is {self.first.shown}: {self._why_first}"
            )

    def _skipped(self) -> str:
        return f"{plural(self.number, 'bad line')} skipped"


class CountsBuilder:
    """Makes Counts of rows. Keeps 12 bytes of each row, and its time.

    Rows that do not fit into memory go to a temporary file. Rows with times stay in memory, as their events do.
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
        self._times: TimeColumn | None = TimeColumn()
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
        bad = self._bad_rows(rows, faults)
        keep &= ~bad
        left = int(keep.sum())
        self._zeros += frame.height - int(bad.sum()) - left
        if left < frame.height:
            frame, counts = frame.filter(pl.Series(keep)), counts[keep]
        users, items = (encoder.encode(frame[role]) for role, encoder in self._encoders.items())
        self._rows.add(users, items, counts)
        if times is not None and self._times is not None:
            self._times.keep(times[keep])
        if self._times is None or self._times.are_dates is None:
            self._rows.make_room()

    def _bad_rows(self, rows: Rows, faults: list[Fault]) -> NDArray[np.bool_]:
        """Which rows cannot be used; they are an error, or are counted as skipped."""
        bad, kinds = np.zeros(rows.frame.height, dtype=bool), Counter[str]()
        if not faults:
            return bad
        for fault in faults:
            kinds[fault.kind] += int((fault.mask & ~bad).sum())
            bad |= fault.mask
        first, number = int(np.argmax(bad)), int(bad.sum())
        why = next(fault.why(first) for fault in faults if fault.mask[first])
        if number == len(bad) > 1:
            why += "; every row is like this, so another column may be meant: "
            why += "choose it with count_column= and the like"
        self._bad.add(rows.ref(first), why, number, kinds)
        return bad

    def finish(self, notes: tuple[str, ...] = ()) -> Counts:
        """The counts of all the rows."""
        n_rows = len(self._rows)
        if not n_rows:
            if not self._zeros:
                self._bad.check_left(self._where)
            zeros = f"{plural(self._zeros, 'count')}, all 0" if self._zeros else "there are no rows with a count"
            raise InvalidCounts(f"{self._where}: no interactions: {zeros}; at least one must be positive")
        users, user_positions = self._finish_ids("user")
        items, item_positions = self._finish_ids("item")
        events: Events | None = None
        if self._times is None or self._times.are_dates is None:
            matrix = self._rows.matrix(user_positions, item_positions)
        else:
            rows, columns, counts = self._rows.columns(user_positions, item_positions)
            matrix = canonical(rows, columns, counts, (len(users), len(items)))
            events = Events.of(matrix, rows, columns, self._times.finish(), counts)
        check_sums(matrix, users, items, f"{self._where}: ")
        repeated = n_rows - matrix.nnz
        notes_ = [*notes, *self._notes, *self._bad.notes()]
        notes_ += [f"{plural(repeated, 'repeated pair')} summed"] if repeated else []
        notes_ += [f"{plural(self._zeros, 'zero count')} left out"] if self._zeros else []
        return Counts(matrix, users, items, events=events, notes=tuple(notes_))

    def _read_counts(self, frame: pl.DataFrame) -> tuple[NDArray[np.int32], list[Fault]]:
        if "count" not in frame.columns:
            return np.ones(frame.height, dtype=np.int32), []
        counts, faults = read_counts_column(frame["count"], self._round)
        whose = [one._replace(why=_of_pair(frame, one.why)) for one in faults]
        return counts, whose

    def _read_times(self, rows: Rows, others: list[Fault]) -> tuple[NDArray[Any] | None, list[Fault]]:
        """Times and their faults. Unless they were asked for, all are dropped rather than an otherwise good row."""
        if self._times is None or "time" not in rows.frame.columns:
            return None, []
        column = rows.frame["time"]
        try:
            times, faults = self._times.read(column)
        except InvalidCounts as error:
            if self._time_was_asked_for:
                raise InvalidCounts(f"{self._where}: {error}") from None
            return self._drop_times(f"it holds {column.dtype}")
        if not self._time_was_asked_for:
            good = ~np.logical_or.reduce([np.zeros(len(column), dtype=bool), *(one.mask for one in others)])
            for fault in faults:
                if (first := np.flatnonzero(fault.mask & good)).size:
                    return self._drop_times(f"{rows.ref(int(first[0])).shown}: {fault.why(int(first[0]))}")
        return times, faults

    def _drop_times(self, why: str) -> tuple[None, list[Fault]]:
        self._times = None
        self._notes.append(f"the time column is ignored: {why}")
        return None, []

    def _finish_ids(self, role: str) -> tuple[Ids, NDArray[np.int32]]:
        encoder = self._encoders.pop(role)
        if mixture := encoder.mixture():
            integer, other = map(shown, mixture)
            self._notes.append(f"{role} ids are kept as strings: {integer} is an integer, {other} is not")
        return encoder.finish()


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
