"""Ids of rows as small codes, chunk after chunk, in memory that grows with the distinct ids only."""

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcpf.counts.ids import Ids
from dcpf.counts.strings import Strings

Kind = Literal["spelt", "integer", "string"]
Codes = NDArray[np.int32]

_NOT_AS_INTEGERS_ARE_WRITTEN = r"^(?:\+|-0|-?0[0-9])"  # among the texts that can be read as integers
_WIDEST_TABLE = 2**25  # integers between the smallest id and the largest: 128 MB at most


class Encoder:
    """Gives each distinct id a code: 0, 1, ... as new ids come.

    Of kind "spelt", ids are texts that become integers if every one of them is written as Python would write that
    integer. The first that is not turns all of them back into strings; nothing is lost.
    """

    def __init__(self, kind: Kind) -> None:
        self._spelt = kind == "spelt"
        self._are_integers = kind != "string"
        self._distinct = pl.Series(dtype=pl.Int64 if self._are_integers else pl.String)  # by code
        self._codes: _Table | _Index = _Table() if self._are_integers else _Index(self._distinct, 0)

    def encode(self, ids: pl.Series) -> Codes:
        """The codes of these ids, integers or strings as the kind says, none of them missing."""
        if self._spelt and self._are_integers:
            integers = as_integers(ids)
            if integers is None:
                self._become_strings()
            else:
                ids = integers
        if isinstance(self._codes, _Table) and not self._codes.make_room(ids):
            self._codes = _Index(self._distinct, 0)
        codes = self._codes.find(ids)
        unknown = codes < 0
        if unknown.any():
            rest = ids.filter(pl.Series(unknown))
            new = rest.unique()
            added = self._codes.add(new, len(self._distinct))
            self._distinct = pl.concat([self._distinct, new], rechunk=True)
            codes[unknown] = added.find(rest)
        return codes

    def finish(self) -> tuple[Ids, Codes]:
        """All ids in ascending order, and the position of each code among them."""
        order = self._distinct.arg_sort()
        positions = np.empty(len(order), dtype=np.int32)
        positions[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
        ids = self._distinct.gather(order)
        return Ids(ids.to_numpy().astype(np.int64) if self._are_integers else as_strings(ids)), positions

    def mixture(self) -> tuple[str, str] | None:
        """If a column of text has integers beside other ids: the first of each."""
        if self._are_integers or not self._spelt:
            return None
        ids = self._distinct
        integers = ids.cast(pl.Int64, strict=False).is_not_null() & ~ids.str.contains(_NOT_AS_INTEGERS_ARE_WRITTEN)
        if integers.all() or not integers.any():
            return None
        return str(ids.filter(integers).min()), str(ids.filter(~integers).min())

    def _become_strings(self) -> None:
        self._are_integers = False
        self._distinct = self._distinct.cast(pl.String)
        self._codes = _Index(self._distinct, 0)


class _Table:
    """Codes of integers that lie close together, in an array that is indexed by the integer."""

    def __init__(self) -> None:
        self._first = 0
        self._codes = np.empty(0, dtype=np.int32)

    def make_room(self, ids: pl.Series) -> bool:
        """Whether the array can hold these, too."""
        if not len(ids):
            return True
        low, high = int(ids.min()), int(ids.max())  # type: ignore[arg-type]
        if len(self._codes):
            low, high = min(low, self._first), max(high, self._first + len(self._codes) - 1)
        if high - low >= _WIDEST_TABLE:
            return False
        if high - low >= len(self._codes):
            wider = np.full(high - low + 1, -1, dtype=np.int32)
            wider[self._first - low : self._first - low + len(self._codes)] = self._codes
            self._first, self._codes = low, wider
        return True

    def add(self, new: pl.Series, first: int) -> "_Table":
        """Number new ids from `first` on."""
        self._codes[new.to_numpy() - self._first] = np.arange(first, first + len(new), dtype=np.int32)
        return self

    def find(self, ids: pl.Series) -> Codes:
        """The codes, -1 for unknown ids."""
        codes: Codes = self._codes[ids.to_numpy() - self._first]
        return codes


class _Index:
    """Codes of any ids, found by a join."""

    def __init__(self, ids: pl.Series, first: int) -> None:
        self._known = pl.DataFrame({"id": ids, "code": np.arange(first, first + len(ids), dtype=np.int32)})

    def add(self, new: pl.Series, first: int) -> "_Index":
        """Number new ids from `first` on. The answer knows these alone, and so finds them faster."""
        added = _Index(new, first)
        self._known = pl.concat([self._known, added._known])
        return added

    def find(self, ids: pl.Series) -> Codes:
        """The codes, -1 for unknown ids."""
        rows = ids.to_frame("id").join(self._known, on="id", how="left", maintain_order="left")
        return rows["code"].fill_null(-1).to_numpy(writable=True)


def as_integers(texts: pl.Series) -> pl.Series | None:
    """The texts as integers, or None unless each is written as an integer of 64 bits is: "12", not "012" or "+12"."""
    integers = texts.cast(pl.Int64, strict=False)
    if integers.null_count() or texts.str.contains(_NOT_AS_INTEGERS_ARE_WRITTEN).any():
        return None
    return integers


def as_strings(series: pl.Series) -> Strings:
    """The same strings, kept as bytes one after another."""
    offsets = np.zeros(len(series) + 1, dtype=np.int64)
    np.cumsum(series.str.len_bytes().to_numpy(), out=offsets[1:])
    return Strings(offsets, np.frombuffer("".join(series.to_list()).encode(), dtype=np.uint8))
