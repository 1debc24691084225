"""Items, or users, that are alike."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.kernels.threads import Threads
from dcpf.model.checks import check_whole
from dcpf.model.fitted import FittedModel
from dcpf.model.users import is_one, one_or_several
from dcpf.ranking.lists import Catalogue, RankedLists
from dcpf.ranking.rates import Items, ItemSide, Ranked, Rates, UserSide, no_sparse

Floats = NDArray[np.floating]

_AT_A_TIME = 2**14  # rows of factors in float64


@dataclass(frozen=True, repr=False)
class Similar(RankedLists):
    """Those most alike, by mutual excitation or by the cosine of factors. Unpacks as (ids, similarities)."""

    what: str  # "item" or "user"

    def columns(self) -> dict[str, Any]:
        """Whom it is similar to, the one that is similar, its name, rank and similarity."""
        return self._columns(f"to_{self.what}", self.what, {"similarity": self.ranked.scores})


def similar_items(model: FittedModel, items: Any, n: int, n_jobs: int | None) -> Similar:
    """See `FittedModel.similar_items`: the last part that has a say in it decides."""
    check_whole(n=n)
    places = model.catalogue.places(one_or_several(items, "items"))
    for part in reversed(model.parts):
        found = [part.similar(place) for place in places.tolist()]
        told = [one for one in found if one is not None]
        if told and len(told) == len(found):
            lists = []
            for columns, scores in told:
                order = np.lexsort((columns, -scores))[:n]
                order = order[scores[order] > 0.0]
                lists.append((columns[order], scores[order]))
            return Similar(model.items.at(places), model.catalogue, Ranked.of(lists), is_one(items), "item")
    factors = model.part("factors")
    ranked = _nearest(factors.items.H, factors.totals[0], places, n, n_jobs)
    return Similar(model.items.at(places), model.catalogue, ranked, is_one(items), "item")


def similar_users(model: FittedModel, users: Any, n: int, n_jobs: int | None) -> Similar:
    """See `FittedModel.similar_users`."""
    check_whole(n=n)
    catalogue, factors = Catalogue(model.users), model.part("factors")
    places = catalogue.places(one_or_several(users, "users"), "user")
    ranked = _nearest(factors.user_means, factors.items.H.sum(axis=0, dtype=np.float64), places, n, n_jobs)
    return Similar(model.users.at(places), catalogue, ranked, is_one(users), "user")


def _nearest(factors: Floats, others: NDArray[np.float64], places: Any, n: int, n_jobs: int | None) -> Ranked:
    """The rows with the largest cosine, where a row says which components its sessions come from."""
    directions = np.empty_like(factors)
    for start in range(0, len(factors), _AT_A_TIME):
        shares = factors[start : start + _AT_A_TIME] * others
        norm = np.maximum(np.linalg.norm(shares, axis=1, keepdims=True), np.finfo(np.float64).tiny)
        directions[start : start + _AT_A_TIME] = shares / norm
    rows, size = len(places), len(factors)
    items = Items(ItemSide(directions, no_sparse(0, size)), np.ones(factors.shape[1]))
    users = UserSide(directions[places], no_sparse(rows, 0))
    itself = sparse.csr_array((np.ones(rows, np.int64), places, np.arange(rows + 1)), shape=(rows, size))
    with Threads(n_jobs if rows > 1 else 1) as threads:
        return Rates(users, items, lambda cosines: cosines).lists(n, itself, threads)
