"""The columns of users, items, counts and times in a table: as the caller chose, or by their usual names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dcpf.counts.checks import InvalidCounts
from dcpf.text import plural

Column = str | int  # by name, or by number from 0

THE_TABLE = "the table"  # in memory, in errors

_ENDINGS = "id ids key code no nr number num idx index hash sha1 uuid guid"


def _ids_of(nouns: str) -> frozenset[str]:
    return frozenset(noun + ending for noun in nouns.split() for ending in ("", *_ENDINGS.split()))


def _numbers_of(events: str) -> frozenset[str]:
    forms = ("{0}s", "{0}count", "{0}counts", "{0}scount", "count{0}s", "n{0}s", "num{0}s", "number{0}s")
    more = ("numberof{0}s", "countof{0}s", "total{0}s", "{0}freq", "{0}frequency")
    return frozenset(form.format(event) for event in events.split() for form in forms + more)


_USERS = (
    "user listener customer cust household visitor account member client consumer person people buyer shopper "
    "subscriber reader viewer player patient borrower"
)
_ITEMS = (
    "item song artist track album product prod movie film show book game venue poi article video podcast business "
    "recipe asin isbn sku gtin ean"
)
_WEAKER_ITEMS = "word term token place location page url app feature"
_EVENTS = (
    "play listen click view visit purchase checkin event interaction occurrence watche download stream scrobble hit "
    "order read unit use rental session"
)
_WHEN = "time timestamp date datetime ts day epoch unixtime unixtimestamp utctime when"
_STAMPED = (
    "event created played listened purchased visited clicked viewed watched checkin checkedin ordered order invoice "
    "purchase transaction added updated play"
)

# The first set with a matching column decides.
_NAMES: Mapping[str, tuple[frozenset[str], ...]] = {
    "user": (
        _ids_of(_USERS) | {"uid", "userid", "reviewerid"},
        _ids_of("session visit basket cookie device"),
        _ids_of("doc document text"),
    ),
    "item": (
        _ids_of(_ITEMS) | {"iid", "stockcode", "upc"},
        _ids_of(_WEAKER_ITEMS),
        _ids_of("doc document text"),
    ),
    "count": (
        _numbers_of(_EVENTS)
        | {"count", "counts", "cnt", "quantity", "qty", "freq", "frequency", "times", "timesplayed", "tf"},
        frozenset({"n", "num", "weight", "totalcount"}),
    ),
    "time": (
        frozenset(_WHEN.split())
        | {f"{what}{end}" for what in _STAMPED.split() for end in ("at", "time", "date", "timestamp", "ts")},
    ),
}


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are used."""

    at: dict[str, int]  # position by role: user, item, and count and time if there are such columns
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CountColumns:
    """Finds the columns of a table of counts. `given` are the caller's choices by role, None where there is none."""

    given: Mapping[str, Column | None]

    def is_header(self, first: Sequence[str], later: Sequence[Sequence[str]]) -> bool:
        """Whether the first row names columns: it has usual names, or no number where later rows have counts."""
        if any(isinstance(column, str) for column in self.given.values()):
            return True
        roles = {role for role in _NAMES if candidates(first, role)}
        if {"user", "item"} <= roles:
            return True
        given = self.given.get("count")
        at = given if isinstance(given, int) else 2
        if len(first) <= at:
            return bool(roles)
        return not is_number(first[at]) and (
            bool(roles) or any(len(row) > at and is_number(row[at]) for row in later)
        )

    def by_name(self, names: Sequence[str], where: str) -> Columns:
        """The columns of a table whose columns have names."""
        chosen = self._chosen(names, where)
        notes: list[str] = []
        for role in _NAMES:
            if role in chosen:
                continue
            fits = [j for j in candidates(names, role) if j not in chosen.values()]
            if len(fits) == 1:
                chosen[role] = fits[0]
            elif fits and role == "time":  # nobody asked for times
                notes.append(f"times not read: {listed([names[j] for j in fits])} may be the time column")
            elif fits:
                raise InvalidCounts(
                    f"{where}: {listed([names[j] for j in fits])} may be the {role} column; choose one with "
                    f"{role}_column="
                )
            elif role in ("user", "item"):
                raise InvalidCounts(_not_recognised(names, role, where))
        return _columns(names, chosen, notes)

    def by_position(self, width: int, where: str) -> Columns:
        """The columns of a table without names: user, item, count, time in this order, unless given by number."""
        named = next(((role, column) for role, column in self.given.items() if isinstance(column, str)), None)
        if named is not None:
            raise InvalidCounts(
                f"{where}: {named[0]}_column={named[1]!r}, but there is no header; give its number from 0, or "
                "header=True"
            )
        names = [str(j) for j in range(width)]
        chosen = self._chosen(names, where)
        usual = dict(zip(_NAMES, range(width), strict=False)) if 2 <= width <= 4 else {}
        for role, position in usual.items():
            if role not in chosen and position in chosen.values():
                raise InvalidCounts(
                    f"{where}: no header, and column {position} is taken; {role}_column= says which is the {role}"
                )
        chosen = usual | chosen
        for role in ("user", "item"):
            if role not in chosen:
                raise InvalidCounts(
                    f"{where}: {plural(width, 'column')} and no header that is recognised, so the {role} column is "
                    f"not known; {role}_column= gives its number, from 0"
                )
        return _columns(names, chosen, start="no header found (header=True if there is one); ")

    def _chosen(self, names: Sequence[str], where: str) -> dict[str, int]:
        """The positions of the columns that the caller chose."""
        chosen: dict[str, int] = {}
        for role, column in self.given.items():
            if column is None:
                continue
            position = _find(names, column, f"{role}_column", where)
            other = next((taken for taken, its in chosen.items() if its == position), None)
            if other is not None:
                raise InvalidCounts(
                    f"{where}: column {_cut(names[position])!r} cannot be both {other}_column and {role}_column"
                )
            chosen[role] = position
        return chosen


