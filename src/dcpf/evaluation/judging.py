"""How well a model ranks held-out items."""

import inspect
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Counts, Id, Ids, InvalidCounts
from dcpf.counts.checks import is_table
from dcpf.counts.columns import candidates, normalized
from dcpf.counts.tables import columns_of, to_polars
from dcpf.evaluation.metrics import METRICS, Judged, Numbers, coverage, novelty
from dcpf.evaluation.result import Evaluation
from dcpf.evaluation.task import RankingTask, ranking_task
from dcpf.kernels.lookup import stored_values
from dcpf.kernels.threads import Threads
from dcpf.model import DCPF, FittedModel
from dcpf.model.checks import check_whole
from dcpf.ranking.lists import RankedLists

_PLACES = 1 << 22  # places of lists at a time, so that memory does not grow with the number of users


def evaluate(
    model: Any, test: Any, k: int = 100, thresholds: Sequence[int] = (0, 1, 2, 5), *, history: Any = None
) -> Evaluation:
    """Rank the items for every user with test counts, and compare the lists with these counts.

    Parameters
    ----------
    model : anything that can recommend
        A `DCPF`, a baseline, any object whose `recommend(users, n)` unpacks as (lists of items, scores), or a table
        of users and the items recommended to them, ordered by a column "rank", else by falling "score", else as
        given. Lists should leave out the items that a user already has. AUC and coverage need all items as `items_`
        (`dcpf.counts.Ids`), novelty the training counts as `history_`.
    test : Counts, table or matrix
        The held-out counts. The columns of a matrix are the items of the model; its rows are the users of the
        history if that is given, else of the model. Unknown users and items that the user already had are left out.
        Items that the model does not know count as not found. `notes` of the result tell how many.
    k : int
        Length of a list.
    thresholds : whole numbers
        An item is relevant if its test count is above the threshold. Each metric is computed for each threshold, over
        the users with a relevant item.
    history : Counts, table or matrix
        For users that the model was not fitted to: their known counts.
    """
    check_whole(k=k)
    levels = _levels(thresholds)
    model = recommender(model)
    given = ranking_task(model, test, history)
    ranking = _Ranking(given, k, levels)
    step = max(1, _PLACES // min(k, len(given.items)))
    with Threads(getattr(model, "n_jobs", None)) as threads:
        for start in range(0, len(given.users), step):
            rows = slice(start, min(start + step, len(given.users)))
            ranking.judge(rows, *lists_of(model, given.users[rows], k, given.items, given.history), threads)
    return ranking.result()


class _Ranking:
    """The lists of all users, judged block by block."""

    def __init__(self, given: RankingTask, k: int, thresholds: tuple[int, ...]) -> None:
        self._given, self._k, self._thresholds = given, k, thresholds
        users = len(given.users)
        self._values = {name: np.full((users, len(thresholds)), np.nan) for name in METRICS}
        self._relevant = np.zeros((users, len(thresholds)), dtype=np.int64)
        self._novelty = np.full(users, np.nan)
        self._listed = np.zeros(len(given.items), dtype=np.bool_)
        self._empty = self._unknown = self._places = 0

    def judge(self, rows: slice, indptr: Numbers, places: Numbers, threads: Threads) -> None:
        """Add the lists of these users."""
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
        found = np.empty((len(indptr) - 1, width), dtype=np.int32)  # the type of counts
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
        """The metrics of all users, with notes."""
        users = len(self._given.users)
        if self._empty == users:
            raise ValueError(
                f"all lists are empty: the model has nothing for users such as {self._given.users[0]!r}; does it "
                "know them by these ids?"
            )
        if self._unknown == self._places:
            raise ValueError(
                f"none of the listed items is one of the {len(self._given.items):,} known items, such as "
                f"{self._given.items[0]!r}; are the ids of the same kind?"
            )
        notes, covered = list(self._given.notes), coverage(self._listed)
        if self._empty:
            notes.append(f"{self._empty:,} of {users:,} users have an empty list")
        if not self._given.knows_catalogue:  # then items that are neither relevant nor listed are unknown
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


def _levels(thresholds: Sequence[int]) -> tuple[int, ...]:
    levels = [thresholds] if isinstance(thresholds, numbers.Integral) else list(thresholds)
    for one in levels:
        if isinstance(one, bool) or not isinstance(one, numbers.Integral) or int(one) < 0:
            raise ValueError(f"thresholds must be whole numbers >= 0, found {one!r}")
    if not levels:
        raise ValueError("thresholds must not be empty; 0 makes every test count relevant")
    return tuple(sorted({int(one) for one in levels}))


class GivenLists:
    """Lists made elsewhere: a table with a row for each user and recommended item, which answers as a model does.

    The columns are recognised by their names. A list is ordered by a column "rank", else by falling "score", else as
    its rows stand.
    """

    def __init__(self, table: Any) -> None:
        import polars as pl

        names, columns = columns_of(table)
        wanted = {role: _only_column([str(name) for name in names], role) for role in ("user", "item")}
        wanted |= {
            normalized(str(name)): j for j, name in enumerate(names) if normalized(str(name)) in ("rank", "score")
        }
        frame = pl.DataFrame({name: to_polars(columns[j]) for name, j in wanted.items()})
        if frame.null_count().sum_horizontal().item() or ("score" in frame and frame["score"].is_nan().any()):
            raise InvalidCounts("a table of lists must have no empty cells among its users, items, ranks and scores")
        order, falling = ("rank", False) if "rank" in wanted else ("score", True)
        if order in wanted:
            frame = frame.sort(order, descending=falling, nulls_last=True, maintain_order=True)
        lists = frame.group_by("user", maintain_order=True).agg("item")
        self._lists: dict[Id, list[Id]] = dict(zip(lists["user"].to_list(), lists["item"].to_list(), strict=True))

    def recommend(self, users: list[Id], n: int, history: Any = None) -> tuple[list[list[Id]], None]:
        """The first n items of each user's list, whatever the history; an empty list for users without one."""
        del history
        return [self._lists.get(user, [])[:n] for user in users], None


def _only_column(names: list[str], role: str) -> int:
    fits = candidates(names, role)
    if len(fits) != 1:
        found = ", ".join(map(repr, names))
        raise InvalidCounts(f"a table of lists has one column {role!r}, found the columns {found}; rename one")
    return fits[0]


def recommender(model: Any) -> Any:
    """The model itself, a fitted model as an estimator, or a table of lists as a model."""
    if isinstance(model, FittedModel):
        return DCPF.from_fitted(model)
    if hasattr(model, "recommend"):
        return model
    if is_table(model):
        return GivenLists(model)
    raise TypeError(
        f"a model must have recommend(users, n), or be a table of users and the items recommended to them; found "
        f"{type(model).__name__}"
    )


def lists_of(model: Any, users: list[Id], k: int, items: Ids, history: Counts | None) -> tuple[Numbers, Numbers]:
    """(indptr, positions in `items`) of the model's lists of at most k items for these users; -1 if unknown."""
    if history is None:
        answer = model.recommend(users, k)
    else:
        _check_takes_history(model)
        answer = model.recommend(users, k, history=history.select(users=history.users.positions(users, "user")))
    if isinstance(answer, RankedLists):
        indptr, places = answer.ranked.indptr, answer.ranked.columns
        if answer.catalogue.ids is not items:
            places = items.find_all(answer.catalogue.ids)[places]
    else:
        lists = [np.asarray(one).tolist() for one in next(iter(answer))]
        indptr = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        places = items.find_all([one for each in lists for one in each])
        _check_no_repeats(indptr, places, items)
    if len(indptr) != len(users) + 1:
        raise ValueError(f"recommend() returned {len(indptr) - 1:,} lists for {len(users):,} users")
    lengths = np.diff(indptr)
    ranks = np.arange(len(places)) - np.repeat(indptr[:-1], lengths)
    return np.concatenate([[0], np.cumsum(np.minimum(lengths, k))]), places[ranks < k]


def _check_takes_history(model: Any) -> None:
    parameters = inspect.signature(model.recommend).parameters
    if "history" not in parameters and not any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        raise TypeError(
            f"recommend() of {type(model).__name__} has no parameter history, so it cannot rank for users who were "
            "held out; leave history out, or evaluate a table of lists made for them"
        )


def _check_no_repeats(indptr: Numbers, places: Numbers, items: Ids) -> None:
    """Refuse a list with an item twice, whose hit would count twice. The library's own lists never have one."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    known = places >= 0
    keys = np.sort(rows[known] * len(items) + places[known])
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twice):
        row, place = divmod(int(keys[twice[0]]), len(items))
        raise ValueError(f"list {row} of recommend() has item {items[place]!r} twice; a list must not repeat")
