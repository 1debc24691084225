"""Which column of a table holds the users, which the items, the counts and the times: by its usual names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dcpf.counts.checks import InvalidCounts

Column = str | int  # by name, or by number from 0

THE_TABLE = "the table"  # how errors call a table in memory

_ENDINGS = "id ids key code no nr number num idx index hash sha1 uuid guid"


def _ids_of(nouns: str) -> frozenset[str]:
    return frozenset(noun + ending for noun in nouns.split() for ending in ("", *_ENDINGS.split()))


def _numbers_of(deeds: str) -> frozenset[str]:
    forms = ("{0}s", "{0}count", "{0}counts", "{0}scount", "count{0}s", "n{0}s", "num{0}s", "number{0}s")
    more = ("numberof{0}s", "countof{0}s", "total{0}s", "{0}freq", "{0}frequency")
    return frozenset(form.format(deed) for deed in deeds.split() for form in forms + more)


_USERS = (
    "user listener customer cust household visitor account member client consumer person people buyer shopper "
    "subscriber reader viewer player patient borrower"
)
_ITEMS = (
    "item song artist track album product prod movie film show book game venue poi article video podcast business "
    "recipe asin isbn sku gtin ean"
)
_WEAKER_ITEMS = "word term token place location page url app feature"
_DEEDS = (
    "play listen click view visit purchase checkin event interaction occurrence watche download stream scrobble hit "
    "order read unit use rental session"
)
_WHEN = "time timestamp date datetime ts day epoch unixtime unixtimestamp utctime when"
_STAMPED = (
    "event created played listened purchased visited clicked viewed watched checkin checkedin ordered order invoice "
    "purchase transaction added updated play"
)

# Names are tried from left to right: what comes first is taken where several would do.
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
        _numbers_of(_DEEDS)
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
    """Which columns of a table are used, and what there is to say about it."""

    at: dict[str, int]  # position by role: user, item, and where there are such count and time
    notes: tuple[str, ...] = ()


def recognised(names: Iterable[str], roles: Iterable[str] = tuple(_NAMES)) -> set[str]:
    """The roles for which there is a column among these names."""
    found = {plain(name) for name in names}
    return {role for role in roles if any(found & tier for tier in _NAMES[role])}


def choose(names: Sequence[str], given: Mapping[str, Column | None], where: str) -> Columns:
    """The columns of a table with named columns. `given` are the caller's choices, by role."""
    chosen = {role: find(names, one, f"{role}_column", where) for role, one in given.items() if one is not None}
    _check_distinct(chosen, names, where)
    notes: list[str] = []
    for role in _NAMES:
        if role in chosen:
            continue
        fits = [j for j in named(names, role) if j not in chosen.values()]
        if len(fits) == 1:
            chosen[role] = fits[0]
        elif fits and role == "time":  # nobody asked for it
            notes.append(f"no times taken, since {listed([names[j] for j in fits])} may be the time column")
        elif fits:
            raise InvalidCounts(
                f"{where}: each of the columns {listed([names[j] for j in fits])} may be the {role} column; "
                f"{way_out(role)} chooses one"
            )
        elif role in ("user", "item"):
            raise InvalidCounts(
                f"{where}: no {role} column recognised; found the columns {listed(names)}, wanted user, item and "
                f"count (count may be missing: then each row counts 1); "
                + (in_table(role) if where == THE_TABLE else f"{way_out(role)} names it")
            )
    return Columns(_in_order(chosen), (_told(names, chosen), *notes))


