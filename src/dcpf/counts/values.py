"""Counts and times from columns of text or numbers. Values that cannot be used are returned with the reason."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcpf.counts.checks import LARGEST_COUNT, InvalidCounts, shown

Mask = NDArray[np.bool_]


class Fault(NamedTuple):
    """Rows that are wrong in the same way."""

    mask: Mask
    why: Callable[[int], str]  # what is wrong with one of them
    kind: str  # in a word or two


# What is wrong with a count: in a word or two, and the way out
_WRONG = {
    "which is missing": ("no count", "give it a number, or remove the row"),
    "which is no number": ("no number", "counts are whole numbers such as 3, 3.0 or 1e3"),
    "which is not a number (NaN)": ("NaN", "remove such rows, or set the count to 0"),
    "which is infinite": ("infinite", "remove such rows, or cap the count"),
    "which is negative": ("negative", "counts start at 0: remove such rows (returned purchases, say) or clip them"),
    "which is too large": (
        "too large",
        f"the limit is 2^31-1 = {LARGEST_COUNT:,}: cap the counts or count in larger units",
    ),
    "which is no whole number": (
        "fraction",
        "round_counts=True rounds it, or count events instead of amounts",
    ),
}


def read_counts_column(column: pl.Series, round_counts: bool) -> tuple[NDArray[np.int32], list[Fault]]:
    """Counts from 0 to 2^31-1, and the faults found. The count of a faulty row means nothing."""
    numbers = _numbers(column)
    if not numbers.dtype.is_float() and not numbers.null_count() and len(numbers):
        smallest, largest = numbers.min(), numbers.max()
        if smallest >= 0 and largest <= LARGEST_COUNT:  # type: ignore[operator]
            return numbers.cast(pl.Int32).to_numpy(), []
    absent = column.is_null() | (column == "") if column.dtype == pl.String else column.is_null()
    missing, unread = absent.to_numpy(), numbers.is_null().to_numpy()
    values = numbers.cast(pl.Float64).fill_null(0.0).to_numpy()
    if round_counts:
        values = np.rint(values)
    masks = {
        "which is missing": missing,
        "which is no number": unread & ~missing,
        "which is not a number (NaN)": np.isnan(values),
        "which is infinite": np.isinf(values),
        "which is negative": (values < 0) & np.isfinite(values),
        "which is too large": (values > LARGEST_COUNT) & np.isfinite(values),
        "which is no whole number": (values != np.floor(values)) & np.isfinite(values),
    }
    faults: list[Fault] = [
        Fault(mask, _reason(column, what), _WRONG[what][0]) for what, mask in masks.items() if mask.any()
    ]
    with np.errstate(invalid="ignore"):
        return values.astype(np.int32), faults


def _numbers(column: pl.Series) -> pl.Series:
    """The column as numbers, null where a text is none."""
    dtype = column.dtype
    if dtype == pl.String:
        whole = column.cast(pl.Int64, strict=False)
        return whole if not whole.null_count() else column.str.strip_chars().cast(pl.Float64, strict=False)
    if dtype == pl.Boolean:
        return column.cast(pl.Int64)
    if dtype.is_decimal():
        return column.cast(pl.Float64)
    if dtype.is_numeric() or dtype == pl.Null:
        return column
    raise InvalidCounts(f"the count column holds {dtype}, and counts are whole numbers; convert it, or name another")


_COMMA = re.compile(r"\s*[-+]?\d{1,20}(,\d{1,20}){1,9}\s*")


def _reason(column: pl.Series, what: str) -> Callable[[int], str]:
    def sentence(row: int) -> str:
        _, way_out = _WRONG[what]
        if what == "which is no number" and _COMMA.fullmatch(str(column[row])):
            way_out = f"a comma for decimals, or between thousands? {way_out}"
        return f"{_number_shown(column[row])}, {what}; {way_out}"

    return sentence


def _number_shown(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else shown(value)


class TimeColumn:
    """The times of all rows, chunk after chunk: numbers or dates, as the first row has them."""

    def __init__(self) -> None:
        self.are_dates: bool | None = None
        self._parts: list[NDArray[Any]] = []

    def read(self, column: pl.Series) -> tuple[NDArray[Any], list[Fault]]:
        """The times of a chunk, and the faults found. `keep` takes the times of the rows that are kept."""
        dtype = column.dtype
        if not (dtype == pl.String or dtype.is_numeric() or dtype in (pl.Datetime, pl.Date, pl.Null)):
            raise InvalidCounts(
                f"the time column holds {dtype}; times are numbers, dates, or texts such as 2020-01-31"
            )
        dates = dtype in (pl.Datetime, pl.Date)
        if dtype == pl.String and len(column):
            dates = column.head(1).str.strip_chars().cast(pl.Float64, strict=False).null_count() > 0
        if self.are_dates is None:
            self.are_dates = dates
        times = _dates(column) if self.are_dates else _plain_times(column)
        bad = times.is_null().to_numpy()
        if times.dtype.is_float():
            bad = bad | ~np.isfinite(times.fill_null(0.0).to_numpy())
        wanted = "dates such as 2020-01-31 or 2020-01-31T23:59:59" if self.are_dates else "numbers, as the first is"
        faults: list[Fault] = []
        if bad.any():
            why = f"times here are {wanted}"
            faults.append(Fault(bad, lambda row: f"the time is {shown(column[row])}; {why}", "no time"))
            times = times.fill_null(pl.lit(0).cast(times.dtype))
        return times.to_numpy(), faults

    def keep(self, times: NDArray[Any]) -> None:
        """Keep these times."""
        self._parts.append(times)

    def finish(self) -> NDArray[Any]:
        """All times kept: int64, float64, or datetime64[us]."""
        return np.concatenate(self._parts)


def _plain_times(column: pl.Series) -> pl.Series:
    if column.dtype in (pl.Datetime, pl.Date):
        return pl.Series([None] * len(column), dtype=pl.Int64)
    texts = column.str.strip_chars() if column.dtype == pl.String else column
    if texts.dtype.is_float() or texts.dtype.is_decimal():
        return texts.cast(pl.Float64)
    whole = texts.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == 0 else texts.cast(pl.Float64, strict=False)


def _dates(column: pl.Series) -> pl.Series:
    """Dates without a time zone, in microseconds; those with one are converted to UTC."""
    if column.dtype == pl.String:
        return _iso_dates(column)
    if column.dtype == pl.Date:
        return column.cast(pl.Datetime("us"))
    if column.dtype != pl.Datetime:
        return pl.Series([None] * len(column), dtype=pl.Datetime("us"))
    if getattr(column.dtype, "time_zone", None) is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return column.dt.cast_time_unit("us")


def _iso_dates(texts: pl.Series) -> pl.Series:
    plain = texts.str.strip_chars().str.replace("T", " ", literal=True).str.replace("Z$", "+00:00")
    found = pl.Series([None] * len(plain), dtype=pl.Datetime("us"))
    for read in _iso_forms(plain):
        found = found.zip_with(found.is_not_null(), read)
        if not found.null_count():
            break
    return found


def _iso_forms(plain: pl.Series) -> Iterator[pl.Series]:
    for form in ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"):
        yield plain.str.to_datetime(form, strict=False, time_unit="us")
    yield plain.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us"))
    for form in ("%Y-%m-%d %H:%M:%S%.f%z", "%Y-%m-%d %H:%M%z"):
        yield plain.str.to_datetime(form, strict=False, time_unit="us", time_zone="UTC").dt.replace_time_zone(None)
