"""Ranked lists as they are handed out: ids and scores to unpack, a table that says what the scores mean."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcpf.counts import Id, Ids, Strings, UnknownId
from dcpf.elements import Element
from dcpf.ranking.rates import Ranked

if TYPE_CHECKING:
    import polars as pl

_SEARCHED = 20_000  # names among which a misspelt one is looked for
_OF_IDS = ("user", "item", "to_user", "to_item")  # columns of tables


@dataclass(frozen=True)
class Catalogue:
    """The items (or users) that lists are made of: their ids, and their names where there are any."""

    ids: Ids
    names: Strings | None = None

    def named(self, place: int) -> str:
        """What to call the one at this place: its name, or else its id."""
        return (self.names[place] if self.names is not None else "") or str(self.ids[place])

    def find(self, wanted: Id, what: str = "item") -> Id:
        """The id that is meant: an id as it stands, or else the one that goes by this name.

        A name is looked for as it is spelt, then whatever its upper and lower case. One that several go by is an
        error, which lists their ids, and so is one that nobody has.
        """
        place = self.ids.find(wanted)
        if place is not None:
            return self.ids[place]
        if self.names is None or not isinstance(wanted, str) or not wanted:
            self.ids.positions([wanted], what)  # raises, with a hint
        names = list(self.names or ())
        named = [j for j, name in enumerate(names) if name == wanted]
        named = named or [j for j, name in enumerate(names) if name.casefold() == str(wanted).casefold()]
        if len(named) == 1:
            return self.ids[named[0]]
        if not named:
            close = get_close_matches(str(wanted), names, n=3) if len(names) <= _SEARCHED else []
            alike = [*self.ids.nearly(str(wanted)), *close][:3]
            hint = f"did you mean {' or '.join(map(repr, alike))}?" if alike else "an id or a name is wanted"
            raise UnknownId(f"unknown {what} {wanted!r}; {hint}")
        listed = ", ".join(f"{self.ids[j]!r} ({names[j]})" for j in named[:10])
        more = f" and {len(named) - 10:,} more" if len(named) > 10 else ""
        raise ValueError(f"{len(named):,} {what}s are called {wanted!r}: {listed}{more}; choose one by its id")

    def places(self, wanted: Sequence[Any], what: str = "item") -> NDArray[np.int64]:
        """Where these stand, by id or else by name. See `find`."""
        found = self.ids.find_all(wanted)
        for j in np.flatnonzero(found < 0).tolist():
            place = self.ids.find(self.find(wanted[j], what))
            found[j] = -1 if place is None else place
        return found

    def columns(self, places: NDArray[np.int64], what: str) -> dict[str, list[Any]]:
        """Columns of a table: ids under the name `what`, and names if there are any."""
        columns: dict[str, list[Any]] = {what: ids_array(self.ids, places).tolist()}
        if self.names is not None:
            columns["name"] = _taken(self.names, places)
        return columns


def ids_array(ids: Ids, places: NDArray[np.int64]) -> NDArray[Any]:
    """The ids at these places: int64, or objects that are strings."""
    if isinstance(ids.values, Strings):
        return np.array(_taken(ids.values, places), dtype=object)
    return np.asarray(ids.values)[places]


def frame_of(columns: Mapping[str, Any]) -> "pl.DataFrame":
    """A polars table. Columns of ids are integers, or strings if one of them is."""
    import polars as pl

    made = {}
    for name, values in columns.items():
        if name not in _OF_IDS:
            made[name] = pl.Series(values, dtype=pl.String) if name == "name" else pl.Series(values)
        else:
            ids = of_one_type(values)
            are_integers = all(isinstance(one, int) for one in ids)
            made[name] = pl.Series(ids, dtype=pl.Int64 if are_integers else pl.String)
    return pl.DataFrame(made)


def of_one_type(ids: Sequence[Id | None]) -> list[Any]:
    """The ids as integers, or all as strings if one of them is not an integer."""
    if all(isinstance(one, int) for one in ids):
        return list(ids)
    return [None if one is None else str(one) for one in ids]


def table_text(frame: "pl.DataFrame", rows: int = 20) -> str:
    """A table as text, for the prompt."""
    return _shown(frame, rows, str)


def table_html(frame: "pl.DataFrame", rows: int = 20) -> str:
    """A table as HTML, for a notebook."""
    return _shown(frame, rows, lambda shown: shown._repr_html_())


def _shown(frame: "pl.DataFrame", rows: int, show: Callable[["pl.DataFrame"], str]) -> str:
    import polars as pl

    with pl.Config(
        tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, tbl_formatting="NOTHING", tbl_rows=rows,
        float_precision=3, tbl_cols=-1, fmt_str_lengths=40, tbl_width_chars=118,
    ):  # fmt: skip
        return show(frame)


def _taken(strings: Strings, places: NDArray[np.int64]) -> list[str]:
    """The strings at these places; each is decoded once if there are many."""
    if len(places) < len(strings):
        return [strings[int(place)] for place in places]
    decoded = list(strings)
    return [decoded[place] for place in places.tolist()]


@dataclass(frozen=True, repr=False)
class RankedLists(ABC):
    """A ranked list for each of those who asked. Unpacks as (ids, scores).

    Both are arrays if one asked, and lists of arrays, one for each, if several did. A list is as long as there was
    something to put in it. At the prompt and in a notebook it shows itself as a table.
    """

    asked: Sequence[Id | None]  # whose lists these are
    catalogue: Catalogue  # what they consist of
    ranked: Ranked
    single: bool  # one asked, and not a list of one

    def __iter__(self) -> Iterator[Any]:
        indptr = self.ranked.indptr
        ids = np.split(ids_array(self.catalogue.ids, self.ranked.columns), indptr[1:-1])
        scores = np.split(self.ranked.scores, indptr[1:-1])
        n = len(self.asked)
        return iter((ids[0], scores[0]) if self.single else (ids[:n], scores[:n]))

    @abstractmethod
    def columns(self) -> dict[str, Any]:
        """The columns of `to_frame`, as lists and arrays."""

    def to_frame(self) -> "pl.DataFrame":
        """A polars table with a row for each place of each list."""
        return frame_of(self.columns())

    def __repr__(self) -> str:
        return f"{self._title()}\n{table_text(self.to_frame())}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self._title())}</p>{table_html(self.to_frame())}"

    def _title(self) -> str:
        of = repr(self.asked[0]) if self.single else f"{len(self.asked):,}"
        return f"{type(self).__name__} for {of}"

    def _columns(self, asked: str, of: str, more: dict[str, Any]) -> dict[str, Any]:
        lengths = np.diff(self.ranked.indptr)
        ranks = np.arange(len(self.ranked.columns)) - np.repeat(self.ranked.indptr[:-1], lengths) + 1
        whose = [one for one, length in zip(self.asked, lengths.tolist(), strict=False) for _ in range(length)]
        return {asked: of_one_type(whose), **self.catalogue.columns(self.ranked.columns, of), "rank": ranks, **more}


def meanings(sessions: NDArray[np.float64], element: Element) -> dict[str, NDArray[np.float64]]:
    """What a rate of sessions stands for. The binary limit knows no expected count: there it is NaN."""
    mean = element.mean if np.isfinite(element.mean) else np.nan
    return {"sessions": sessions, "count": sessions * mean, "probability": -np.expm1(-sessions)}


def largest(values: NDArray[Any], n: int) -> NDArray[np.int64]:
    """The positions of the n largest values, in descending order. Equal values keep their order."""
    n = min(n, len(values))
    if n == 0:
        return np.empty(0, dtype=np.int64)
    threshold = np.partition(values, len(values) - n)[len(values) - n]
    candidates = np.flatnonzero(values >= threshold)
    return candidates[np.argsort(-values[candidates], kind="stable")][:n].astype(np.int64)
