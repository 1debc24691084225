"""Lists from anything that can recommend."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcpf.counts import Counts, Id, Ids
from dcpf.counts.tables import is_table
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
    answer = model.recommend(users, k) if history is None else model.recommend(users, k, history=history)
    if isinstance(answer, Lists):
        places = answer.ranked.columns
        if answer.catalogue.ids is not items:
            places = items.find_all(answer.catalogue.ids)[places]
        return answer.ranked.indptr, places
    lists = [np.asarray(one).tolist()[:k] for one in next(iter(answer))]
    if len(lists) != len(users):
        raise ValueError(f"recommend() gave {len(lists):,} lists for {len(users):,} users")
    indptr = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
    places = items.find_all([one for each in lists for one in each])
    _check_no_repeats(indptr, places, users, items)
    return indptr, places


def _check_no_repeats(indptr: Numbers, places: Numbers, users: list[Id], items: Ids) -> None:
    """An item that is listed twice would be found twice."""
    rows = np.repeat(np.arange(len(users)), np.diff(indptr))
    known = places != _NOTHING
    keys = np.sort(rows[known] * len(items) + places[known])
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twice):
        row, place = divmod(int(keys[twice[0]]), len(items))
        raise ValueError(f"the list of user {users[row]!r} has item {items[place]!r} twice; a list must not repeat")
