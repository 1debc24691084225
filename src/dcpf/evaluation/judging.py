"""How well a model ranks what it has not seen."""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Counts
from dcpf.evaluation.asking import ask, recommender
from dcpf.evaluation.metrics import METRICS, Judged, coverage, novelty
from dcpf.evaluation.result import Evaluation
from dcpf.evaluation.task import Task, task
from dcpf.kernels.lookup import stored_values
from dcpf.kernels.threads import Threads
from dcpf.model.fitted import check_whole

Numbers = NDArray[np.int64]

_PLACES = 1 << 22  # of lists that are made at once, so that memory does not grow with the number of users


def evaluate(
    model: Any, test: Any, k: int = 100, thresholds: Sequence[int] = (0, 1, 2, 5), *, history: Any = None
) -> Evaluation:
    """Rank the items for every user with test counts, and compare the lists with these counts.

    Parameters
    ----------
    model : anything that can recommend
        A `DCPF`, a baseline, any object with `recommend(users, n)` whose answer unpacks as (lists of items, scores),
        or a table of users and the items recommended to them, in the order of a column "rank", else of falling
        "score", else as it stands. Lists should leave out what a user has already, which would take up places. AUC
        and coverage need all items as `items_` (`dcpf.counts.Ids`), novelty the training counts as `history_`.
    test : Counts, table or matrix
        What was held out. The columns of a matrix are those of the model, its rows those of the history, or else of
        the model. Unknown users are left out, and so is what a user had before. An item that the model does not know
        counts as not found. The result's `notes` tell of each.
    k : int
        The length of a list.
    thresholds : whole numbers
        An item is relevant to a user if its test count is larger than the threshold. Each metric is computed for each
        threshold, over the users who have a relevant item.
    history : Counts, table or matrix
        For users who were held out whole: what is known of them, given to the model in place of what it has learned.
    """
    check_whole(k=k)
    levels = _levels(thresholds)
    model = recommender(model)
    given = task(model, test, history)
    ranking = _Ranking(given, k, levels)
    step = max(1, _PLACES // min(k, len(given.items)))
    with Threads(getattr(model, "n_jobs", None)) as threads:
        for start in range(0, len(given.users), step):
            rows = slice(start, min(start + step, len(given.users)))
            users = given.users[rows]
            before = None if given.history is None else _of_users(given.history, users)
            ranking.judge(rows, *ask(model, users, k, given.items, before), threads)
    return ranking.result()


class _Ranking:
    """The lists of all users, judged block by block."""

    def __init__(self, given: Task, k: int, thresholds: tuple[int, ...]) -> None:
        self._given, self._k, self._thresholds = given, k, thresholds
        users = len(given.users)
        self._values = {name: np.full((users, len(thresholds)), np.nan) for name in METRICS}
        self._relevant = np.zeros((users, len(thresholds)), dtype=np.int64)
        self._novelty = np.full(users, np.nan)
        self._listed = np.zeros(len(given.items), dtype=np.bool_)
        self._empty = self._unknown = self._places = 0

    def judge(self, rows: slice, indptr: Numbers, places: Numbers, threads: Threads) -> None:
        """Take the lists of these users in."""
        known = places >= 0
        self._listed[places[known]] = True
        self._empty += int((np.diff(indptr) == 0).sum())
        self._unknown += int((~known).sum())
        self._places += len(places)
        if self._given.popularity is not None:
            of_known = np.concatenate([[0], np.cumsum(known)])[indptr]
            self._novelty[rows] = novelty(of_known, places[known], self._given.popularity)
        test, seen = self._given.test[rows], None if self._given.seen is None else self._given.seen[rows]
        width = int(np.diff(indptr).max(initial=1))
        found = np.empty((len(indptr) - 1, width), dtype=np.int32)  # as wide as a count is
        had = np.zeros_like(found)

        def judge_block(start: int, stop: int) -> None:
            lists = (indptr, places)
            stored_values(start, stop, (test.indptr, test.indices, test.data), lists, found)
            if seen is not None:
                stored_values(start, stop, (seen.indptr, seen.indices, seen.data), lists, had)
            block = slice(start, stop)
            before = None if seen is None else seen[block]
            self._judge_block(rows.start + start, test[block], before, found[block], had[block])

        threads.run(judge_block, np.arange(len(indptr)))

    def _judge_block(
        self,
        first: int,
        test: sparse.csr_array,
        seen: sparse.csr_array | None,
        found: NDArray[np.int32],
        had: NDArray[np.int32],
    ) -> None:
        """All metrics of some users, at all thresholds."""
        n_items = len(self._given.items)
        candidate = (found >= 0) & (had <= 0)
        candidates = n_items - (0 if seen is None else np.diff(seen.indptr))
        for j, threshold in enumerate(self._thresholds):
            above = test.data > threshold
            relevant, reachable = (
                np.diff(np.concatenate([[0], np.cumsum(entries)])[test.indptr])
                for entries in (above, above & (test.indices < n_items))
            )
            some = np.flatnonzero(relevant > 0)
            hits, could_be = found > threshold, candidate
            if len(some) < len(relevant):
                hits, could_be = hits[some], candidate[some]
            lists = Judged(
                self._k,
                hits=hits,
                misses=could_be & ~hits,
                relevant=relevant[some],
                reachable=reachable[some],
                irrelevant=(candidates - reachable)[some],
            )
            self._relevant[first : first + len(relevant), j] = relevant
            for name, metric in METRICS.items():
                self._values[name][first + some, j] = metric(lists)

    def result(self) -> Evaluation:
        """The metrics of all users, and what is to be said of them."""
        users = len(self._given.users)
        if self._empty == users:
            raise ValueError(
                f"all lists are empty: the model has nothing for users such as {self._given.users[0]!r}; are these "
                "the ids that it knows them by?"
            )
        if self._unknown == self._places:
            raise ValueError(
                f"none of the listed items is one of the {len(self._given.items):,} that are known, such as "
                f"{self._given.items[0]!r}; are the ids of the same kind?"
            )
        notes, covered = list(self._given.notes), coverage(self._listed)
        if self._empty:
            notes.append(f"{self._empty:,} of {users:,} users have an empty list")
        if not self._given.knows_catalogue:  # of items that are neither relevant nor known nothing can be said
            self._values["auc"][:] = covered = np.nan
            notes.append("no AUC and no coverage: the model does not tell which items there are (items_)")
        return Evaluation(
            k=self._k,
            thresholds=self._thresholds,
            users=self._given.users,
            values=self._values,
            relevant=self._relevant,
            novelty=None if self._given.popularity is None else self._novelty,
            coverage=covered,
            notes=tuple(notes),
        )


def _of_users(history: Counts, users: list[Any]) -> Counts:
    return history.select(users=history.users.positions(users, "user"))


def _levels(thresholds: Sequence[int]) -> tuple[int, ...]:
    found = [thresholds] if isinstance(thresholds, numbers.Integral) else list(thresholds)
    for one in found:
        if isinstance(one, bool) or not isinstance(one, numbers.Integral) or int(one) < 0:
            raise ValueError(f"thresholds must be whole numbers >= 0, found {one!r}")
    if not found:
        raise ValueError("thresholds must name at least one; 0 makes every test count relevant")
    return tuple(sorted({int(one) for one in found}))
