"""From the ids of the rows to small codes, chunk after chunk, in memory that grows with the distinct ids only."""

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcpf.counts.ids import Ids
from dcpf.counts.strings import Strings

Kind = Literal["spelt", "integer", "string"]
Codes = NDArray[np.int32]

_NOT_AS_INTEGERS_ARE_WRITTEN = r"^(?:\+|-0|-?0[0-9])"  # among the texts that can be read as integers
_WIDEST_TABLE = 2**25  # integers between the smallest id and the largest, for which a table is kept: 128 MB at most


class Encoder:
    """Gives each distinct id a code: 0, 1, ... as they come. `finish` tells how the sorted ids are numbered.

    Of kind "spelt", ids are texts that stay integers as long as each is written as Python would write that integer;
    the first that is not turns all into strings, with nothing lost.
    """

    def __init__(self, kind: Kind) -> None:
        self._integers = kind != "string"
        self._spelt = kind == "spelt"
        self._seed = 0
        self._codes: _Table | _Hashed = _Table() if self._integers else _Hashed.of(pl.Series(dtype=pl.UInt64))
        self._distinct = pl.Series(dtype=pl.Int64 if self._integers else pl.String)

    def encode(self, ids: pl.Series) -> Codes:
        """The codes of these ids, integers or strings as the kind says, none of them missing."""
        if self._spelt and self._integers:
            read = as_integers(ids)
            if read is None:
                self._become_strings()
            else:
                ids = read
        if self._integers:
            return self._encode(ids, ids)
        while True:
            codes = self._encode(ids, string_hash(ids, self._seed))
            if (self._distinct.gather(pl.Series(codes)) == ids).all():
                return codes
            self._hash_anew()  # two strings have the same hash

    def finish(self) -> tuple[Ids, Codes]:
        """All ids in ascending order, and for each code its place there."""
        order = self._distinct.arg_sort()
        rank = np.empty(len(order), dtype=np.int32)
        rank[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
        ordered = self._distinct.gather(order)
        return Ids(ordered.to_numpy().astype(np.int64) if self._integers else as_strings(ordered)), rank

    def mixture(self) -> tuple[str, str] | None:
        """The first id that is written as an integer and the first that is not, if there are both in a text."""
        if self._integers or not self._spelt:
            return None
        read = self._distinct.cast(pl.Int64, strict=False).is_not_null()
        read &= ~self._distinct.str.contains(_NOT_AS_INTEGERS_ARE_WRITTEN)
        if read.all() or not read.any():
            return None
        return str(self._distinct.filter(read).min()), str(self._distinct.filter(~read).min())

    def _encode(self, ids: pl.Series, keys: pl.Series) -> Codes:
        if isinstance(self._codes, _Table) and not self._codes.make_room(keys):
            self._codes = _Hashed.of(self._distinct)
        codes = self._codes.find(keys)
        unknown = codes < 0
        if unknown.any():
            fresh = pl.DataFrame({"id": ids, "key": keys}).filter(pl.Series(unknown)).unique("key")
            added = self._codes.add(fresh["key"], len(self._distinct))
            self._distinct = pl.concat([self._distinct, fresh["id"]], rechunk=True)
            codes[unknown] = added.find(keys.filter(pl.Series(unknown)))
        return codes

    def _become_strings(self) -> None:
        self._integers = False
        self._distinct = self._distinct.cast(pl.String)
        self._hash_anew()

    def _hash_anew(self) -> None:
        while True:
            self._seed += 1
            keys = string_hash(self._distinct, self._seed)
            if keys.n_unique() == len(keys):
                break
        self._codes = _Hashed.of(keys)


class _Table:
    """Codes of integers that lie close together, each at its place."""

    def __init__(self) -> None:
        self._first = 0
        self._codes = np.empty(0, dtype=np.int32)

    def make_room(self, keys: pl.Series) -> bool:
        """Whether these find a place too."""
        if not len(keys):
            return True
        low, high = int(keys.min()), int(keys.max())  # type: ignore[arg-type]
        if len(self._codes):
            low, high = min(low, self._first), max(high, self._first + len(self._codes) - 1)
        if high - low >= _WIDEST_TABLE:
            return False
        if high - low >= len(self._codes):
            wider = np.full(high - low + 1, -1, dtype=np.int32)
            wider[self._first - low : self._first - low + len(self._codes)] = self._codes
            self._first, self._codes = low, wider
        return True

    def add(self, keys: pl.Series, first: int) -> "_Table":
        """Number these, which are new, from `first` on. Gives where they are found."""
        self._codes[keys.to_numpy() - self._first] = np.arange(first, first + len(keys), dtype=np.int32)
        return self

    def find(self, keys: pl.Series) -> Codes:
        """The codes, -1 for what is unknown."""
        found: Codes = self._codes[keys.to_numpy() - self._first]
        return found


class _Hashed:
    """Codes of any keys of 64 bits."""

    def __init__(self, known: pl.DataFrame) -> None:
        self._known = known

    @classmethod
    def of(cls, keys: pl.Series, first: int = 0) -> "_Hashed":
        """Number these from `first` on."""
        codes = pl.Series(np.arange(first, first + len(keys), dtype=np.int32))
        return cls(pl.DataFrame({"key": keys, "code": codes}))

    def add(self, keys: pl.Series, first: int) -> "_Hashed":
        """Number these, which are new, from `first` on. Gives where they are found, quicker than among all."""
        added = _Hashed.of(keys, first)
        self._known = pl.concat([self._known, added._known])
        return added

    def find(self, keys: pl.Series) -> Codes:
        """The codes, -1 for what is unknown."""
        rows = pl.DataFrame({"key": keys}).join(self._known, on="key", how="left", maintain_order="left")
        return rows["code"].fill_null(-1).to_numpy(writable=True)


def string_hash(strings: pl.Series, seed: int) -> pl.Series:
    """64 bits for each string. Another seed gives others."""
    return strings.hash(seed)


def as_integers(texts: pl.Series) -> pl.Series | None:
    """The texts as integers, or None unless each is written as an integer of 64 bits is: "12", not "012" or "+12"."""
    read = texts.cast(pl.Int64, strict=False)
    if read.null_count() or texts.str.contains(_NOT_AS_INTEGERS_ARE_WRITTEN).any():
        return None
    return read


def as_strings(series: pl.Series) -> Strings:
    """The same strings, kept as bytes one after another."""
    offsets = np.zeros(len(series) + 1, dtype=np.int64)
    np.cumsum(series.str.len_bytes().to_numpy(), out=offsets[1:])
    return Strings(offsets, np.frombuffer("".join(series.to_list()).encode(), dtype=np.uint8))
