"""One model that is being served, with what is looked up in it again and again."""

from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.counts import Id
from dcpf.model import DCPF
from dcpf.serve.answers import Card, Component, File, Item
from dcpf.serve.directory import Directory

Doubles = NDArray[np.float64]
Places = NDArray[np.int64]

TOP = 8  # items that a component is told by
_ENTRIES = 2**22  # of the training counts that are added up at once
_SMALL = 2**16  # items
_ROWS = 2**14  # of factors that are compared at once


class Components(NamedTuple):
    """By component: the part of all sessions, how many users lean on it, and its top items."""

    share: Doubles
    users: Places
    top: list[Places]


class Loaded:
    """A model and its revision. It is asked by several threads, and never changed."""

    def __init__(self, model: DCPF, revision: str, file: File) -> None:
        self.model, self.revision, self.file = model, revision, file
        self.loaded_at = datetime.now(UTC)
        self.card: Card | None = None  # once it was asked for
        self.entries: Places | None = None  # stored counts by user
        self.item_users: Places | None = None
        self.item_totals: Places | None = None
        importance: tuple[NDArray[Any], NDArray[Any]]
        if model.history_ is None:
            importance = self._expected(model.user_factors), self._expected(model.item_factors)
        else:
            self.entries = np.diff(model.history_.indptr).astype(np.int64)
            self.item_users, self.item_totals = _by_item(model)
            importance = self.entries, self.item_users
        self.users = Directory(model.users_, None, importance[0], "user")
        self.items = Directory(model.items_, model.names_, importance[1], "item")

    def _expected(self, factors: NDArray[np.floating]) -> Doubles:
        """What the factors expect of each row, with one of the other side that is average."""
        others = self.model.item_factors if factors is self.model.user_factors else self.model.user_factors
        return np.asarray(factors @ others.mean(axis=0, dtype=np.float64).astype(factors.dtype), dtype=np.float64)

    def item(self, place: int) -> Item:
        """The id and the name of an item."""
        return {"item": self.model.items_[place], "name": self.items.name(place)}

    def user(self, typed: int | str) -> Id:
        """The id of a known user, as the model has it."""
        return self.model.users_[self.users.place(typed)]

    @property
    def is_small(self) -> bool:
        """Whether a list takes no longer than to wake a thread that makes it."""
        return len(self.model.items_) <= _SMALL

    @cached_property
    def sums(self) -> tuple[Doubles, Doubles]:
        """E[W] summed over users, and E[H] over items."""
        return self.model._column_sums()

    @cached_property
    def components(self) -> Components:
        """What is told of each component."""
        W, H, (of_users, of_items) = self.model.user_factors, self.model.item_factors, self.sums
        sessions, leaning = of_users * of_items, np.zeros(len(of_items), dtype=np.int64)
        for start in range(0, len(W), _ROWS):
            most = np.argmax(W[start : start + _ROWS] * of_items, axis=1)
            leaning += np.bincount(most, minlength=len(leaning))
        return Components(sessions / sessions.sum(), leaning, [largest(column, TOP) for column in H.T])

    @cached_property
    def popularity(self) -> Doubles:
        """The expected sessions of each item, with all users."""
        factors = np.asarray(self.model.item_factors @ self.sums[0].astype(self.model.item_factors.dtype), np.float64)
        excitation = self.model.excitation_
        return factors if excitation is None else excitation.share * factors + excitation.by_item()

    def excited(self, place: int) -> float:
        """The part of an item's expected sessions that other items bring."""
        excitation = self.model.excitation_
        if excitation is None or self.popularity[place] <= 0.0:
            return 0.0
        factors = float(self.model.item_factors[place].astype(np.float64) @ self.sums[0])
        return min(max(1.0 - excitation.share * factors / float(self.popularity[place]), 0.0), 1.0)

    def top_items(self, number: int, n: int = TOP) -> list[Item]:
        """The first items of a component."""
        return [self.item(place) for place in self.components.top[number][:n].tolist()]

    def leaning(self, shares: Doubles, n: int) -> list[Component]:
        """The n components with the largest of these shares, which are scaled to add up to 1."""
        shares = shares / (shares.sum() or 1.0)
        return [
            {"number": number, "share": float(shares[number]), "items": self.top_items(number, 3)}
            for number in largest(shares, n).tolist()
        ]

    def warm(self) -> None:
        """Ask what will be asked, so that the first request need not wait, and a model that cannot answer is seen."""
        model, first = self.model, self.items.search("", 1)[0]
        model.recommend(history={model.items_[place]: 1 for place in first}, n=10)
        if model.history_ is not None:
            model.recommend(model.users_[0], n=10)


def largest(values: NDArray[Any], n: int) -> Places:
    """Where the n largest values stand, the largest first, equal ones in their order."""
    n = min(n, len(values))
    if n == 0:
        return np.empty(0, dtype=np.int64)
    least = np.partition(values, len(values) - n)[len(values) - n]
    candidates = np.flatnonzero(values >= least)
    return candidates[np.argsort(-values[candidates], kind="stable")][:n].astype(np.int64)


def _by_item(model: DCPF) -> tuple[Places, Places]:
    """How many users have each item, and the total of its counts."""
    assert model.history_ is not None
    items, indices, data = len(model.items_), model.history_.indices, model.history_.data
    users, totals = np.zeros(items, dtype=np.int64), np.zeros(items, dtype=np.float64)
    for start in range(0, len(indices), _ENTRIES):
        part = slice(start, start + _ENTRIES)
        users += np.bincount(indices[part], minlength=items)
        totals += np.bincount(indices[part], weights=data[part], minlength=items)
    return users, totals.astype(np.int64)
