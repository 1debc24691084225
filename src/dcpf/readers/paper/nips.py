"""The words of the papers of the NIPS conferences from 1987 to 2015."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Counts, InvalidCounts
from dcpf.readers.paper.dataset import DataSet, Figures, Progress
from dcpf.readers.paper.opening import Original, opened

_BLOCK = 2**22  # bytes read at a time
_LONGEST_LINE = 2**26
_CELLS_AT_A_TIME = 2**21
_PAPER = re.compile(r"[12][0-9]{3}_[0-9]+")
_DIGITS_AND_COMMA = b"0123456789,"
_TOO_LONG = re.compile(rb"[0-9]{10}")  # digits of a count
_SHOWN = 40  # characters of a bad value that an error shows


def load(path: Path, progress: Progress | None = None) -> Counts:
    """How often each paper (as a user) has each word (as an item), from NIPS_1987-2015.csv.

    The file is a table of words by papers, zeros included, and is read a few hundred words at a time. Papers without
    any word, and words that no paper has, stay: the paper counts them too.
    """
    with opened(path, NIPS) as original:
        table = _Table(original, progress)
        matrix = table.read()
    counts = Counts.from_matrix(matrix, users=table.papers, items=table.words)
    counts = counts.select(counts.users.order, counts.items.order)  # ascending, as those of other files are
    notes = [NIPS.told(len(table.words) + 1)]
    papers = int((np.diff(counts.matrix.indptr) == 0).sum())
    words = counts.shape[1] - len(np.unique(counts.matrix.indices))
    if papers or words:
        notes.append(f"{papers:,} papers without a word and {words:,} words in no paper (lost in a file of counts)")
    return replace(counts, notes=tuple(notes))


class _Table:
    """Reads the lines of the file: a header with the papers, then a word and its counts in each."""

    def __init__(self, original: Original, progress: Progress | None) -> None:
        self._original = original
        self._progress = progress
        self._lines = enumerate(self._split(), start=1)
        self.papers = self._read_header()
        self.words: list[str] = []

    def read(self) -> sparse.coo_array:
        """The counts, papers by words."""
        parts = []
        for cells in self._blocks():
            word, paper = np.nonzero(cells)
            first = len(self.words) - len(cells)
            parts.append(np.stack([cells[word, paper], paper, first + word]).astype(np.int32))
        NIPS.check_end(self._original.shown, len(self.words) + 1, ended=self._original.ended)
        if not self.words:
            raise self._wrong(2, "no words below the header")
        data, papers, words = np.concatenate(parts, axis=1)
        return sparse.coo_array((data, (papers, words)), shape=(len(self.papers), len(self.words)))

    def _split(self) -> Iterator[bytes]:
        rest = b""
        while block := self._original.read(_BLOCK):
            *whole, rest = (rest + block).split(b"\n")
            yield from whole
            if len(rest) > _LONGEST_LINE:
                raise InvalidCounts(f"{self._original.shown}: no line end within {len(rest):,} bytes{NIPS.expected}")
            self._original.tell(self._progress)
        if rest:
            yield rest

    def _read_header(self) -> list[str]:
        _, line = next(self._lines)
        cells = line.rstrip(b"\r").decode(errors="replace").split(",")
        papers = [cell.strip('"') for cell in cells[1:]]
        wrong = next((paper for paper in papers or cells if not _PAPER.fullmatch(paper)), None)
        if wrong is not None:
            raise self._wrong(1, f"{wrong[:_SHOWN]!r} in the header, which has papers such as 1987_1")
        return papers

    def _blocks(self) -> Iterator[NDArray[np.int64]]:
        """The counts of some words after others, words by papers."""
        parts: list[bytes] = []
        for number, line in self._lines:
            word, _, cells = line.rstrip(b"\r").partition(b",")
            if wrong := self._fault(word, cells):
                raise self._wrong(number, wrong)
            self.words.append(_text(word))
            parts.append(cells)
            if len(parts) * len(self.papers) >= _CELLS_AT_A_TIME:
                yield self._parsed(parts)
                parts.clear()
        if parts:
            yield self._parsed(parts)

    def _parsed(self, parts: list[bytes]) -> NDArray[np.int64]:
        column = b"\n".join(parts).replace(b",", b"\n")  # read at once, as a single column
        read = pl.read_csv(column, has_header=False, schema={"count": pl.Int64}, quote_char=None)
        return read["count"].to_numpy().reshape(len(parts), len(self.papers))

    def _fault(self, word: bytes, cells: bytes) -> str | None:
        """What is wrong with a line, if anything."""
        if not _text(word):
            return f"the word is {word[:_SHOWN]!r}"
        if cells.count(b",") != len(self.papers) - 1:
            return f"{cells.count(b',') + 1:,} counts where the header has {len(self.papers):,} papers"
        if cells.translate(None, _DIGITS_AND_COMMA) or b",," in b"," + cells + b"," or _TOO_LONG.search(cells):
            split = cells.split(b",")
            at = next(j for j, cell in enumerate(split) if not cell.isdigit() or _TOO_LONG.match(cell))
            shown = split[at][:_SHOWN].decode(errors="backslashreplace")
            return f"the count of {_text(word)!r} in paper {self.papers[at]} is {shown!r}"
        return None

    def _wrong(self, line: int, why: str) -> InvalidCounts:
        return InvalidCounts(f"{self._original.shown}:{line}: {why}{NIPS.expected}")


def _text(word: bytes) -> str:
    """A word without its quotes; "" if it is not UTF-8."""
    try:
        return word.strip(b'"').decode()
    except UnicodeDecodeError:
        return ""


NIPS = DataSet(
    name="nips",
    title="NIPS 1987-2015",
    what="how often papers use words",
    file="NIPS_1987-2015.csv",
    page="https://archive.ics.uci.edu/dataset/371/nips+conference+papers+1987+2015",
    lines=11_464,
    row="a word and how often it is in each paper, parted by commas",
    load=load,
    paper=Figures(5_811, 11_463, 4_033_830, 2.74, 20.87),
)
