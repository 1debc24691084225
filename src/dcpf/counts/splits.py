"""Counts split into a part to learn from and parts to test with. Each entry, or event, is in exactly one part."""

import datetime
import math
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcpf.counts.checks import InvalidCounts, Seed, generator, whole_number
from dcpf.text import plural

if TYPE_CHECKING:
    from dcpf.counts.counts import Counts

Time = float | str | datetime.date | np.datetime64


def split_entries(counts: "Counts", test_fraction: float, seed: Seed) -> tuple["Counts", "Counts"]:
    """See `Counts.split`."""
    test_fraction = _fraction("test_fraction", test_fraction)
    rng = generator(seed)
    if counts.nnz < 2:
        raise InvalidCounts(f"{plural(counts.nnz, 'count')} cannot be split into two parts: at least 2 are needed")
    tested = np.zeros(counts.nnz, dtype=np.bool_)
    tested[rng.choice(counts.nnz, _share(counts.nnz, test_fraction), replace=False, shuffle=False)] = True
    return counts.keep(~tested), counts.keep(tested)


def leave_out(counts: "Counts", k: int, seed: Seed) -> tuple["Counts", "Counts"]:
    """See `Counts.leave_out`."""
    k = whole_number("k", k, at_least=1)
    rank = _random_rank(counts, generator(seed))
    per_user = np.diff(counts.matrix.indptr)
    tested = (rank < k) & np.repeat(per_user > k, per_user)
    if not tested.any():
        raise InvalidCounts(
            f"nothing to test with: no user has more than k={k} interactions, at most "
            f"{per_user.max(initial=0)}; choose a smaller k"
        )
    return counts.keep(~tested), counts.keep(tested)


def split_users(
    counts: "Counts", test_fraction: float, history_fraction: float, seed: Seed
) -> tuple["Counts", "Counts", "Counts"]:
    """See `Counts.split_users`."""
    test_fraction = _fraction("test_fraction", test_fraction)
    history_fraction = _fraction("history_fraction", history_fraction)
    rng = generator(seed)
    n_users = counts.shape[0]
    if n_users < 2:
        raise InvalidCounts("users cannot be held out: there must be at least 2, found 1")
    held_out = np.zeros(n_users, dtype=np.bool_)
    held_out[rng.choice(n_users, _share(n_users, test_fraction), replace=False)] = True
    train, held = counts.select(np.flatnonzero(~held_out)), counts.select(np.flatnonzero(held_out))
    per_user = np.diff(held.matrix.indptr).astype(np.int64)
    n_history = np.rint(history_fraction * per_user).astype(np.int64)
    n_history = np.maximum(np.minimum(n_history, per_user - 1), np.minimum(per_user, 1))
    remembered = _random_rank(held, rng) < np.repeat(n_history, per_user)
    if train.nnz == 0 or remembered.all():
        raise InvalidCounts(
            f"{held.shape[0]:,} of {n_users:,} users held out leave {train.nnz:,} interactions to learn from and "
            f"{int((~remembered).sum()):,} to test with; change test_fraction={test_fraction:g}, or drop users with "
            "few interactions: counts.filter(min_per_user=2)"
        )
    return train, held.keep(remembered), held.keep(~remembered)


def split_at(counts: "Counts", time: Time) -> tuple["Counts", "Counts"]:
    """See `Counts.split_at`."""
    events = counts.events
    if events is None:
        raise InvalidCounts(
            "these counts have no times to split at; read them with time_column=..., or use split(), which is random"
        )
    before = _before(events.times, time)
    if before.all() or not before.any():
        raise InvalidCounts(
            f"no events {'from' if before.all() else 'before'} {time}: they run from {events.times.min()} to "
            f"{events.times.max()}; choose a time between"
        )
    parts = []
    for chosen in (before, ~before):
        part = events.only(chosen)
        totals = part.totals()
        parts.append(counts.with_data(totals, part).keep(totals > 0))
    return parts[0], parts[1]


def _before(times: NDArray[Any], time: Any) -> NDArray[np.bool_]:
    """Which times are earlier, compared exactly, in the type of the data."""
    if times.dtype.kind != "M":
        if isinstance(time, bool | np.bool_ | np.datetime64) or not isinstance(time, Real):
            raise TypeError(
                f"the times of these counts are numbers such as {times[0]}, found {time!r}; give a number"
            )
        if not math.isfinite(time):
            raise ValueError(f"time must be a finite number, found {time!r}")
        earlier = times < (math.ceil(time) if times.dtype.kind in "iu" else float(time))
        return np.asarray(earlier, dtype=np.bool_)
    moment = _moment(time, times)
    if np.result_type(times.dtype, moment.dtype) != moment.dtype:  # in the coarser unit, where nothing overflows
        return np.asarray(times.astype(moment.dtype) < moment)
    floor = moment.astype(times.dtype)
    return np.asarray(times < floor if floor.astype(moment.dtype) == moment else times <= floor)


def _moment(time: Time, times: NDArray[Any]) -> np.datetime64:
    """The date as numpy has it, in UTC if it has a time zone."""
    wanted: Any = time
    try:
        if isinstance(wanted, str):
            wanted = wanted.strip()
            if not wanted[:1].isdigit():
                raise ValueError
            if wanted[-1] in "zZ" or any(sign in wanted[10:] for sign in "+-"):
                wanted = datetime.datetime.fromisoformat(wanted)
        if isinstance(wanted, datetime.datetime) and wanted.tzinfo is not None:
            wanted = wanted.astimezone(datetime.UTC).replace(tzinfo=None)
        moment = np.datetime64(wanted) if isinstance(wanted, str | datetime.date) else wanted
    except ValueError:
        raise ValueError(f"time must be a date such as '2024-03-31' or '2024-03-31T12:00', found {time!r}") from None
    if not isinstance(moment, np.datetime64):
        raise TypeError(f"the times of these counts are dates such as {times[0]}, found {time!r}; give a date")
    if np.isnat(moment):
        raise ValueError(f"time must be a date, found {time!r}")
    return moment


def _random_rank(counts: "Counts", rng: np.random.Generator) -> NDArray[np.int64]:
    """The rank of each entry, from 0, in a random order of the entries of its user."""
    keys = counts.entry_users.astype(np.int64) << 32
    keys |= rng.integers(2**32, size=counts.nnz)
    rank = np.empty(counts.nnz, dtype=np.int64)
    indptr = counts.matrix.indptr
    rank[np.argsort(keys, kind="stable")] = np.arange(counts.nnz) - np.repeat(indptr[:-1], np.diff(indptr))
    return rank


def _share(n: int, fraction: float) -> int:
    """A fraction of n, but at least one and not all."""
    return min(max(round(fraction * n), 1), n - 1)


def _fraction(name: str, value: object) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"{name} must be a number between 0 and 1, found {value!r}")
    return float(value)
