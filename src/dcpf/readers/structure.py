"""Where the lines of a block of text end and where its fields part, found without parsing it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_NEWLINE, _RETURN, _QUOTE = b"\n"[0], b"\r"[0], b'"'[0]


@dataclass(frozen=True)
class Structure:
    """Positions in a block of the line ends and of the delimiters that are not within quotes."""

    ends: NDArray[np.int64]
    delimiters: NDArray[np.int64]  # up to the last line end
    size: int  # bytes up to and with the last line end
    has_quotes: bool

    def has_width(self, width: int) -> bool:
        """Whether there are so many fields in every line; no fewer than 2."""
        each = width - 1
        if len(self.ends) == 0 or len(self.delimiters) != each * len(self.ends):
            return False
        by_line = self.delimiters.reshape(len(self.ends), each)
        return bool((by_line[:, -1] < self.ends).all() and (by_line[1:, 0] > self.ends[:-1]).all())


def structure_of(block: bytes, delimiter: str, *, last: bool) -> Structure | None:
    """The structure of the whole lines of a block, or None if its quotes and returns are not as RFC 4180 has them.

    A block that is the last of the file ends its last line, with a line end or without one.
    """
    text = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero(text == _NEWLINE)
    delimiters = np.flatnonzero(text == ord(delimiter))
    quotes = np.flatnonzero(text == _QUOTE) if b'"' in block else np.empty(0, dtype=np.int64)
    if len(quotes):
        ends, delimiters = _outside(ends, quotes), _outside(delimiters, quotes)
    if last and len(block) and (len(ends) == 0 or ends[-1] != len(block) - 1):
        ends = np.append(ends, len(block))
    if len(ends) == 0:
        return None
    size = min(int(ends[-1]) + 1, len(block))
    quotes = quotes[: np.searchsorted(quotes, size)]
    if len(quotes) % 2 or not _are_regular(text[:size], quotes, ord(delimiter)):
        return None
    if b"\r" in block and not _returns_end_lines(text[:size], quotes):
        return None
    return Structure(ends, delimiters[: np.searchsorted(delimiters, size)], size, len(quotes) > 0)


def _outside(positions: NDArray[np.int64], quotes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those that an even number of quotes precede."""
    even: NDArray[np.bool_] = np.searchsorted(quotes, positions) % 2 == 0
    return positions[even]


def _are_regular(text: NDArray[np.uint8], quotes: NDArray[np.int64], delimiter: int) -> bool:
    """Whether quotes open where a field starts and close where it ends, doubled ones within apart."""
    opening, closing = quotes[::2], quotes[1::2]
    before = text[np.maximum(opening - 1, 0)]
    opens = (opening == 0) | np.isin(before, (delimiter, _NEWLINE))
    opens[1:] |= opening[1:] == closing[:-1] + 1
    after = text[np.minimum(closing + 1, len(text) - 1)]
    closes = (closing == len(text) - 1) | np.isin(after, (delimiter, _NEWLINE, _RETURN))
    closes[:-1] |= opening[1:] == closing[:-1] + 1
    return bool(opens.all() and closes.all())


def _returns_end_lines(text: NDArray[np.uint8], quotes: NDArray[np.int64]) -> bool:
    returns = np.flatnonzero(text == _RETURN)
    returns = _outside(returns, quotes) if len(quotes) else returns
    following = text[np.minimum(returns + 1, len(text) - 1)]
    return bool((following == _NEWLINE).all())
