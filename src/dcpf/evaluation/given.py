"""Lists that were made elsewhere: a table with a row for each user and recommended item."""

from typing import TYPE_CHECKING, Any

from dcpf.counts import InvalidCounts
from dcpf.counts.columns import candidates, normalized

if TYPE_CHECKING:
    from dcpf.counts import Id


class GivenLists:
    """A table of recommendations that answers as a model does.

    The columns of users and items are found by name. A list is in the order of a column "rank" if there is one, else
    of falling "score", else as its rows stand.
    """

    def __init__(self, table: Any) -> None:
        import polars as pl

        from dcpf.counts.tables import columns_of, to_polars

        names, columns = columns_of(table)
        wanted = {role: _only([str(name) for name in names], role) for role in ("user", "item")}
        plain = [normalized(str(name)) for name in names]
        wanted |= {name: j for j, name in enumerate(plain) if name in ("rank", "score")}
        frame = pl.DataFrame({name: to_polars(columns[j]) for name, j in wanted.items()})
        if frame.null_count().sum_horizontal().item() or ("score" in frame and frame["score"].is_nan().any()):
            raise InvalidCounts("a table of lists must have no empty cells among its users, items, ranks and scores")
        order, falling = ("rank", False) if "rank" in wanted else ("score", True)
        if order in wanted:
            frame = frame.sort(order, descending=falling, nulls_last=True, maintain_order=True)
        lists = frame.group_by("user", maintain_order=True).agg("item")
        self._lists: dict[Id, list[Id]] = dict(zip(lists["user"].to_list(), lists["item"].to_list(), strict=True))

    def recommend(self, users: "list[Id]", n: int, history: Any = None) -> "tuple[list[list[Id]], None]":
        """The first n of the list of each of these users, whatever their history; nothing for one who has none."""
        del history
        return [self._lists.get(user, [])[:n] for user in users], None


def _only(names: list[str], role: str) -> int:
    fits = candidates(names, role)
    if len(fits) != 1:
        found = ", ".join(map(repr, names))
        raise InvalidCounts(f"a table of lists has one column {role!r}, found the columns {found}; rename one")
    return fits[0]
