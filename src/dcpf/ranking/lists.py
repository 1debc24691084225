"""Ranked lists as they are handed out: ids and scores to unpack, a table that says what the scores mean."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcpf.counts import Id, Ids, Strings, UnknownId
from dcpf.elements import Element
from dcpf.ranking.top import Ranked

if TYPE_CHECKING:
    import polars as pl

_SEARCHED = 20_000  # names among which a misspelt one is looked for


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

    def columns(self, places: NDArray[np.int64], what: str) -> "dict[str, pl.Series]":
        """Columns of a table: ids under the name `what`, and names if there are any."""
        import polars as pl

        columns = {what: ids_column(ids_array(self.ids, places).tolist())}
        if self.names is not None:
            columns["name"] = pl.Series(_taken(self.names, places), dtype=pl.String)
        return columns


def ids_array(ids: Ids, places: NDArray[np.int64]) -> NDArray[Any]:
    """The ids at these places: int64, or objects that are strings."""
    if isinstance(ids.values, Strings):
        return np.array(_taken(ids.values, places), dtype=object)
    return np.asarray(ids.values)[places]


def ids_column(ids: Sequence[Id | None]) -> "pl.Series":
    """Ids as a column: integers, or strings if one of them is."""
    import polars as pl

    if all(isinstance(one, int) for one in ids):
        return pl.Series(ids, dtype=pl.Int64)
    return pl.Series([None if one is None else str(one) for one in ids], dtype=pl.String)


def _taken(strings: Strings, places: NDArray[np.int64]) -> list[str]:
    """The strings at these places; each is decoded once if there are many."""
    if len(places) < len(strings):
        return [strings[int(place)] for place in places]
    decoded = list(strings)
    return [decoded[place] for place in places.tolist()]


@dataclass(frozen=True, repr=False)
class Lists:
    """A ranked list for each of those who asked. Unpacks as (ids, scores).

    Both are arrays if one asked, and lists of arrays, one for each, if several did. A list is as long as there was
    something to put in it.
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

    def __repr__(self) -> str:
        of = repr(self.asked[0]) if self.single else f"{len(self.asked):,}"
        return f"<{type(self).__name__} for {of}: {len(self.ranked.columns):,} in all; .to_frame() shows them>"

    def _frame(self, asked: str, of: str, columns: dict[str, Any]) -> "pl.DataFrame":
        import polars as pl

        lengths = np.diff(self.ranked.indptr)
        ranks = np.arange(len(self.ranked.columns)) - np.repeat(self.ranked.indptr[:-1], lengths) + 1
        return pl.DataFrame(
            {
                asked: ids_column(self.asked).gather(np.repeat(np.arange(len(self.asked)), lengths)),
                **self.catalogue.columns(self.ranked.columns, of),
                "rank": ranks,
                **columns,
            }
        )


@dataclass(frozen=True, repr=False)
class Recommendations(Lists):
    """Recommended items for each user, by expected sessions. Unpacks as (items, scores)."""

    element: Element

    def to_frame(self) -> "pl.DataFrame":
        """A polars table: user, item, name, rank, expected sessions and count, probability of any interaction."""
        return self._frame("user", "item", meanings(self.ranked.scores, self.element))


@dataclass(frozen=True, repr=False)
class Similar(Lists):
    """Those most alike, by mutual excitation or by the cosine of factors. Unpacks as (ids, similarities)."""

    what: str  # "item" or "user"

    def to_frame(self) -> "pl.DataFrame":
        """A polars table: whom it is similar to, the one that is similar, its name, rank and similarity."""
        return self._frame(f"to_{self.what}", self.what, {"similarity": self.ranked.scores})


def meanings(sessions: NDArray[np.float64], element: Element) -> dict[str, NDArray[np.float64]]:
    """What a rate of sessions stands for. The binary limit knows no expected count: there it is NaN."""
    mean = element.mean if np.isfinite(element.mean) else np.nan
    return {"sessions": sessions, "count": sessions * mean, "probability": -np.expm1(-sessions)}
