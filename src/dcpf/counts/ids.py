"""Ids of users or items, and the position of each."""

import bisect
import difflib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from dcpf.counts.checks import InvalidCounts, shown
from dcpf.counts.strings import Strings

Id = int | str

_AS_A_SEARCH = 500  # strings that can be read one after another in the time in which one is searched for
_SEARCHED = 20_000  # ids among which a misspelt one is looked for; of more, only its neighbours
_NEIGHBOURS = 200
_MOST_ZEROS = 12  # before a number that may have been left out
_LONGEST_HINT = 100  # characters of an id up to which similar ones are looked for
_LARGEST = 2**63 - 1


class UnknownId(KeyError):  # noqa: N818 - the name says it
    """A user or item that is not in the model or the data."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show it in quotes


class Ids(Sequence[Id]):
    """Distinct ids in the order of the rows or columns that they name: all integers, or all strings."""

    def __init__(self, values: NDArray[np.int64] | Strings, order: NDArray[np.int64] | None = None) -> None:
        """`order` sorts the values; None if they are sorted already."""
        self.values = values
        self.order = order

    @classmethod
    def numbered(cls, n: int) -> Self:
        """0, 1, ..., n - 1, for a matrix without ids."""
        return cls(np.arange(n, dtype=np.int64))

    @classmethod
    def of(cls, ids: Iterable[Any], what: str = "id") -> Self:
        """From ids, in this order. Ids must be distinct, and all integers or all strings."""
        if isinstance(ids, cls):
            return ids
        _check_several(ids, what)
        if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu":
            return cls._of_integers(ids, what)
        found = [one.item() if isinstance(one, np.generic) else one for one in ids]
        if all(isinstance(one, int) and not isinstance(one, bool) for one in found):
            return cls._of_integers(np.array(found, dtype=object), what)
        for j, one in enumerate(found):
            if not isinstance(one, str):
                raise TypeError(
                    f"{what}s must be all integers or all strings, found {shown(one)} ({type(one).__name__}) "
                    f"at {j} among {shown(found[0])}, ...; convert them first"
                )
        return cls._of_strings(found, what)

    @classmethod
    def _of_strings(cls, found: Sequence[str], what: str) -> Self:
        strings = Strings.of(found)
        if all(one < other for one, other in itertools.pairwise(found)):
            return cls(strings)
        order = sorted(range(len(found)), key=found.__getitem__)
        for j, other in itertools.pairwise(order):
            if found[j] == found[other]:
                raise _twice(what, found[j], j, other)
        return cls(strings, np.array(order, dtype=np.int64))

    @classmethod
    def _of_integers(cls, found: NDArray[Any], what: str) -> Self:
        for one in (found.max(), found.min()) if len(found) else ():
            if not -_LARGEST - 1 <= one <= _LARGEST:
                raise TypeError(f"{what} {one} has more than 64 bits; give such ids as strings")
        values = found.astype(np.int64)
        return cls(values, _sorting(values, lambda j: int(values[j]), what))

    @property
    def are_strings(self) -> bool:
        """Whether the ids are strings; otherwise they are integers."""
        return isinstance(self.values, Strings)

    @property
    def are_ascending(self) -> bool:
        """Whether the ids are in ascending order."""
        return self.order is None

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, j: int) -> Id: ...
    @overload
    def __getitem__(self, j: slice) -> list[Id]: ...
    def __getitem__(self, j: int | slice) -> Id | list[Id]:
        if isinstance(j, slice):
            return self.at(np.arange(*j.indices(len(self))))
        return self.values[j] if isinstance(self.values, Strings) else int(self.values[j])

    def __iter__(self) -> Iterator[Id]:
        return iter(self.values if isinstance(self.values, Strings) else self.values.tolist())

    def __contains__(self, one: object) -> bool:
        return self.find(one) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ids):
            return NotImplemented
        if other is self:
            return True
        if isinstance(self.values, Strings) or isinstance(other.values, Strings):
            return self.values == other.values if self.are_strings and other.are_strings else False
        return np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(one) for one in self[:3])
        return f"<{len(self):,} ids: {shown}{', ...' if len(self) > 3 else ''}>"

    def at(self, positions: NDArray[np.integer]) -> list[Id]:
        """The ids at these positions."""
        if isinstance(self.values, Strings):
            return list(self.values.take(positions))
        return list(self.values[positions].tolist())

    def take(self, positions: NDArray[np.integer]) -> "Ids":
        """The ids at these positions, which must be distinct, as ids of their own."""
        chosen = np.arange(len(self))[positions]
        rank = chosen if self.order is None else np.argsort(self.order)[chosen]
        return Ids(self.values.take(chosen), _sorting(rank, lambda j: self[int(chosen[j])], "id"))

    def union(self, other: "Ids") -> tuple["Ids", NDArray[np.int64], NDArray[np.int64]]:
        """The ids of both, and the positions there of these ids and of the other ids.

        Ascending if both are; otherwise these ids come first, then the new ones of the other, each in their order.
        """
        if self.are_strings != other.are_strings and len(self) and len(other):
            raise TypeError(
                f"integer ids and string ids cannot be merged: {self[0]!r} and {other[0]!r}; "
                "convert one of the two, or give both as strings"
            )
        mine = np.arange(len(self))
        if self == other:
            return self, mine, mine
        theirs = self.find_all(other)
        new = np.flatnonzero(theirs < 0)
        if len(new) == 0:
            return self, mine, theirs
        theirs[new] = len(self) + np.arange(len(new))
        if self.are_ascending and other.are_ascending and len(new) * _AS_A_SEARCH < len(self):
            return self._with_few(other.take(new), theirs)
        united = Ids.of(itertools.chain(self, other.at(new)))
        if united.order is None or not (self.are_ascending and other.are_ascending):
            return united, mine, theirs
        rank = np.argsort(united.order)
        return Ids(united.values.take(united.order)), rank[mine], rank[theirs]

    def _with_few(self, new: "Ids", theirs: NDArray[np.int64]) -> tuple["Ids", NDArray[np.int64], NDArray[np.int64]]:
        """The union with a few new ids, which come after all of these in `theirs`; both ascend."""
        places = [bisect.bisect_left(range(len(self)), one, key=self.__getitem__) for one in new]
        order = np.insert(np.arange(len(self)), places, len(self) + np.arange(len(new)))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        values: NDArray[np.int64] | Strings
        if isinstance(self.values, Strings) and isinstance(new.values, Strings):
            values = (self.values + new.values).take(order)
        else:
            values = np.concatenate([np.asarray(self.values), np.asarray(new.values)])[order]
        return Ids(values), rank[: len(self)], rank[theirs]

    def find(self, one: object) -> int | None:
        """The position of an id, or None. A string of digits finds an integer id, as a terminal gives strings."""
        if self.are_strings:
            return self._find_string(str(one)) if isinstance(one, str) else None
        place = int(self._find_integers([one])[0])
        return None if place < 0 else place

    def find_all(self, ids: Iterable[object]) -> NDArray[np.int64]:
        """The positions of the ids, -1 for unknown ids."""
        _check_several(ids, "id")
        if not self.are_strings:
            return self._find_integers(ids)
        wanted = [one if isinstance(one, str) else None for one in ids]
        if len(wanted) * _AS_A_SEARCH < len(self):
            found = (None if one is None else self._find_string(one) for one in wanted)
            return np.array([-1 if place is None else place for place in found], dtype=np.int64)
        places: dict[object, int] = dict.fromkeys(wanted, -1)
        for j, one in enumerate(self):  # a dictionary of all would be kept, or be made again and again
            if one in places:
                places[one] = j
        return np.fromiter((places[one] for one in wanted), dtype=np.int64, count=len(wanted))

    def positions(self, ids: Iterable[object], what: str) -> NDArray[np.int64]:
        """The positions of the ids. An unknown id is an error, which suggests ids with a similar spelling."""
        _check_several(ids, what)
        wanted = ids if isinstance(ids, Sequence | np.ndarray) else list(ids)
        found = self.find_all(wanted)
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            first = wanted[int(unknown[0])]
            first = first.item() if isinstance(first, np.generic) else first
            more = f" (and {len(unknown) - 1:,} more)" if len(unknown) > 1 else ""
            raise UnknownId(f"unknown {what} {shown(first)}{more}; {self._hint(first, what)}")
        return found

    def _find_string(self, wanted: str) -> int | None:
        j = self._sorted_place(wanted)
        place = j if self.order is None or j == len(self) else int(self.order[j])
        return place if j < len(self) and self[place] == wanted else None

    def _sorted_place(self, wanted: str) -> int:
        order: Sequence[int] | NDArray[np.int64] = range(len(self)) if self.order is None else self.order
        return bisect.bisect_left(order, wanted, key=lambda place: str(self[int(place)]))

    def _find_integers(self, ids: Iterable[object]) -> NDArray[np.int64]:
        assert not isinstance(self.values, Strings)
        ids = ids.values if isinstance(ids, Ids) else ids
        if isinstance(ids, np.ndarray) and ids.dtype.kind == "i":
            wanted, possible = ids, np.ones(len(ids), dtype=np.bool_)
        else:
            numbers = [_integer(one) for one in ids]
            wanted = np.array([0 if one is None else one for one in numbers], dtype=np.int64)
            possible = np.array([one is not None for one in numbers], dtype=np.bool_)
        if len(self) == 0:
            return np.full(len(wanted), -1)
        place = np.minimum(np.searchsorted(self.values, wanted, sorter=self.order), len(self) - 1)
        place = place if self.order is None else self.order[place]
        return np.where(possible & (self.values[place] == wanted), place, -1)

    def _hint(self, unknown: object, what: str) -> str:
        if len(self) == 0:
            return f"there are no {what}s"
        alike = self._alike(unknown)
        if alike:
            return f"did you mean {' or '.join(repr(one) for one in alike)}?"
        kind = "strings" if self.are_strings else "integers"
        return f"the {len(self):,} {what}s are {kind} such as {self[0]!r}"

    def _alike(self, unknown: object) -> list[Id]:
        """Up to three ids with a similar spelling."""
        spelt = str(unknown) if isinstance(unknown, str | int) else ""
        if not 0 < len(spelt) <= _LONGEST_HINT:
            return []
        if not self.are_strings:  # "007" and " 7" are not 7, but may be meant so
            number = int(spelt) if spelt.strip().isdecimal() else None
            return [number] if number is not None and self.find(number) is not None else []
        candidates = range(len(self))
        if len(self) > _SEARCHED:
            middle = self._sorted_place(spelt)
            candidates = candidates[max(middle - _NEIGHBOURS, 0) : middle + _NEIGHBOURS]
        places = np.asarray(candidates) if self.order is None else self.order[candidates]
        close = difflib.get_close_matches(spelt, [str(one) for one in self.at(places)], n=3)
        found: list[Id] = [*self.nearly(spelt), *close]
        return list(dict.fromkeys(found))[:3]

    def nearly(self, spelt: str) -> list[str]:
        """Ids that differ only in case, or in zeros before the last number."""
        if not self.are_strings or len(spelt) > _LONGEST_HINT:
            return []
        number = re.search(r"0*(\d+)(\D*)$", spelt)
        forms = [spelt]
        if number is not None:
            before, after = spelt[: number.start()], number[1] + number[2]
            forms += [before + "0" * zeros + after for zeros in range(_MOST_ZEROS)]
        cased = [case(one) for one in forms for case in (str, str.upper, str.lower, str.capitalize)]
        return [one for one in dict.fromkeys(cased) if self.find(one) is not None]


def _integer(one: object) -> int | None:
    """The 64-bit integer that is meant: itself, or a string of digits as Python writes that integer."""
    if isinstance(one, np.generic):
        one = one.item()
    if isinstance(one, str):
        digits = one.removeprefix("-")
        if len(digits) > 19 or not digits.isdecimal() or str(int(one)) != one:
            return None
        one = int(one)
    return one if isinstance(one, int) and not isinstance(one, bool) and -_LARGEST - 1 <= one <= _LARGEST else None


def _sorting(values: NDArray[np.int64], spelt: Callable[[int], Id], what: str) -> NDArray[np.int64] | None:
    """The order that sorts these distinct values, None if they are sorted."""
    if (values[1:] > values[:-1]).all():
        return None
    order = np.argsort(values, kind="stable")
    again = np.flatnonzero(values[order][1:] == values[order][:-1])
    if len(again):
        one, other = (int(j) for j in order[again[0] : again[0] + 2])
        raise _twice(what, spelt(one), one, other)
    return order


def _check_several(ids: object, what: str) -> None:
    if isinstance(ids, str | bytes):
        raise TypeError(f"{what}s must be a list, found the single {shown(ids)}; give [{shown(ids)}]")
    if isinstance(ids, np.ndarray) and ids.ndim != 1:
        raise TypeError(f"{what}s must be a list, found an array of shape {ids.shape}")


def _twice(what: str, one: Id, first: int, second: int) -> InvalidCounts:
    return InvalidCounts(f"{what} {shown(one)} is there twice, at {first} and at {second}; ids must be distinct")
