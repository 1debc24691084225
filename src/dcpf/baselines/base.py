"""What all baselines share: counts in, ranked lists out. A method learns from counts and scores a block of users."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dcpf.counts import Counts, Id, Ids, InvalidCounts, Strings, align, count_matrix
from dcpf.kernels.threads import Threads, one_blas_thread
from dcpf.model.checks import check_whole, has_ids, warn_caller
from dcpf.model.users import is_one, one_or_several
from dcpf.ranking.lists import Catalogue, RankedLists
from dcpf.ranking.rates import Ranked

if TYPE_CHECKING:
    pass

Floats = NDArray[np.floating]
Rows = NDArray[np.int64]
WeightingName = Literal["binary", "log", "raw"]
Weighting = WeightingName | Callable[[sparse.csr_array], sparse.csr_array]

_SCORES = 2**22  # per block of users; a few temporary arrays have the same size


@dataclass(frozen=True, repr=False)
class ScoredLists(RankedLists):
    """Recommended items for each user. Scores only order the items. Unpacks as (items, scores)."""

    def columns(self) -> dict[str, Any]:
        """User, item, name, rank and score."""
        return self._columns("user", "item", {"score": self.ranked.scores})


class Baseline(ABC, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A method that ranks items for users by their counts. Users without counts get the most popular items."""

    folds_in: ClassVar[bool] = True  # whether users with new counts can be scored without another fit

    users_: Ids
    items_: Ids
    names_: Strings | None
    history_: sparse.csr_array  # the training counts
    popularity_: NDArray[np.int64]  # number of users of each item

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
    ) -> ScoredLists:
        """The n items with the largest scores, for one user, several, or all. Ties keep the order of the items.

        Parameters
        ----------
        users : id, list of ids, or None
            None means all users: those of `history` if it is given, else those of the fit.
        n : int
            Length of a list; fewer if fewer items are left.
        history : Counts, table or matrix
            Counts that replace the training counts of these users, who may be new. Unknown items are skipped.
        exclude_seen : bool
            Leave out items that the user already has.
        """
        check_is_fitted(self, "history_")
        check_whole(n=n)
        ids, counts, rows = self._histories(users, history)

        def scores(block: slice) -> Floats:
            scored = self._scores(counts[block], rows[block])
            scored[np.diff(counts[block].indptr) == 0] = self.popularity_
            return scored

        ranked = best_in_blocks(scores, counts, n, exclude_seen)
        return ScoredLists(ids, Catalogue(self.items_, self.names_), ranked, is_one(users))

    @abstractmethod
    def _learn(self, counts: sparse.csr_array) -> None:
        """Check the parameters, and learn from users x items counts."""

    @abstractmethod
    def _scores(self, counts: sparse.csr_array, rows: Rows) -> Floats:
        """A new dense users x items array of scores for users with these counts. Several threads call this at once.

        `rows` are the users' rows in the training counts, or -1 for users whose counts come from a history.
        """

    def _histories(self, users: Any, history: Any) -> tuple[list[Id], sparse.csr_array, Rows]:
        """Ids of the users, their counts, and their rows in the training counts (-1: counts from the history)."""
        if users is None and history is None:
            return list(self.users_), self.history_, np.arange(len(self.users_))
        wanted = None if users is None else one_or_several(users, "users")
        if history is None:
            rows = self.users_.positions(wanted or [], "user")
            return self.users_.at(rows), self.history_[rows], rows
        if not self.folds_in:
            raise ValueError(
                f"{type(self).__name__} ranks only for the users of its fit and cannot use a history; leave history "
                "out, or fit again with these counts"
            )
        given = self._with_known_items(history)
        wanted = list(given.users) if wanted is None else wanted
        in_history, rows = given.users.find_all(wanted), np.full(len(wanted), -1, dtype=np.int64)
        known = np.flatnonzero(in_history < 0)
        rows[known] = self.users_.positions([wanted[j] for j in known], "user")
        stacked = sparse.csr_array(sparse.vstack([given.matrix, self.history_], format="csr"))
        ids = [
            given.users[place] if place >= 0 else self.users_[row]
            for place, row in zip(in_history.tolist(), rows.tolist(), strict=True)
        ]
        return ids, stacked[np.where(rows < 0, in_history, len(given.users) + rows)], rows

    def _with_known_items(self, history: Any) -> Counts:
        """The history with the items of the fit as columns."""
        if not has_ids(history):
            matrix = count_matrix(history, allow_empty=True)
            if matrix.shape[1] != len(self.items_):
                raise InvalidCounts(
                    f"the history has {matrix.shape[1]:,} items, but the fit had {len(self.items_):,}: give a column "
                    "for each, or a Counts with ids"
                )
            return Counts.from_matrix(matrix, items=self.items_, allow_empty=True)
        found = align(Counts.of(history, allow_empty=True), items=self.items_)
        for note in found.notes("the fit"):
            warn_caller(note)
        return found.counts


