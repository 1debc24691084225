"""A fitted model: one frozen value that answers questions and never learns anything while it does."""

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Id, Ids, Strings
from dcpf.elements import Element
from dcpf.kernels.threads import Threads
from dcpf.parts import Met, Part, UserBatch
from dcpf.ranking.lists import Catalogue
from dcpf.ranking.rates import IDENTITY, Items, Link, Rates, joined_items, joined_users, weighted_sums

if TYPE_CHECKING:
    import os

    from dcpf.model.description import Component, Description
    from dcpf.model.explanation import Explanation
    from dcpf.model.prediction import Predictions
    from dcpf.model.recommendation import Recommendations
    from dcpf.model.similarity import Similar

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Facts:
    """What is known of the fit itself."""

    data: dict[str, Any]  # its counts: users, items, entries, their total, the largest, and a checksum
    parameters: dict[str, Any]  # of `DCPF`, without those of the run; plain values
    bounds: Doubles  # the bound after each iteration
    sessions_per_count: float | None = None  # behind a count of the training data on average


@dataclass(frozen=True, eq=False, repr=False)
class FittedModel:
    """What a fit has learned. Made by `dcpf.load` and as `DCPF.fitted_`; nothing in it is ever changed.

    Attributes
    ----------
    element : Element
        The law of a session, with its learned parameters.
    parts : tuple of Part
        Where sessions come from: factors, excitation. See `part`.
    weights : tuple of float
        What each part's rates are multiplied by where they are added up.
    users, items : Ids
        The ids of rows and columns.
    names : Strings or None
        The names of the items.
    history : csr_array or None
        The training counts; None if the model was saved without them.
    facts : Facts
        What the training data and the parameters of the fit were.
    link : Link
        What makes the sum of the parts a rate.
    """

    element: Element
    parts: tuple[Part, ...]
    weights: tuple[float, ...]
    users: Ids
    items: Ids
    names: Strings | None
    history: sparse.csr_array | None
    facts: Facts
    link: Link = IDENTITY

    # -- what it consists of -----------------------------------------------------------------------------

    def part(self, name: str) -> Any:
        """The part of this name, or None: "factors", "excitation"."""
        return next((part for part in self.parts if part.name == name), None)

    @cached_property
    def catalogue(self) -> Catalogue:
        """Items by id or name."""
        return Catalogue(self.items, self.names)

    def __repr__(self) -> str:
        made = " and ".join(part.name for part in self.parts)
        return f"<FittedModel: {len(self.users):,} users x {len(self.items):,} items; {made}; {self.element}>"

    def _repr_html_(self) -> str:
        return self.describe().to_html()

    def __getstate__(self) -> dict[str, Any]:
        """A pickle or a copy computes anew what is derived."""
        return {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}

    # -- the one place where parts are added ---------------------------------------------------------------

    def meet(self, batch: UserBatch, threads: Threads) -> tuple[Met, ...]:
        """Each part's view of the users of a question."""
        return tuple(part.meet(batch, self.element, threads) for part in self.parts)

    def rates(self, met: Sequence[Met]) -> Rates:
        """The rates of sessions of these users with all items."""
        return Rates(joined_users([one.side for one in met], self.weights), self.item_side, self.link)

    def session_rates(self, met: Sequence[Met]) -> Rates:
        """The rates that tell how many sessions stand behind counts: with exp(E[log w]) for w, as in q(n)."""
        users = joined_users([one.session_side for one in met], self.weights)
        return Rates(users, self.session_item_side, self.link)

    @cached_property
    def item_side(self) -> Items:
        """H and S of all parts."""
        return Items(joined_items([part.items for part in self.parts]), self._totals[0])

    @cached_property
    def session_item_side(self) -> Items:
        """The same for `session_rates`."""
        return Items(joined_items([part.session_items for part in self.parts]), self._totals[0])

    @cached_property
    def _totals(self) -> tuple[Doubles, Doubles]:
        """W and X summed over the users of the fit, weighted."""
        both = [part.totals for part in self.parts]
        dense, sparse_totals = (
            [weight * one[side] for one, weight in zip(both, self.weights, strict=True)] for side in (0, 1)
        )
        return np.concatenate([np.empty(0), *dense]), np.concatenate([np.empty(0), *sparse_totals])

    @cached_property
    def popularity(self) -> Doubles:
        """The expected sessions of each item with all users of the fit."""
        (dense, sparse_totals), side = self._totals, self.item_side
        return np.asarray(weighted_sums(side.H, dense) + side.S.T @ sparse_totals)

    @cached_property
    def sessions_by_part(self) -> dict[str, float]:
        """The expected sessions of all users of the fit with all items, by the name of the part they come from."""
        found = {}
        for part, weight in zip(self.parts, self.weights, strict=True):
            (W, X), (H, S) = part.totals, part.items
            sessions = W @ H.sum(axis=0, dtype=np.float64) + X @ S.sum(axis=1, dtype=np.float64)
            found[part.name] = weight * float(sessions)
        return found

    # -- questions -----------------------------------------------------------------------------------------

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
        n_jobs: int | None = None,
    ) -> "Recommendations":
        """The n items with the most expected sessions, for one user, for several, or for all.

        Parameters
        ----------
        users : id, list of ids, or None
            None means all users: of `history` if given, else of the model.
        n : int
            Length of a list. It is shorter where fewer items are left.
        history : Counts, table, matrix or mapping of items to counts
            What users have by now, whether the model knows them or not. A mapping is the history of one user.
        exclude_seen : bool
            Leave out items that the user already has: in the history, or else in the training counts.
        allow, deny : ids or names of items
            Recommend only these, or none of these. Unknown ones cause a warning.
        deny_by_user : mapping of users to ids or names of items
            Items to leave out for single users.
        unknown : "raise" or "popular"
            For users whom neither the model nor the history knows: raise a KeyError, or recommend popular items.
        n_jobs : int or None
            Threads; None is all cores.
        """
        from dcpf.model.recommendation import recommend

        limits = {"allow": allow, "deny": deny, "deny_by_user": deny_by_user}
        return recommend(self, users, n, history, unknown, n_jobs, exclude_seen=exclude_seen, **limits)

    def predict_pairs(
        self, users: Any, items: Any, *, history: Any = None, n_jobs: int | None = None
    ) -> "Predictions":
        """Expected sessions and counts, probabilities and intervals for pairs. One user goes with all items.

        With a mapping of items to counts as `history`, `users` may be None.
        """
        from dcpf.model.prediction import predict_pairs

        return predict_pairs(self, users, items, history, n_jobs)

    def explain(self, user: Any, item: Any, *, history: Any = None, n_jobs: int | None = None) -> "Explanation":
        """Why this item for this user: the score divided among the parts, and among the items of the history.

        With a history of one user, such as a mapping of items to counts, `user` may be None.
        """
        from dcpf.model.explanation import explain_one

        return explain_one(self, user, item, history, n_jobs)

    def explain_items(
        self, user: Any, items: Sequence[Any], *, history: Any = None, n_jobs: int | None = None
    ) -> "list[Explanation]":
        """Explain several items for one user, whose counts are read once."""
        from dcpf.model.explanation import explain_items

        return explain_items(self, user, items, history, n_jobs)

    def similar_items(self, items: Any, n: int = 10, *, n_jobs: int | None = None) -> "Similar":
        """The n items that go best with each.

        With excitation, by how much both excite each other: sqrt(s_ij s_ji); fewer than n if there are fewer. With
        factors alone, by the cosine of where their sessions come from.
        """
        from dcpf.model.similarity import similar_items

        return similar_items(self, items, n, n_jobs)

    def similar_users(self, users: Any, n: int = 10, *, n_jobs: int | None = None) -> "Similar":
        """The n users whose tastes are most alike: by the cosine of where their sessions come from."""
        from dcpf.model.similarity import similar_users

        return similar_users(self, users, n, n_jobs)

    def describe(self, n_components: int = 10, n_items: int = 5) -> "Description":
        """The model at a glance: its element, its largest components and their items, active users, popular items."""
        from dcpf.model.description import describe

        return describe(self, n_components, n_items)

    def component(self, number: int, n_items: int = 5) -> "Component":
        """One component, with the items that most of its sessions go to."""
        from dcpf.model.description import component

        return component(self, number, n_items)

    def transform(self, X: Any, *, n_jobs: int | None = None) -> Floats:
        """E[W] of new users, with the items held fixed: one row for each row of counts.

        For a table, one row for each of its users in ascending order.
        """
        from dcpf.model.sessions import transform

        return transform(self, X, n_jobs)

    def sessions(self, X: Any = None, *, n_jobs: int | None = None) -> sparse.csr_array:
        """E[N], the expected sessions behind each count of the users of the fit: between 1 and the count.

        Without X, behind the training counts. A matrix has a row for each user of the fit. A table or `Counts` may
        hold some of them: users are looked up by id, and the rows of all others are empty.
        """
        from dcpf.model.sessions import sessions

        return sessions(self, X, n_jobs)

    # -- another model -------------------------------------------------------------------------------------

    def partial_fit_users(
        self, X: Any, users: Iterable[Id] | None = None, *, n_jobs: int | None = None
    ) -> "FittedModel":
        """A model that also knows these users, new or known, by their counts as they are now.

        X holds the whole history of each user: a `Counts`, a table, or a matrix with a column for each item of the
        model, whose rows are `users`. It replaces what was known of them. Items stay as they are; those that the
        model does not know are left out (see `partial_fit_items`).
        """
        from dcpf.model.changes import partial_fit_users

        return partial_fit_users(self, X, users, n_jobs)

    def partial_fit_items(
        self, X: Any, items: Iterable[Id] | None = None, *, n_jobs: int | None = None
    ) -> "FittedModel":
        """A model that also knows these items, new or known, by their counts as they are now.

        X is users x items, as everywhere, and holds all counts of these items: a `Counts`, a table, or a matrix with
        a row for each user of the model, whose columns are `items`. Users stay as they are; those that the model does
        not know are left out (see `partial_fit_users`). Factors learn the items. Excitation stays as it is until
        `DCPF.refit_parts` or the next fit.
        """
        from dcpf.model.changes import partial_fit_items

        return partial_fit_items(self, X, items, n_jobs)

    def forget_users(self, users: Iterable[Id]) -> "FittedModel":
        """A model without these users: their ids, counts and factors are gone.

        What all items have in common was learned from many users and stays. `describe` goes on to tell of the
        training data as they were.
        """
        from dcpf.model.changes import forget_users

        return forget_users(self, users)

    def save(self, path: "str | os.PathLike[str]", *, history: bool = True) -> None:
        """Write the model to one .safetensors file. An old file is replaced only when the new one is complete.

        `history=False` leaves the training counts out: then lists need `history=`.
        """
        from dcpf.model.files import save

        save(self, path, history=history)


def fitted_of(model: Any) -> FittedModel:
    """A fitted model itself, or that of an estimator, which must have been fitted."""
    if isinstance(model, FittedModel):
        return model
    if not hasattr(model, "fitted_"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
    found: FittedModel = model.fitted_
    return found


def describe_data(matrix: sparse.csr_array) -> dict[str, Any]:
    """What training counts are: sizes, and a checksum to recognise them by."""
    digest, piece = hashlib.blake2b(digest_size=16), 2**20
    for array in (matrix.indptr, matrix.indices, matrix.data):
        for start in range(0, len(array), piece):  # the whole may be more than fits into memory
            digest.update(np.ascontiguousarray(array[start : start + piece], dtype=np.int64).data)
    users, items = matrix.shape
    total, largest = int(matrix.data.sum()), int(matrix.data.max())
    sizes = {"users": int(users), "items": int(items), "entries": int(matrix.nnz), "total": total, "largest": largest}
    return {**sizes, "checksum": digest.hexdigest()}
