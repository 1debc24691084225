"""Recommend, predict, find what is similar, explain."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import digamma
from sklearn.utils.validation import check_is_fitted

from dcpf.counts import Id
from dcpf.inference.data import Data
from dcpf.inference.fold_in import expected_sessions
from dcpf.inference.updates import Gammas
from dcpf.kernels.threads import Threads
from dcpf.model.asking import Asking, is_one
from dcpf.model.fitted import Floats
from dcpf.ranking.explanation import Explanation, parts_by_item
from dcpf.ranking.lists import Catalogue, Recommendations, Similar
from dcpf.ranking.pairs import Predictions
from dcpf.ranking.top import top_n


class Recommending(Asking):
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
        allow, deny : ids of items
            Recommend only these, or none of these. Those that the model does not know are passed over.
        deny_by_user : mapping of users to ids of items
            Items to leave out for one user each.
        unknown : "raise" or "popular"
            What becomes of a user whom neither model nor history know: a KeyError, or what is popular.
        """
        check_is_fitted(self)
        _check_n(n)
        if unknown not in ("raise", "popular"):
            raise ValueError(f"unknown must be 'raise' or 'popular', found {unknown!r}")
        single = is_one(users) or (users is None and isinstance(history, Mapping))
        fresh = None if history is None else self._new_users(history)
        asked = self._asked(users, fresh)
        if users is None and fresh is None:
            W, left_out = self.user_factors, self._training_counts() if exclude_seen else None
        else:
            q, places = self._posterior(asked, fresh, popular=unknown == "popular")
            W, left_out = q.mean, self._seen(places, fresh) if exclude_seen else None
        if left_out is None:
            left_out = sparse.csr_array((len(asked), len(self.items_)), dtype=np.int64)
        candidates = self._candidates(allow, deny)
        if deny_by_user:
            left_out = left_out + self._denied(asked, deny_by_user)
        H = self.item_factors
        if candidates is not None:
            H, left_out = np.ascontiguousarray(H[candidates]), left_out[:, candidates]
        left_out = left_out.sorted_indices()
        with Threads(self.n_jobs) as threads:
            ranked = top_n(W, H, n, left_out, threads)
        if candidates is not None:
            ranked = ranked.renumbered(candidates)
        shown: list[Id | None] = [None] if single and users is None else [*asked]  # a mere history has no name
        return Recommendations(shown, self._catalogue, ranked, single, self.element_)

    def predict_pairs(self, users: Any, items: Any, *, history: Any = None) -> Predictions:
        """What is expected of pairs: sessions, counts, probabilities, an interval. One user goes with all items."""
        check_is_fitted(self)
        asked, wanted = ([one] if is_one(one) else list(one) for one in (users, items))
        asked, wanted = asked * (len(wanted) if is_one(users) else 1), wanted * (len(asked) if is_one(items) else 1)
        if len(asked) != len(wanted):
            raise ValueError(f"users and items must be pairs, found {len(asked):,} users and {len(wanted):,} items")
        places = self.items_.positions(wanted, "item")
        of_users: dict[Id, int] = {one: row for row, one in enumerate(dict.fromkeys(asked))}
        q, _ = self._posterior(list(of_users), None if history is None else self._new_users(history))
        rows = np.array([of_users[one] for one in asked], dtype=np.int64)
        w, w2 = _moments(q, rows)
        h, h2 = _moments(self.item_posterior_, places)
        mean = w * h
        variance = (w2 * h2 - mean**2).sum(axis=1)
        return Predictions(asked, places, self._catalogue, self.element_, mean.sum(axis=1), variance)

    def similar_items(self, items: Any, n: int = 10) -> Similar:
        """The n items whose listeners are most alike: by the cosine of where their sessions come from."""
        check_is_fitted(self)
        shares = self.item_factors * self.user_factors.sum(axis=0, dtype=np.float64)
        return self._similar(self._catalogue, shares, items, n, "item")

    def similar_users(self, users: Any, n: int = 10) -> Similar:
        """The n users whose tastes are most alike: by the cosine of where their sessions come from."""
        check_is_fitted(self)
        shares = self.user_factors * self.item_factors.sum(axis=0, dtype=np.float64)
        return self._similar(Catalogue(self.users_), shares, users, n, "user")

    def explain(self, user: Any = None, item: Any = None, *, history: Any = None) -> Explanation:
        """Why this item for this user: the parts of the score by component, and by item of the history.

        With a mapping of items to counts as `history`, `user` may be left out.
        """
        check_is_fitted(self)
        place = int(self.items_.positions([item], "item")[0])
        fresh = None if history is None else self._new_users(history)
        asked = self._asked(None if user is None and fresh is not None else [user], fresh)[:1]
        q, places = self._posterior(asked, fresh)
        seen = self._seen(places, fresh)
        known, counts = seen.indices.astype(np.int64), seen.data
        with Threads(self.n_jobs) as threads:
            data = Data.from_matrix(seen)
            prior = self._settings_.shape_prior
            sessions = expected_sessions(data, q, self.item_posterior_, self.element_, prior, threads)
        sessions = sessions[np.argsort(data.by_user.indices, kind="stable")]  # by item, as `seen` is
        shape, rate = q.shape[0].astype(np.float64), q.row_rate[0] + q.column_rate
        geometric = _geometric(q, np.zeros(1, dtype=np.int64)) * _geometric(self.item_posterior_, known)
        shares = geometric * (sessions / geometric.sum(axis=1))[:, None]
        h = self.item_factors[place].astype(np.float64)
        by_prior, parts = parts_by_item(shares, (shape, rate), prior[0], h)
        order = np.argsort(-parts, kind="stable")
        components = shape / rate * h
        return Explanation(
            user=asked[0] if user is not None else None,
            item=place,
            catalogue=self._catalogue,
            score=float(components.sum()),
            components=components,
            prior=by_prior,
            items=known[order],
            counts=counts[order],
            sessions=sessions[order],
            parts=parts[order],
        )

    def _denied(self, asked: list[Id], deny_by_user: Mapping[Any, Iterable[Id]]) -> sparse.csr_array:
        """Ones at the items to leave out for one user each."""
        found: list[NDArray[np.int64] | list[int]] = [
            self.items_.find_all(_several(deny_by_user[one], "deny_by_user")) if one in deny_by_user else []
            for one in asked
        ]
        rows = np.repeat(np.arange(len(asked)), [len(items) for items in found])
        columns = np.concatenate([np.empty(0, dtype=np.int64), *found]).astype(np.int64)
        known = columns >= 0
        shape = (len(asked), len(self.items_))
        ones = np.ones(int(known.sum()), dtype=np.int64)
        return sparse.csr_array((ones, (rows[known], columns[known])), shape=shape)

    def _similar(self, catalogue: Catalogue, shares: Floats, asked: Any, n: int, what: str) -> Similar:
        _check_n(n)
        several = [asked] if is_one(asked) else list(asked)
        places = catalogue.ids.positions(several, what)
        unit = (shares / np.linalg.norm(shares, axis=1, keepdims=True)).astype(self.item_factors.dtype)
        itself = sparse.csr_array(
            (np.ones(len(places), dtype=np.int64), (np.arange(len(places)), places)), shape=(len(places), len(unit))
        )
        with Threads(self.n_jobs) as threads:
            ranked = top_n(np.ascontiguousarray(unit[places]), unit, n, itself, threads)
        return Similar(catalogue.ids.at(places), catalogue, ranked, is_one(asked), what)

    def _candidates(self, allow: Iterable[Id] | None, deny: Iterable[Id] | None) -> NDArray[np.int64] | None:
        """The places of the items that may be recommended, or None for all."""
        if allow is None and deny is None:
            return None
        open_to = np.ones(len(self.items_), dtype=bool)
        if allow is not None:
            known = self.items_.find_all(_several(allow, "allow"))
            open_to[:] = False
            open_to[known[known >= 0]] = True
        if deny is not None:
            known = self.items_.find_all(_several(deny, "deny"))
            open_to[known[known >= 0]] = False
        return np.flatnonzero(open_to)


def _moments(q: Gammas, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """E[w] and E[w^2] of these rows."""
    shape = q.shape[rows].astype(np.float64)
    rate = q.row_rate[rows][:, None] + q.column_rate
    return shape / rate, shape * (shape + 1.0) / rate**2


def _geometric(q: Gammas, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """exp(E[log w]) of these rows."""
    rate = q.row_rate[rows][:, None] + q.column_rate
    return np.asarray(np.exp(digamma(q.shape[rows].astype(np.float64))) / rate)


def _several(ids: Any, name: str) -> list[Any]:
    if is_one(ids) or ids is None:
        raise TypeError(f"{name} must be a list of items, found {ids!r}")
    return list(ids)


def _check_n(n: object) -> None:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be a whole number >= 1, found {n!r}")
