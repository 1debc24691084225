"""Which items to recommend."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Id, Ids
from dcpf.elements import Element
from dcpf.kernels.threads import Threads
from dcpf.model.checks import check_whole, warn_caller
from dcpf.model.fitted import FittedModel
from dcpf.model.users import Asked, as_mapping, ask, everyone, id_of, is_one, known_history
from dcpf.parts import Met
from dcpf.ranking.lists import RankedLists, meanings

Positions = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Recommendations(RankedLists):
    """Recommended items for each user, by expected sessions. Unpacks as (items, scores)."""

    element: Element

    def columns(self) -> dict[str, Any]:
        """User, item, name, rank, expected sessions and count, probability of any interaction."""
        return self.with_places("user", "item", meanings(self.ranked.scores, self.element))


def recommend(
    model: FittedModel,
    users: Any,
    n: int,
    history: Any,
    unknown: Literal["raise", "popular"],
    n_jobs: int | None,
    **wishes: Any,
) -> Recommendations:
    """See `FittedModel.recommend`."""
    check_whole(n=n)
    if unknown not in ("raise", "popular"):
        raise ValueError(f"unknown must be 'raise' or 'popular', found {unknown!r}")
    single = is_one(users) or (users is None and isinstance(as_mapping(history), Mapping))
    if users is None and history is None:
        asked = everyone(model)
    else:
        asked = ask(model, users, history, popular=unknown == "popular")
    with Threads(n_jobs if len(asked.batch) > 1 else 1) as threads:
        return lists(model, asked, model.meet(asked.batch, threads), n, threads, single=single, **wishes)


def lists(
    model: FittedModel,
    asked: Asked,
    met: Sequence[Met],
    n: int,
    threads: Threads,
    *,
    single: bool = True,
    exclude_seen: bool = True,
    allow: Iterable[Id] | None = None,
    deny: Iterable[Id] | None = None,
    deny_by_user: Mapping[Any, Iterable[Id]] | None = None,
) -> Recommendations:
    """The lists of users whom the parts have met."""
    if exclude_seen:
        left_out = known_history(model, asked.batch)
    else:
        left_out = sparse.csr_array((len(asked.ids), len(model.items)), dtype=np.int64)
    if deny_by_user:
        left_out = left_out + _denied(model, asked.ids, asked.fresh, deny_by_user)
    ranked = model.rates(met).lists(n, left_out, threads, _candidates(model, allow, deny))
    return Recommendations(asked.ids, model.catalogue, ranked, single, model.element)


def _candidates(model: FittedModel, allow: Iterable[Id] | None, deny: Iterable[Id] | None) -> Positions | None:
    """The places of the items that may be recommended, or None for all."""
    if allow is None and deny is None:
        return None
    allowed = np.ones(len(model.items), dtype=bool)
    if allow is not None:
        allowed[:] = False
        allowed[_known_items(model, allow, "allow")] = True
    if deny is not None:
        allowed[_known_items(model, deny, "deny")] = False
    return np.flatnonzero(allowed)


def _denied(
    model: FittedModel, ids: Sequence[Id | None], fresh: Ids | None, deny_by_user: Mapping[Any, Iterable[Id]]
) -> sparse.csr_array:
    """Ones at the items to leave out for single users."""
    if not isinstance(deny_by_user, Mapping):
        raise TypeError(f"deny_by_user must map users to lists of items, found {deny_by_user!r}")
    denied: dict[Id | None, list[Any]] = {}
    for user, items in deny_by_user.items():
        sources = [model.users] if fresh is None else [fresh, model.users]
        known = next((found[place] for found in sources if (place := found.find(user)) is not None), user)
        denied.setdefault(known, []).extend(_known_items(model, items, "deny_by_user"))
    by_row = [denied.get(one, []) for one in ids]
    rows = np.repeat(np.arange(len(ids)), [len(items) for items in by_row])
    columns = np.array([item for items in by_row for item in items], dtype=np.int64)
    return sparse.csr_array((np.ones(len(columns), np.int64), (rows, columns)), shape=(len(ids), len(model.items)))


def _known_items(model: FittedModel, items: Any, name: str) -> Positions:
    """Where these items stand, by id or name; unknown ones are left out with a warning."""
    if is_one(items) or items is None:
        raise TypeError(f"{name} must be a list of items, found {items!r}")
    wanted = list(items)
    found = model.items.find_all(wanted)
    for j in np.flatnonzero(found < 0).tolist() if model.names is not None else ():
        found[j] = model.items.find_all([id_of(model, wanted[j])])[0]
    unknown = np.flatnonzero(found < 0)
    if len(unknown):
        warn_caller(
            f"{name}: {len(unknown):,} of {len(wanted):,} items are unknown to the model and were ignored, "
            f"such as {wanted[int(unknown[0])]!r}"
        )
    return found[found >= 0]
