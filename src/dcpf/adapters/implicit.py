"""dcPF under the calls of the package implicit: code that was written for its models runs unchanged."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from implicit.recommender_base import RecommenderBase
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dcpf.elements import Element
from dcpf.model import DCPF, load
from dcpf.progress import Iteration

Answer = tuple[NDArray[np.int32], NDArray[np.float32]]
_NOBODY, _NOTHING = -1, np.finfo(np.float32).min  # what fills lists that are shorter than others of the same call


class DiscreteCompoundPoissonFactorization(RecommenderBase):
    """`DCPF` with implicit's names, orders of arguments and shapes of answers.

    Users and items are rows and columns of the matrix of the fit, whose values must be whole numbers: raw counts, not
    confidences. Lists are arrays, for several users of two dimensions; where one is shorter than the others it ends
    in -1. `model` is the `DCPF` itself, with all that implicit has no name for.

    Parameters
    ----------
    factors : int
        Components.
    element : str or Element
        The law of a session.
    n_neighbors : int
        How many items may excite an item; 0 is factors alone.
    iterations : int
        At most so many.
    num_threads : int
        0 is all cores.
    random_state : int, Generator, RandomState or None
        For the random start.
    """

    def __init__(
        self,
        factors: int = 50,
        element: str | Element = "shifted-nb",
        n_neighbors: int = 200,
        iterations: int = 500,
        num_threads: int = 0,
        random_state: Any = None,
    ) -> None:
        self.model = DCPF(
            factors,
            element,
            n_neighbors=n_neighbors,
            max_iter=iterations,
            n_jobs=num_threads or None,
            random_state=random_state,
        )

    @property
    def user_factors(self) -> NDArray[np.floating]:
        """E[W]."""
        return self.model.user_factors

    @property
    def item_factors(self) -> NDArray[np.floating]:
        """E[H]. With excitation, which they do not hold, scores are more than products of factors."""
        return self.model.item_factors

    def fit(self, user_items: Any, show_progress: bool = True, callback: Callable[..., object] | None = None) -> None:
        """Learn from a users x items matrix of counts. `callback` gets iteration, seconds and bound."""

        def tell(done: Iteration) -> None:
            if callback is not None:
                callback(done.number - 1, done.seconds, done.bound)

        self.model.set_params(verbose=show_progress, callback=tell)
        try:
            self.model.fit(user_items)
        finally:
            self.model.set_params(verbose=False, callback=None)

    def recommend(
        self,
        userid: int | ArrayLike,
        user_items: Any,
        N: int = 10,
        filter_already_liked_items: bool = True,
        filter_items: ArrayLike | None = None,
        recalculate_user: bool = False,
        items: ArrayLike | None = None,
    ) -> Answer:
        """The N best items. A row of `user_items` for each user tells what to leave out.

        With `recalculate_user` these rows are also what users are known by, in place of their training counts.
        """
        users = np.atleast_1d(userid).tolist()
        rows = None if user_items is None else sparse.csr_array(user_items)
        if rows is None and (filter_already_liked_items or recalculate_user):
            raise ValueError("user_items is needed to filter what users have, or to recalculate them")
        if rows is not None and rows.shape[0] != len(users):
            raise ValueError(f"user_items must have a row for each user: {rows.shape[0]} for {len(users)}")
        choice: dict[str, Any] = {"allow": _listed(items), "deny": _listed(filter_items)}
        if items is not None and filter_items is not None:
            raise ValueError("give items or filter_items, not both")
        if recalculate_user:
            seen = filter_already_liked_items
            found, scores = self.model.recommend(n=N, history=rows, exclude_seen=seen, **choice)
        else:
            left_out = self._left_out(users, rows if filter_already_liked_items else None)
            found, scores = self.model.recommend(users, N, **left_out, **choice)
        return _arrays(found, scores, np.isscalar(userid))

    def _left_out(self, users: list[int], liked: sparse.csr_array | None) -> dict[str, Any]:
        """What users of the fit are not offered. Mostly that is what they had there, which needs no second look."""
        if liked is None:
            return {"exclude_seen": False}
        rows, history = self.model.users_.positions(users, "user"), self.model.history_
        if history is not None and (history[rows] - liked).nnz == 0:
            return {"exclude_seen": True}
        denied = {user: liked[[row]].indices.tolist() for row, user in enumerate(users)}
        return {"exclude_seen": False, "deny_by_user": denied}

    def similar_items(
        self,
        itemid: int | ArrayLike,
        N: int = 10,
        recalculate_item: bool = False,
        item_users: Any = None,
        filter_items: ArrayLike | None = None,
        items: ArrayLike | None = None,
    ) -> Answer:
        """The item itself, and the N - 1 that are most like it."""
        if recalculate_item:
            raise NotImplementedError("items are not recalculated in passing: call partial_fit_items first")
        return self._similar(self.model.similar_items, len(self.model.items_), itemid, N, filter_items, items)

    def similar_users(
        self,
        userid: int | ArrayLike,
        N: int = 10,
        filter_users: ArrayLike | None = None,
        users: ArrayLike | None = None,
    ) -> Answer:
        """The user, and the N - 1 who are most like them."""
        return self._similar(self.model.similar_users, len(self.model.users_), userid, N, filter_users, users)

    def _similar(
        self, ask: Callable[..., Any], most: int, ids: int | ArrayLike, n: int, denied: Any, allowed: Any
    ) -> Answer:
        if denied is not None and allowed is not None:
            raise ValueError("what to take and what to leave out cannot both be given")
        asked = np.atleast_1d(ids)
        choosing = denied is not None or allowed is not None
        found, scores = ask(asked.tolist(), most if choosing else max(n - 1, 1))
        lists = []
        for one, others, alike in zip(asked, found, scores, strict=True):
            everyone, values = np.append(one, others), np.append(1.0, alike)
            kept = np.ones(len(everyone), dtype=bool)
            if choosing:
                kept = np.isin(everyone, allowed) if allowed is not None else ~np.isin(everyone, denied)
            lists.append((everyone[kept][:n], values[kept][:n]))
        return _arrays([one for one, _ in lists], [values for _, values in lists], np.isscalar(ids))

    def explain(
        self, userid: int, user_items: Any, itemid: int, user_weights: object = None, N: int = 10
    ) -> tuple[float, list[tuple[int, float]], None]:
        """The score, and the N items of the user that add most to it. Nothing is kept for later calls."""
        counts = sparse.csr_array(user_items)[[userid]]
        why = self.model.explain(None, itemid, history=dict(zip(counts.indices.tolist(), counts.data, strict=True)))
        parts = zip(why.items[:N].tolist(), why.parts[:N].tolist(), strict=True)
        return why.score, list(parts), None

    def partial_fit_users(self, userids: ArrayLike, user_items: Any) -> None:
        """New users, or known ones with new counts: a row each."""
        self.model.partial_fit_users(user_items, users=np.atleast_1d(userids).tolist())

    def partial_fit_items(self, itemids: ArrayLike, item_users: Any) -> None:
        """New items, or known ones with new counts: a row each, with a column for each user."""
        counts = sparse.csr_array(item_users).T.tocsr()
        self.model.partial_fit_items(counts, items=np.atleast_1d(itemids).tolist())

    def save(self, file: Any) -> None:
        """Write the model to a file, as `DCPF.save` does: `dcpf.load` reads it too."""
        self.model.save(file)

    @classmethod
    def load(cls, fileobj_or_path: Any) -> Self:
        """Read what `save`, or `DCPF.save`, has written."""
        read = cls()
        read.model = load(fileobj_or_path)
        return read


def _listed(ids: ArrayLike | None) -> list[int] | None:
    return None if ids is None else np.atleast_1d(ids).tolist()


def _arrays(found: Sequence[Any], scores: Sequence[Any], single: bool) -> Answer:
    """Lists as rows of arrays, as long as the longest."""
    width = max((len(one) for one in found), default=0)
    ids = np.full((len(found), width), _NOBODY, dtype=np.int32)
    values = np.full((len(found), width), _NOTHING, dtype=np.float32)
    for row, (items, theirs) in enumerate(zip(found, scores, strict=True)):
        ids[row, : len(items)], values[row, : len(items)] = items, theirs
    return (ids[0], values[0]) if single else (ids, values)