class Popularity(Baseline):
    """Recommend the items with the most users, however often they have them. The score is the number of users."""

    def _learn(self, counts: sparse.csr_array) -> None:
        """Nothing beyond `popularity_`, which `fit` computes for every method."""

    def _scores(self, counts: sparse.csr_array, rows: Rows) -> Floats:
        return np.tile(self.popularity_.astype(np.float64), (counts.shape[0], 1))


def best(scores: Floats, n: int) -> NDArray[np.int64]:
    """Positions of the n largest scores, largest first; ties keep their order.

    Equivalent to np.argsort(-scores, kind="stable")[:n] without sorting all scores.
    """
    chosen = np.arange(len(scores))
    if 0 < n < len(scores):
        chosen = np.flatnonzero(scores >= np.partition(scores, len(scores) - n)[len(scores) - n])
    return chosen[np.argsort(-scores[chosen], kind="stable")[:n]]


def best_in_blocks(scores: Callable[[slice], Floats], counts: sparse.csr_array, n: int, exclude_seen: bool) -> Ranked:
    """The best n items of each user, where scores(block) gives the scores for a block of rows of `counts`.

    With `exclude_seen`, items with a count are left out. The size of a block depends on the data alone.
    """
    users, items = counts.shape
    height = max(1, _SCORES // items)
    lists: list[tuple[NDArray[np.int64], Floats]] = [(np.empty(0, dtype=np.int64), np.empty(0))] * users

    def rank_blocks(start: int, stop: int) -> None:
        for first in range(start * height, min(stop * height, users), height):
            for row, scored in enumerate(scores(slice(first, min(first + height, users))), first):
                seen = counts.indices[counts.indptr[row] : counts.indptr[row + 1]][: None if exclude_seen else 0]
                scored[seen] = -np.inf
                chosen = best(scored, min(n, items - len(seen)))
                lists[row] = chosen, scored[chosen]

    with one_blas_thread(), Threads() as threads:  # the threads are ours, so BLAS must not start its own
        threads.run(rank_blocks, np.arange(-(-users // height) + 1))
    lists.append((np.empty(0, dtype=np.int64), np.empty(0)))  # so that there is something to concatenate
    chosen, scored = ([part[j] for part in lists] for j in (0, 1))
    indptr = np.cumsum([0, *map(len, chosen[:-1])], dtype=np.int64)
    return Ranked(indptr, np.concatenate(chosen), np.concatenate(scored))


def weighted(counts: sparse.csr_array, weighting: Weighting, dtype: DTypeLike = np.float64) -> sparse.csr_array:
    """The counts with 1, log(1 + y) or y in place of each count y, or what a function of the counts returns."""
    if callable(weighting):
        matrix = weighting(counts)
        return sparse.csr_array((matrix.data.astype(dtype), matrix.indices, matrix.indptr), shape=matrix.shape)
    if weighting not in get_args(WeightingName):
        names = ", ".join(map(repr, get_args(WeightingName)))
        raise ValueError(f"weighting must be one of {names}, or a function of counts, found {weighting!r}")
    data: Any = np.ones(counts.nnz) if weighting == "binary" else counts.data
    data = np.log1p(data) if weighting == "log" else data
    return sparse.csr_array((data.astype(dtype), counts.indices, counts.indptr), shape=counts.shape)


def check_number(*, above: float | None = None, **parameters: Any) -> None:
    """Refuse a parameter that is not a finite number >= 0, or > `above` if it is given, by its name."""
    for name, value in parameters.items():
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not number or not np.isfinite(value) or value < 0 or (above is not None and value <= above):
            wanted = ">= 0" if above is None else f"> {above:g}"
            raise ValueError(f"{name} must be a finite number {wanted}, found {value!r}")
