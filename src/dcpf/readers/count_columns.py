"""How the columns of a file with counts are chosen, and whether its first row is a header."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dcpf.counts.columns import Column, Columns, choose, choose_by_position, recognised


@dataclass(frozen=True)
class CountColumns:
    """Users, items, and where there are such counts and times: by the caller's choice, or by their names."""

    given: Mapping[str, Column | None]

    def is_header(self, first: Sequence[str], later: Sequence[Sequence[str]]) -> bool:
        """A header has names that are known, or no number where the later rows have their counts."""
        if any(isinstance(one, str) for one in self.given.values()):
            return True
        roles = recognised(first)
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
        """The columns of a table with names."""
        return choose(names, self.given, where)

    def by_position(self, width: int, where: str) -> Columns:
        """The columns of a table without."""
        return choose_by_position(width, self.given, where)


def is_number(text: str) -> bool:
    """Whether a text may be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
