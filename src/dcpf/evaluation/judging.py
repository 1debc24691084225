"""How well a model ranks what it has not seen."""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcpf.counts import Counts
from dcpf.evaluation.asking import ask, recommender
from dcpf.evaluation.metrics import METRICS, Judged, coverage, novelty
from dcpf.evaluation.result import Evaluation
from dcpf.evaluation.task import Task, task
from dcpf.kernels.lookup import stored_values
from dcpf.kernels.threads import Threads
from dcpf.model.fitted import check_whole

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

_USERS = 1 << 15  # who are asked for at once, so that memory does not grow with their number


def evaluate(
    model: Any, test: Any, k: int = 100, thresholds: Sequence[int] = (0, 1, 2, 5), *, history: Any = None
) -> Evaluation:
    """Rank the items for every user with test counts, and compare the lists with these counts.

    Parameters
    ----------
    model : anything that can recommend
        A `DCPF`, a baseline, any object with `recommend(users, n)` whose answer unpacks as (lists of items, scores),
        or a table of users and the items recommended to them.
    test : Counts, table or matrix
        What was held out. The rows and columns of a matrix are those of the model.
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
    with Threads(getattr(model, "n_jobs", None)) as threads:
        for start in range(0, len(given.users), _USERS):
            rows = slice(start, min(start + _USERS, len(given.users)))
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
        self._novelty = np.full(users, np.nan)
        self._listed = np.zeros(len(given.items), dtype=np.bool_)
        self._empty = 0
        self._seen = np.zeros(users, dtype=np.int64)
        if given.seen is not None:
            self._seen += np.diff(given.seen.indptr)

    def judge(self, rows: slice, indptr: Numbers, places: Numbers, threads: Threads) -> None:
        """Take the lists of these users in."""
        test = self._given.test[rows]
        known = places >= 0
        self._listed[places[known]] = True
        self._empty += int((np.diff(indptr) == 0).sum())
        if self._given.popularity is not None:
            of_known = np.concatenate([[0], np.cumsum(known)])[indptr]
            self._novelty[rows] = novelty(of_known, places[known], self._given.popularity)
        found = np.empty((len(indptr) - 1, self._k), dtype=np.int64)
        matrix = (test.indptr, test.indices, test.data)

        def judge_block(start: int, stop: int) -> None:
            stored_values(start, stop, matrix, (indptr, places), found)
            lengths = np.diff(indptr[start : stop + 1])
            for j, threshold in enumerate(self._thresholds):
                self._judge_at(
                    j, slice(rows.start + start, rows.start + stop), found[start:stop] > threshold, lengths
                )

        threads.run(judge_block, np.arange(len(indptr)))

    def _judge_at(self, j: int, rows: slice, hits: NDArray[np.bool_], lengths: Numbers) -> None:
        """All metrics of these users at one threshold."""
        given, threshold = self._given, self._thresholds[j]
        test = given.test[rows]
        above = test.data > threshold
        relevant, reachable = (
            np.diff(np.concatenate([[0], np.cumsum(entries)])[test.indptr])
            for entries in (above, above & (test.indices < len(given.items)))
        )
        judged = np.flatnonzero(relevant > 0)
        lists = Judged(
            hits[judged],
            lengths[judged],
            relevant[judged],
            reachable[judged],
            len(given.items) - self._seen[rows][judged],
        )
        for name, metric in METRICS.items():
            self._values[name][rows.start + judged, j] = metric(lists)

    def result(self) -> Evaluation:
        """What came out."""
        notes, users = list(self._given.notes), len(self._given.users)
        if self._empty == users:
            raise ValueError(
                f"all lists are empty: the model has nothing for users such as {self._given.users[0]!r}; are these "
                "the ids that it knows them by?"
            )
        if self._empty:
            notes.append(f"{self._empty:,} of {users:,} users have an empty list")
        return Evaluation(
            k=self._k,
            thresholds=self._thresholds,
            users=self._given.users,
            values=self._values,
            novelty=None if self._given.popularity is None else self._novelty,
            coverage=coverage(self._listed),
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
