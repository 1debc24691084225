"""Items, or users, that are alike."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.threads import Threads, one_blas_thread
from dcpf.model.checks import check_whole
from dcpf.model.fitted import FittedModel
from dcpf.model.users import is_one, one_or_several
from dcpf.ranking.lists import Catalogue, RankedLists, largest
from dcpf.ranking.rates import Ranked, check_finite

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]
Positions = NDArray[np.int64]

_ROWS = 2**11  # of factors in float64, so that they stay in the cache
_COSINES = 2**24  # held at a time


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
    ranked = _nearest(factors.user_means, factors.item_sums, places, n, n_jobs)
    return Similar(model.users.at(places), catalogue, ranked, is_one(users), "user")


def _nearest(factors: Floats, others: Doubles, places: Positions, n: int, n_jobs: int | None) -> Ranked:
    """The rows with the largest cosine, where a row says which components its sessions come from."""
    lists, size = [], len(factors)
    together = max(1, _COSINES // size)
    with one_blas_thread(), Threads(n_jobs) as threads:
        for start in range(0, len(places), together):
            some = places[start : start + together]
            wanted, cosines = _directions(factors[some], others), np.empty((len(some), size))
            threads.run(_fill_cosines, -(-size // _ROWS), factors, others, wanted, cosines)
            check_finite(cosines)
            cosines[np.arange(len(some)), some] = -np.inf  # not itself
            for row in cosines:
                best = largest(row, min(n, size - 1))
                lists.append((best, row[best]))
    return Ranked.of(lists)


def _fill_cosines(start: int, stop: int, factors: Floats, others: Doubles, wanted: Doubles, cosines: Doubles) -> None:
    """Equivalent to cosines[:] = wanted @ _directions(factors, others).T, some rows at a time."""
    for block in range(start, stop):
        rows = slice(block * _ROWS, (block + 1) * _ROWS)
        cosines[:, rows] = wanted @ _directions(factors[rows], others).T


def _directions(factors: Floats, others: Doubles) -> Doubles:
    """Where the sessions of each row come from, as vectors of length 1."""
    shares = factors * others
    norms = np.sqrt(np.einsum("ij,ij->i", shares, shares))
    return np.asarray(shares / np.maximum(norms, np.finfo(np.float64).tiny)[:, None])
