"""A long list of strings as two arrays, which are cheap to keep, to save and to map from a file."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from dcpf.counts.checks import InvalidCounts

_AT_A_TIME = 2**16  # strings that are copied at once


class Strings(Sequence[str]):
    """Strings one after another in UTF-8: string j is `utf8[offsets[j] : offsets[j + 1]]`."""

    def __init__(self, offsets: NDArray[np.int64], utf8: NDArray[np.uint8]) -> None:
        self.offsets = offsets
        self.utf8 = utf8

    @classmethod
    def of(cls, strings: Iterable[str]) -> Self:
        """From strings. A string that is not valid text (half of a surrogate pair) is refused."""
        listed = list(strings)
        try:
            return cls._of_encoded(list(map(str.encode, listed)))
        except (TypeError, UnicodeEncodeError):
            raise _no_text(listed) from None

    @classmethod
    def _of_encoded(cls, encoded: Sequence[bytes]) -> Self:
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)), out=offsets[1:])
        return cls(offsets, np.frombuffer(b"".join(encoded), dtype=np.uint8))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The bytes of each string."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, j: int) -> str: ...
    @overload
    def __getitem__(self, j: slice) -> "Strings": ...
    def __getitem__(self, j: int | slice) -> "str | Strings":
        if isinstance(j, slice):
            return self.take(np.arange(*j.indices(len(self))))
        if not -len(self) <= j < len(self):
            raise IndexError(f"string {j} of {len(self)}")
        j = j % len(self)
        return _decoded(self.utf8[self.offsets[j] : self.offsets[j + 1]].tobytes())

    def __iter__(self) -> Iterator[str]:
        blob, offsets = self.utf8.tobytes(), self.offsets.tolist()
        return (_decoded(blob[begin:end]) for begin, end in itertools.pairwise(offsets))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Strings):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.utf8, other.utf8)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: "Strings") -> "Strings":
        """These strings, then the others."""
        offsets = np.concatenate([self.offsets, other.offsets[1:] + self.offsets[-1]])
        return Strings(offsets, np.concatenate([self.utf8, other.utf8]))

    def take(self, positions: NDArray[np.integer]) -> "Strings":
        """The strings at these positions, in this order."""
        begins, lengths = self.offsets[:-1][positions], self.lengths[positions]
        offsets = np.zeros(len(begins) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        utf8 = np.empty(offsets[-1], dtype=np.uint8)
        for start in range(0, len(begins), _AT_A_TIME):
            part = slice(start, start + _AT_A_TIME)
            low, high = offsets[start], offsets[min(part.stop, len(begins))]
            shift = np.repeat(begins[part] - offsets[:-1][part], lengths[part])
            utf8[low:high] = self.utf8[shift + np.arange(low, high)]
        return Strings(offsets, utf8)


def _decoded(utf8: bytes) -> str:
    try:
        return utf8.decode()
    except UnicodeDecodeError:
        raise InvalidCounts(
            f"{utf8[:40]!r} is no text in UTF-8: the file that it comes from is damaged (`dcpf doctor MODEL` checks "
            "a model); copy it again from an undamaged one"
        ) from None


def _no_text(listed: list[Any]) -> Exception:
    """The error for the first that is not a string, or cannot be encoded."""
    for j, one in enumerate(listed):
        if not isinstance(one, str):
            return TypeError(f"{one!r} (at {j}) is not a string, but {type(one).__name__}; convert it first")
        half = next((k for k, letter in enumerate(one) if "\ud800" <= letter <= "\udfff"), None)
        if half is not None:
            return InvalidCounts(
                f"{one!r} (at {j}) is not valid text: character {half} is half of a surrogate pair; "
                "decode the bytes that it comes from with the right encoding"
            )
    raise AssertionError("all of these are strings")