def candidates(names: Sequence[str], role: str) -> list[int]:
    """Positions of the columns with a usual name for this role."""
    for usual in _NAMES[role]:
        fits = [j for j, name in enumerate(names) if normalized(name) in usual]
        if fits:
            return fits
    return []


def normalized(name: str) -> str:
    """The name of a column without case and punctuation."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def is_number(text: str) -> bool:
    """Whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def listed(names: Sequence[str]) -> str:
    """Names of columns, separated by commas; not all of them if they are many."""
    shown = ", ".join(_cut(name) or "''" for name in names[:20])
    return shown + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def _find(names: Sequence[str], column: Column, parameter: str, where: str) -> int:
    """The position of a column that the caller chose."""
    if isinstance(column, bool) or not isinstance(column, str | int):
        raise TypeError(f"{parameter} must be the name of a column, or its number from 0; found {column!r}")
    if isinstance(column, int):
        if 0 <= column < len(names):
            return column
        raise InvalidCounts(
            f"{where}: {parameter}={column}, but there are {len(names)} columns: 0 to {len(names) - 1}"
        )
    fits = [j for j, name in enumerate(names) if name == column]
    fits = fits or [j for j, name in enumerate(names) if normalized(name) == normalized(column)]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise InvalidCounts(f"{where}: {len(fits)} columns are called {column!r}; give {parameter} by number")
    raise InvalidCounts(f"{where}: no column {column!r} ({parameter}); found the columns {listed(names)}")


def _not_recognised(names: Sequence[str], role: str, where: str) -> str:
    way_out = f"name it with {role}_column="
    if where == THE_TABLE:
        way_out = f"Counts.from_table(table, {role}_column=...) names it, and for a matrix pass table.to_numpy()"
    return (
        f"{where}: no {role} column recognised; found the columns {listed(names)}, wanted user, item and count "
        f"(without count each row counts 1); {way_out}"
    )


def _columns(names: Sequence[str], chosen: Mapping[str, int], notes: Sequence[str] = (), start: str = "") -> Columns:
    at = {role: chosen[role] for role in _NAMES if role in chosen}
    used = ", ".join(
        _cut(names[j]) + ("" if normalized(names[j]) == role else f" ({role})") for role, j in at.items()
    )
    events = "" if "count" in at else "; no count column: each row counts 1"
    unused = [name for j, name in enumerate(names) if j not in at.values()]
    ignored = f"; ignored: {listed(unused)}" if unused else ""
    return Columns(at, (f"{start}columns {used}{events}{ignored}", *notes))


def _cut(name: str) -> str:
    """A name in one line, shortened if it is long: it may be the text of a file without a header."""
    name = name if name.isprintable() else repr(name)[1:-1]
    return name if len(name) <= 60 else f"{name[:60]}..."