def choose_by_position(width: int, given: Mapping[str, Column | None], where: str) -> Columns:
    """The columns of a file without a header: user, item, count, time in this order, unless given by number."""
    named = next(((role, one) for role, one in given.items() if isinstance(one, str)), None)
    if named is not None:
        raise InvalidCounts(
            f"{where}: {named[0]}_column={named[1]!r}, but there is no header; give its number from 0, or header=True"
        )
    names = [str(j) for j in range(width)]
    chosen = {role: find(names, one, f"{role}_column", where) for role, one in given.items() if one is not None}
    _check_distinct(chosen, names, where)
    usual = dict(zip(_NAMES, range(width), strict=False)) if 2 <= width <= 4 else {}
    for role, place in usual.items():
        if role not in chosen and place in chosen.values():
            raise InvalidCounts(
                f"{where}: no header, and column {place} is taken; {way_out(role)} says which is the {role}"
            )
    chosen = usual | chosen
    for role in ("user", "item"):
        if role not in chosen:
            what = f"{width} column" + ("s" if width > 1 else "")
            raise InvalidCounts(
                f"{where}: {what} and no header that is recognised, so the {role} column is not known; "
                f"{way_out(role)} gives its number, from 0"
            )
    return Columns(_in_order(chosen), (_told(names, chosen, "no header found (--header if there is one); "),))


def find(names: Sequence[str], one: Column, what: str, where: str) -> int:
    """Position of the column that the caller named."""
    if isinstance(one, bool) or not isinstance(one, str | int):
        raise TypeError(f"{what} must be the name of a column, or its number from 0; found {one!r}")
    if isinstance(one, int):
        if 0 <= one < len(names):
            return one
        raise InvalidCounts(f"{where}: {what}={one}, but there are {len(names)} columns: 0 to {len(names) - 1}")
    fits = [j for j, name in enumerate(names) if name == one]
    fits = fits or [j for j, name in enumerate(names) if plain(name) == plain(one)]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise InvalidCounts(f"{where}: {len(fits)} columns are called {one!r}; give {what} as a number, from 0")
    raise InvalidCounts(f"{where}: no column {one!r} ({what}); found the columns {listed(names)}")


def way_out(role: str) -> str:
    """How a caller, or someone at a terminal, names the column."""
    return f"{role}_column= (--{role}-column)"


def in_table(role: str) -> str:
    """What to do with a table in memory whose columns are not recognised."""
    return f"Counts.from_table(table, {role}_column=...) names it, and if this is a matrix pass table.to_numpy()"


def named(names: Sequence[str], role: str) -> list[int]:
    """Positions of the columns that go by a usual name of this role."""
    for tier in _NAMES[role]:
        fits = [j for j, name in enumerate(names) if plain(name) in tier]
        if fits:
            return fits
    return []


def plain(name: str) -> str:
    """A name of a column without case and punctuation."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _check_distinct(chosen: Mapping[str, int], names: Sequence[str], where: str) -> None:
    for role, place in chosen.items():
        other = next((one for one in chosen if one != role and chosen[one] == place), None)
        if other is not None:
            raise InvalidCounts(
                f"{where}: column {_cut(names[place])!r} cannot be both {role}_column and {other}_column"
            )


def _in_order(chosen: Mapping[str, int]) -> dict[str, int]:
    return {role: chosen[role] for role in _NAMES if role in chosen}


def _told(names: Sequence[str], chosen: Mapping[str, int], start: str = "") -> str:
    at = [(role, names[chosen[role]]) for role in _NAMES if role in chosen]
    used = ", ".join(_cut(name) + ("" if plain(name) == role else f" ({role})") for role, name in at)
    events = "" if "count" in chosen else "; no count column: each row counts 1"
    ignored = [name for j, name in enumerate(names) if j not in chosen.values()]
    return f"{start}columns {used}{events}" + (f"; ignored: {listed(ignored)}" if ignored else "")


def listed(names: Sequence[str]) -> str:
    """Names of columns one after another, as they may be shown."""
    shown = ", ".join(_cut(name) or "''" for name in names[:20])
    return shown + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def _cut(name: str) -> str:
    """A name in one line, and not all of it if it is long: it may be the text of a file without a header."""
    name = name if name.isprintable() else repr(name)[1:-1]
    return name if len(name) <= 60 else f"{name[:60]}..."
