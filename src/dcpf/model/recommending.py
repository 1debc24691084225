"""Recommend, predict, find what is similar."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from dcpf.counts import Counts, Id
from dcpf.inference.excitation import Excitation
from dcpf.kernels.threads import Threads
from dcpf.kernels.tiles import Tiled
from dcpf.model.asking import Asked, as_mapping, is_one, moments, one_or_several
from dcpf.model.explaining import Explaining
from dcpf.model.fitted import Floats, check_whole, warn_caller
from dcpf.ranking.lists import Catalogue, Recommendations, Similar
from dcpf.ranking.pairs import Predictions
from dcpf.ranking.top import Excited, best_of, check_finite, tiled, top_n

Doubles = NDArray[np.float64]
Places = NDArray[np.int64]

_AT_A_TIME = 2**14  # rows of factors in float64


class Recommending(Explaining):
    """What a fitted model is asked."""

    def recommend(
        self,
        users: Any = None,
        n: int = 10,
        *,
        history: Any = None,
        exclude_seen: bool = True,
        allow: Iterable[Id] | None = None,
        deny: Iterable[Id] | None = None,
        deny_by_user: Mapping[Any, Iterable[Id]] | None = None,
        unknown: Literal["raise", "popular"] = "raise",
    ) -> Recommendations:
        """The n items with the most expected sessions, for one user, for several, or for all.

        Parameters
        ----------
        users : id, list of ids, or None
            None means all users: of `history` if that is given, else of the model.
        n : int
            How many; fewer if fewer are left.
        history : Counts, table, matrix or mapping of items to counts
            Fresh counts of users, known to the model or not: these are folded in. A mapping is one user's.
        exclude_seen : bool
            Leave out what the user already has: in the history, or else in the training counts.
        allow, deny : ids or names of items
            Recommend only these, or none of these. A warning tells of those that the model does not know.
        deny_by_user : mapping of users to ids or names of items
            Items to leave out for one user each.
        unknown : "raise" or "popular"
            What becomes of a user whom neither model nor history know: a KeyError, or what is popular.
        """
        check_is_fitted(self)
        check_whole(n=n)
        if unknown not in ("raise", "popular"):
            raise ValueError(f"unknown must be 'raise' or 'popular', found {unknown!r}")
        single = is_one(users) or (users is None and isinstance(as_mapping(history), Mapping))
        everyone = users is None and history is None
        asked = None if everyone else self._asked(users, history, popular=unknown == "popular")
        return self._lists(
            asked, n, single, exclude_seen=exclude_seen, allow=allow, deny=deny, deny_by_user=deny_by_user
        )

    def _lists(
        self,
        asked: Asked | None,
        n: int,
        single: bool,
        *,
        exclude_seen: bool = True,
        allow: Iterable[Id] | None = None,
        deny: Iterable[Id] | None = None,
        deny_by_user: Mapping[Any, Iterable[Id]] | None = None,
    ) -> Recommendations:
        """The lists of those who ask, or of all users."""
        ids = list(self.users_) if asked is None else asked.ids
        excitation, given, left_out = self.excitation_, None, None
        if exclude_seen or excitation is not None:
            seen = self._training_counts() if asked is None else self._seen(asked)
            left_out = seen if exclude_seen else None
            if excitation is not None:
                given = excitation.of_users(seen)
        if left_out is None:
            left_out = sparse.csr_array((len(ids), len(self.items_)), dtype=np.int64)
        if deny_by_user:
            left_out = left_out + self._denied(ids, None if asked is None else asked.fresh, deny_by_user)
        W = self._kept(self.user_factors if asked is None else asked.mean)
        candidates = self._candidates(allow, deny)
        with Threads(self.n_jobs) as threads:
            if candidates is None:
                items = self._once("tiles", lambda: tiled(self.item_factors, self._column_sums()[0], threads))
            else:
                items = tiled(self.item_factors[candidates], self._column_sums()[0], threads)
                left_out = left_out[:, candidates]
            excited = None
            if given is not None and excitation is not None:
                strength = excitation.strength.data
                strongest = self._once("strongest", lambda: strength.max(initial=0.0))
                if candidates is None:
                    targets = self._once("targets", lambda: excitation.targets(items.order))
                else:
                    targets = excitation.targets(candidates[items.order])
                with np.errstate(over="ignore", invalid="ignore"):  # sums are float32, and none is larger than these
                    check_finite(given.x, strongest * given.x.sum(dtype=np.float32))
                    check_finite(targets.coding.unit * given.x.max(initial=0.0))
                excited = Excited(given, targets)
            check_finite(W)
            ranked = top_n(W, items, n, left_out, threads, excited)
        if candidates is not None:
            ranked = ranked.renumbered(candidates)
        return Recommendations(ids, self._catalogue, ranked, single, self.element_)

    def predict_pairs(self, users: Any, items: Any, *, history: Any = None) -> Predictions:
        """What is expected of pairs: sessions, counts, probabilities, an interval. One user goes with all items.

        With a mapping of items to counts as `history`, `users` may be None.
        """
        check_is_fitted(self)
        wanted = one_or_several(items, "items")
        asking = None if users is None else one_or_several(users, "users")
        distinct = None if asking is None else list(dict.fromkeys(asking))
        asked = self._asked(distinct, history)
        row_of = {one: row for row, one in enumerate([None] if distinct is None else distinct)}
        rows = [row_of[one] for one in ([None] if asking is None else asking)]
        if len(rows) == 1 and (users is None or is_one(users)):
            rows *= len(wanted)
        elif is_one(items):
            wanted *= len(rows)
        if len(rows) != len(wanted):
            raise ValueError(f"users and items must be pairs, found {len(rows):,} users and {len(wanted):,} items")
        places = self._catalogue.places(wanted)
        w, w2 = (moment[rows] for moment in asked.moments())
        H = self.item_posterior_
        h, h2 = moments(H.shape[places], H.row_rate[places][:, None] + H.column_rate)
        products = w * h
        mean: Doubles = products.sum(axis=1)
        variance: Doubles = (w2 * h2 - products**2).sum(axis=1)
        if (excitation := self.excitation_) is not None:
            by_excitation = self._excited_pairs(excitation, self._seen(asked), np.array(rows), places)
            mean = excitation.share * mean + by_excitation[0]
            variance = excitation.share**2 * variance + by_excitation[1]
        ids = [asked.ids[row] for row in rows]
        return Predictions(ids, places, self._catalogue, self.element_, mean, variance)

    def _excited_pairs(
        self, excitation: Excitation, seen: sparse.csr_array, rows: Places, items: Places
    ) -> tuple[Doubles, Doubles]:
        """Mean and variance of what excitation adds to the rates of pairs, where these rows have `seen`."""
        order = np.argsort(rows, kind="stable")
        indptr = np.searchsorted(rows[order], np.arange(seen.shape[0] + 1))
        ones = np.ones(len(items), dtype=np.int8)
        pairs = sparse.csr_array((ones, items[order].astype(np.int32), indptr), shape=seen.shape)
        mean, variance, given = np.empty(len(items)), np.empty(len(items)), excitation.of_users(seen)
        with Threads(self.n_jobs) as threads:
            mean[order] = excitation.at(pairs, given, threads)
            variance[order] = excitation.variance_at(pairs, given, threads)
        return mean, variance

    def similar_items(self, items: Any, n: int = 10) -> Similar:
        """The n items that go best with each.

        With excitation, by how much both excite each other: sqrt(s_ij s_ji); fewer than n if there are fewer. With
        factors alone, by the cosine of where their sessions come from.
        """
        check_is_fitted(self)
        if (excitation := self.excitation_) is not None:
            check_whole(n=n)
            places = self._catalogue.places(one_or_several(items, "items"))
            ranked = best_of([excitation.mutual(place) for place in places.tolist()], n)
            return Similar(self.items_.at(places), self._catalogue, ranked, is_one(items), "item")
        return self._similar(self._catalogue, (self.item_factors, self.user_factors), items, n, "item")

    def similar_users(self, users: Any, n: int = 10) -> Similar:
        """The n users whose tastes are most alike: by the cosine of where their sessions come from."""
        check_is_fitted(self)
        return self._similar(Catalogue(self.users_), (self.user_factors, self.item_factors), users, n, "user")

    def _known_items(self, items: Any, name: str) -> NDArray[np.int64]:
        """Where these items stand, by id or name; those that the model does not know are left out, and it is said."""
        if is_one(items) or items is None:
            raise TypeError(f"{name} must be a list of items, found {items!r}")
        wanted = list(items)
        found = self.items_.find_all(wanted)
        for j in np.flatnonzero(found < 0).tolist() if self.names_ is not None else ():
            found[j] = self.items_.find_all([self._id_of(wanted[j])])[0]
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            warn_caller(
                f"{name}: {len(unknown):,} of {len(wanted):,} items are unknown to the model and were passed over, "
                f"such as {wanted[int(unknown[0])]!r}"
            )
        return found[found >= 0]

    def _denied(
        self, ids: Sequence[Id | None], fresh: Counts | None, deny_by_user: Mapping[Any, Iterable[Id]]
    ) -> sparse.csr_array:
        """Ones at the items to leave out for one user each."""
        if not isinstance(deny_by_user, Mapping):
            raise TypeError(f"deny_by_user must map users to lists of items, found {deny_by_user!r}")
        denied: dict[Id | None, list[Any]] = {}
        for user, items in deny_by_user.items():
            sources = [self.users_] if fresh is None else [fresh.users, self.users_]
            kept = next((known[place] for known in sources if (place := known.find(user)) is not None), user)
            denied.setdefault(kept, []).extend(self._known_items(items, "deny_by_user"))
        found = [denied.get(one, []) for one in ids]
        rows = np.repeat(np.arange(len(ids)), [len(items) for items in found])
        columns = np.array([item for items in found for item in items], dtype=np.int64)
        ones = np.ones(len(columns), dtype=np.int64)
        return sparse.csr_array((ones, (rows, columns)), shape=(len(ids), len(self.items_)))

    def _similar(
        self, catalogue: Catalogue, factors: tuple[Floats, Floats], asked: Any, n: int, what: str
    ) -> Similar:
        check_whole(n=n)
        places = catalogue.places(one_or_several(asked, f"{what}s"), what)
        shape = (len(places), len(catalogue.ids))
        itself = sparse.csr_array((np.ones(len(places)), places, np.arange(len(places) + 1)), shape=shape)
        with Threads(self.n_jobs) as threads:
            directions = self._once(f"directions of {what}s", lambda: _directions(*factors, threads))
            ranked = top_n(directions.H[places], directions, n, itself, threads)
        return Similar(catalogue.ids.at(places), catalogue, ranked, is_one(asked), what)

    def _candidates(self, allow: Iterable[Id] | None, deny: Iterable[Id] | None) -> NDArray[np.int64] | None:
        """The places of the items that may be recommended, or None for all."""
        if allow is None and deny is None:
            return None
        open_to = np.ones(len(self.items_), dtype=bool)
        if allow is not None:
            open_to[:] = False
            open_to[self._known_items(allow, "allow")] = True
        if deny is not None:
            open_to[self._known_items(deny, "deny")] = False
        return np.flatnonzero(open_to)


def _directions(factors: Floats, others: Floats, threads: Threads) -> Tiled:
    """Where the sessions of each row come from, as vectors of length 1."""
    sums, unit = others.sum(axis=0, dtype=np.float64), np.empty_like(factors)
    for start in range(0, len(factors), _AT_A_TIME):
        shares = factors[start : start + _AT_A_TIME] * sums
        norm = np.maximum(np.linalg.norm(shares, axis=1, keepdims=True), np.finfo(np.float64).tiny)
        unit[start : start + _AT_A_TIME] = shares / norm
    return tiled(unit, np.ones(unit.shape[1]), threads)
