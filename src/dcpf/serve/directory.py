"""Look up and search users or items by id or name."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcpf.counts import Ids, Strings, UnknownId

Places = NDArray[np.int64]

# Neither byte occurs in UTF-8, so a match never spans two entries and never splits a letter
_ENTRY, _ID = b"\xff", b"\xfe"
_AT_A_TIME = 2**14  # entries per step, so that other threads get their turn in between
_LISTED = 10  # ids that an error names where several items share a name


class Directory:
    """An index of all ids and names: one string of case-folded UTF-8, the most important entries first.

    An entry is ENTRY name ID id, or ENTRY id where there are no names. The order lets a search stop early.
    """

    def __init__(self, ids: Ids, names: Strings | None, importance: NDArray[Any], what: str) -> None:
        self.ids, self.names, self.what = ids, names, what
        self._order: Places = np.argsort(-importance, kind="stable").astype(np.int64)
        pieces, hashes, lengths = [], [], []
        for spelt, called in self._spelt():
            pieces.append(_joined(spelt, called))
            lengths += [
                (len(one), len(other)) for one, other in zip(called or [b""] * len(spelt), spelt, strict=True)
            ]
            hashes += list(map(hash, called or ()))
        self._text = b"".join([*pieces, _ENTRY])
        self._bytes = np.frombuffer(self._text, dtype=np.uint8)
        of_names, of_ids = np.array(lengths, dtype=np.int64).reshape(-1, 2).T
        marks = 1 if names is None else 2
        ends = np.cumsum(of_names + of_ids + marks)
        self._begins = ends - (of_names + of_ids + marks)
        self._starts = [ends - of_ids] if names is None else [self._begins + 1, ends - of_ids]
        self._by_hash = np.argsort(np.array(hashes, dtype=np.int64), kind="stable")
        self._hashes = np.array(hashes, dtype=np.int64)[self._by_hash]

    def _spelt(self) -> Iterator[tuple[list[bytes], list[bytes] | None]]:
        for start in range(0, len(self._order), _AT_A_TIME):
            places = self._order[start : start + _AT_A_TIME]
            spelt = [_folded(str(one)) for one in self.ids.at(places)]
            yield spelt, None if self.names is None else [_folded(name) for name in self.names.take(places)]

    def find(self, typed: int | str) -> int | None:
        """The place of this id, or else of this name; None if there is neither. A shared name is an error."""
        place = self.ids.find(typed)
        if place is not None or self.names is None or not isinstance(typed, str) or not typed:
            return place
        alike = self._called(_folded(typed))
        owners = [one for one in alike if self.names[one] == typed] or alike
        if len(owners) < 2:
            return owners[0] if owners else None
        listed = ", ".join(f"{self.ids[one]!r} ({self.names[one]})" for one in owners[:_LISTED])
        more = f" and {len(owners) - _LISTED:,} more" if len(owners) > _LISTED else ""
        raise ValueError(
            f"{len(owners):,} {self.what}s are called {_short(typed)}: {listed}{more}; choose one by its id"
        )

    def place(self, typed: int | str) -> int:
        """The place of this id or name. An unknown one is an error."""
        place = self.find(typed)
        if place is None:
            raise UnknownId(f"unknown {self.what} {_short(typed)}; search for it with /api/{self.what}s?search=")
        return place

    def _called(self, folded: bytes) -> list[int]:
        """The places with this case-folded name."""
        wanted = hash(folded)
        low, high = np.searchsorted(self._hashes, wanted), np.searchsorted(self._hashes, wanted, side="right")
        entry = _ENTRY + folded + _ID
        entries = [int(one) for one in self._by_hash[low:high]]
        return [int(self._order[one]) for one in entries if self._text.startswith(entry, int(self._begins[one]))]

    def search(self, text: str, limit: int) -> tuple[list[int], bool]:
        """Places whose id or name begins with a text or contains it, in this order, and whether there are more."""
        folded = _folded(text)
        found = dict.fromkeys(self._first(text, folded, limit + 1))
        if len(found) <= limit and folded:
            found |= dict.fromkeys(self._containing(folded, limit + 1 + len(found)))
        return list(found)[:limit], len(found) > limit

    def _first(self, text: str, folded: bytes, limit: int) -> Iterator[int]:
        """The place of exactly this id, and those that begin with the text."""
        exact = self.ids.find(text)
        if exact is not None:
            yield exact
        for block in range(0, len(self._order), _AT_A_TIME):
            matches = np.zeros(min(_AT_A_TIME, len(self._order) - block), dtype=bool)
            for starts in self._starts:
                matches[self._beginning(starts[block : block + _AT_A_TIME], folded)] = True
            places = self._order[block + np.flatnonzero(matches)].tolist()
            yield from places[:limit]
            limit -= len(places)
            if limit <= 0:
                return

    def _beginning(self, starts: Places, folded: bytes) -> Places:
        """Which of the texts at these positions begin so. The mark after a shorter text ends its comparison."""
        left = np.arange(len(starts))
        for j, byte in enumerate(folded):
            left = left[self._bytes[starts[left] + j] == byte]
        return left

    def _containing(self, folded: bytes, limit: int) -> Iterator[int]:
        at = self._text.find(folded)
        while at >= 0 and limit > 0:
            entry = int(np.searchsorted(self._begins, at, side="right")) - 1
            yield int(self._order[entry])
            limit -= 1
            if entry + 1 == len(self._begins):
                return
            at = self._text.find(folded, int(self._begins[entry + 1]))


def _short(typed: object) -> str:
    """A quoted id or name, abbreviated if it is long."""
    spelt = repr(typed)
    return spelt if len(spelt) <= 80 else f"{spelt[:60]}...{spelt[-10:]}"


def _folded(text: str) -> bytes:
    """Case-folded UTF-8. Half of a surrogate pair is encoded too, and matches nothing."""
    return text.casefold().encode(errors="surrogatepass")


def _joined(spelt: list[bytes], called: list[bytes] | None) -> bytes:
    if called is None:
        return b"".join(_ENTRY + one for one in spelt)
    return b"".join(_ENTRY + name + _ID + one for name, one in zip(called, spelt, strict=True))
