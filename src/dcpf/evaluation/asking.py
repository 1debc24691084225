"""Lists from anything that can recommend."""

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcpf.counts import Counts, Id, Ids
from dcpf.counts.checks import is_table
from dcpf.evaluation.given import GivenLists
from dcpf.ranking.lists import Lists

Numbers = NDArray[np.int64]

_NOTHING = -1  # the place of an item that the catalogue does not have


def recommender(model: Any) -> Any:
    """The model itself, or a table of lists as one."""
    if hasattr(model, "recommend"):
        return model
    if is_table(model):
        return GivenLists(model)
    raise TypeError(
        f"a model must have recommend(users, n), or be a table of users and items that were recommended to them; "
        f"found {type(model).__name__}"
    )


def ask(model: Any, users: list[Id], k: int, items: Ids, history: Counts | None) -> tuple[Numbers, Numbers]:
    """(indptr, places in `items`) of the lists of at most k items for these users."""
    answer = model.recommend(users, k) if history is None else _with_history(model)(users, k, history=history)
    if isinstance(answer, Lists):
        indptr, places = answer.ranked.indptr, answer.ranked.columns
        if answer.catalogue.ids is not items:
            places = items.find_all(answer.catalogue.ids)[places]
    else:
        lists = [np.asarray(one).tolist() for one in next(iter(answer))]
        indptr = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
        places = items.find_all([one for each in lists for one in each])
        _check_no_repeats(indptr, places, items)
    if len(indptr) != len(users) + 1:
        raise ValueError(f"recommend() gave {len(indptr) - 1:,} lists for {len(users):,} users")
    return _cut(indptr, places, k)


def _with_history(model: Any) -> Any:
    """The model's way to recommend by a history, if it has one."""
    taken = inspect.signature(model.recommend).parameters
    if "history" not in taken and not any(one.kind is one.VAR_KEYWORD for one in taken.values()):
        raise TypeError(
            f"recommend() of {type(model).__name__} takes no history=, so it cannot be asked for users who were held "
            "out; leave history out, or judge a table of lists that were made for them"
        )
    return model.recommend


def _cut(indptr: Numbers, places: Numbers, k: int) -> tuple[Numbers, Numbers]:
    """The first k of each list."""
    lengths = np.diff(indptr)
    if len(lengths) == 0 or lengths.max() <= k:
        return indptr, places
    ranks = np.arange(len(places)) - np.repeat(indptr[:-1], lengths)
    return np.concatenate([[0], np.cumsum(np.minimum(lengths, k))]), places[ranks < k]


def _check_no_repeats(indptr: Numbers, places: Numbers, items: Ids) -> None:
    """An item that is listed twice would be found twice. Lists of our own never do that."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    known = places != _NOTHING
    keys = np.sort(rows[known] * len(items) + places[known])
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twice):
        row, place = divmod(int(keys[twice[0]]), len(items))
        raise ValueError(f"list {row} of recommend() has item {items[place]!r} twice; a list must not repeat")
