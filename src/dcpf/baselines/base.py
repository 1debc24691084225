"""What all baselines share: counts in, lists out. A method learns, and scores a block of users."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dcpf.baselines.best import best_in_blocks
from dcpf.counts import Counts, Id, Ids, InvalidCounts, Strings, count_matrix
from dcpf.model.asking import is_one, one_or_several
from dcpf.model.fitted import check_whole, has_ids, warn_caller
from dcpf.ranking.lists import Catalogue, Lists

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.floating]
Rows = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Recommended(Lists):
    """Recommended items for each user, by a score that has no meaning but its order. Unpacks as (items, scores)."""

    def to_frame(self) -> "pl.DataFrame":
        """A polars table: user, item, name, rank and score."""
        return self._frame("user", "item", {"score": self.ranked.scores})


@dataclass(frozen=True)
class _Asked:
    """Those who ask: their counts, and their row in the training counts, -1 for those with fresh ones."""

    ids: list[Id]
    counts: sparse.csr_array
    rows: Rows


class Baseline(ABC, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A method that ranks items for users by their counts.

    Whoever has no counts at all is offered what is popular, whatever the method.
    """

    folds_in: ClassVar[bool] = True  # whether fresh counts can be scored without another fit

    users_: Ids
    items_: Ids
    names_: Strings | None
    history_: sparse.csr_array  # the training counts
    popularity_: NDArray[np.int64]  # how many users have each item

    def fit(self, counts: Any, y: None = None) -> Self:
        """Learn from counts: a `Counts`, a users x items matrix, or a table of triplets."""
        data = Counts.of(counts)
        self._learn(data.matrix)
        self.users_, self.items_, self.names_ = data.users, data.items, data.names
        self.history_ = data.matrix
        self.popularity_ = np.bincount(data.matrix.indices, minlength=data.shape[1])
        return self

    def recommend(
        self, users: Any = None, n: int = 10, *, history: Any = None, exclude_seen: bool = True
    ) -> Recommended:
        """The n items with the largest scores, for one user, for several, or for all. Equal ones keep their order.

        Parameters
        ----------
        users : id, list of ids, or None
            None means all users: of `history` if that is given, else those of the fit.
        n : int
            How many; fewer if fewer are left.
        history : Counts, table or matrix
            Fresh counts of users, known or not, who are scored by these. Items that are new are left out.
        exclude_seen : bool
            Leave out what the user already has: in the history, or else in the training counts.
        """
        check_is_fitted(self, "history_")
        check_whole(n=n)
        asked = self._asked(users, history)

        def scores(block: slice) -> Floats:
            counts = asked.counts[block]
            found = self._scores(counts, asked.rows[block])
            found[np.diff(counts.indptr) == 0] = self.popularity_
            return found

        ranked = best_in_blocks(scores, asked.counts, n, exclude_seen)
        return Recommended(asked.ids, Catalogue(self.items_, self.names_), ranked, is_one(users))

    @abstractmethod
    def _learn(self, counts: sparse.csr_array) -> None:
        """Check the parameters, and learn from users x items counts."""

    @abstractmethod
    def _scores(self, counts: sparse.csr_array, rows: Rows) -> Floats:
        """A new dense array of scores, users x items, for users with these counts.

        `rows` are their rows in the training counts, which then are the same; -1 for those who have fresh counts.
        Called by several threads at once.
        """

    def _asked(self, users: Any, history: Any) -> _Asked:
        """Look for users in fresh counts first, then in the training counts. Whoever is in neither is an error."""
        if users is None and history is None:
            return _Asked(list(self.users_), self.history_, np.arange(len(self.users_)))
        wanted = None if users is None else one_or_several(users, "users")
        if history is None:
            rows = self.users_.positions(wanted or [], "user")
            return _Asked(self.users_.at(rows), self.history_[rows], rows)
        if not self.folds_in:
            raise ValueError(
                f"{type(self).__name__} ranks only for the users of its fit and cannot take a history; leave it "
                "out, or fit again with these counts"
            )
        fresh = self._fresh(history)
        wanted = list(fresh.users) if wanted is None else wanted
        in_fresh, rows = fresh.users.find_all(wanted), np.full(len(wanted), -1, dtype=np.int64)
        known = np.flatnonzero(in_fresh < 0)
        rows[known] = self.users_.positions([wanted[j] for j in known], "user")
        places = np.where(in_fresh < 0, rows, len(self.users_) + in_fresh)
        both = sparse.csr_array(sparse.vstack([self.history_, fresh.matrix], format="csr"))
        ids = [
            fresh.users[place] if place >= 0 else self.users_[row]
            for place, row in zip(in_fresh.tolist(), rows.tolist(), strict=True)
        ]
        return _Asked(ids, both[places], rows)

    def _fresh(self, history: Any) -> Counts:
        """Fresh counts with the items of the fit as columns."""
        if not has_ids(history):
            matrix = count_matrix(history, allow_empty=True)
            if matrix.shape[1] != len(self.items_):
                raise InvalidCounts(
                    f"the history has {matrix.shape[1]:,} items, but the fit had {len(self.items_):,}: give a column "
                    "for each, or a Counts with ids"
                )
            return Counts.from_matrix(matrix, items=self.items_, allow_empty=True)
        counts = Counts.of(history, allow_empty=True)
        if counts.items == self.items_:
            return counts
        places = self.items_.find_all(counts.items)
        known = np.flatnonzero(places >= 0)
        if len(known) < len(places):
            first = counts.items[int(np.flatnonzero(places < 0)[0])]
            warn_caller(
                f"{len(places) - len(known):,} of {len(places):,} items of the history are unknown to the fit and "
                f"were skipped, such as {first!r}"
            )
        moves = sparse.csr_array(
            (np.ones(len(known), dtype=np.int64), (known, places[known])), shape=(len(places), len(self.items_))
        )
        return Counts.from_matrix(counts.matrix @ moves, counts.users, self.items_, allow_empty=True)
