"""New data without a refit: users and items that come, change, or are to be forgotten."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from dcpf.counts import Counts, Id, Strings, count_matrix
from dcpf.inference.updates import Gammas
from dcpf.model.fitted import Fitted, has_ids

Places = NDArray[np.int64]
Names = tuple[Strings | None, Places]


class Updating(Fitted):
    """One side is learned anew for some rows, the other side is held fixed.

    Rows of factors go with `users_` and `items_`, whose order may change: ascending ids stay ascending. While a model
    is updated nobody may ask it, in another thread say; update a copy and put it in its place.
    """

    def partial_fit_users(self, X: Any, users: Iterable[Id] | None = None) -> Self:
        """Learn new users, and known ones anew, from their counts as they are now. The items stay as they are.

        X holds the whole history of each of these users: a `Counts`, a table, or a matrix with a column for each item
        of the model, whose rows are `users`. What was known of them before is replaced. The result is what
        iterations of `fit` would come to with the factors of all items fixed. Items that the model does not know are
        left out; see `partial_fit_items`.
        """
        check_is_fitted(self)
        counts = self._rows_with_ids(X, users)
        folded = self._fold_in(counts.matrix)
        ids, old, new = self.users_.union(counts.users)
        W, history = merge(self.user_posterior_, old, folded, new, len(ids)), self.history_
        if history is not None:
            history = replace_rows(history, old, counts.matrix, new, len(ids))
        self.users_, self.history_ = ids, history  # all is there before anything is replaced
        self._keep(W, self.item_posterior_)
        return self

    def partial_fit_items(self, X: Any, items: Iterable[Id] | None = None) -> Self:
        """Learn new items, and known ones anew, from their counts as they are now. The users stay as they are.

        X is users x items, as everywhere, and holds all counts of these items: a `Counts`, a table, or a matrix with
        a row for each user of the model, whose columns are `items`. Users that the model does not know are left out;
        see `partial_fit_users`. Users do not learn from these counts before `partial_fit_users` or the next fit;
        until then `explain` counts the items in as if they had.
        """
        check_is_fitted(self)
        counts = self._columns_with_ids(X, items)
        by_item = sparse.csr_array(counts.matrix.T)
        folded = self._fold_in(by_item, items=True)
        ids, old, new = self.items_.union(counts.items)
        H, history, names = merge(self.item_posterior_, old, folded, new, len(ids)), self.history_, self.names_
        if history is not None:
            history = sparse.csr_array(replace_rows(sparse.csr_array(history.T), old, by_item, new, len(ids)).T)
        if names is not None or counts.names is not None:
            names = merge_names((names, old), (counts.names, new), len(ids))
        known = self._excitation
        self.items_, self.names_, self.history_ = ids, names, history
        self._keep(self.user_posterior_, H)
        # Learned anew when it is asked for, if there are counts to learn from
        self._excitation = None if known is None or history is not None else known.moved(old, len(ids))
        return self

    def forget_users(self, users: Iterable[Id]) -> Self:
        """Remove these users from the model: their ids, counts and factors.

        What all items have in common was learned from many users, and is not learned anew. What `describe` says of
        the training data is about all that there were, these users included.
        """
        check_is_fitted(self)
        gone = self.users_.positions(users, "user")
        stay = np.setdiff1d(np.arange(len(self.users_)), gone)
        if not len(stay):
            raise ValueError("these are all users of the model: nothing would be left of it")
        W, ids, history = self.user_posterior_, self.users_.take(stay), self.history_
        W = replace(W, shape=W.shape[stay], row_rate=W.row_rate[stay])
        self.users_, self.history_ = ids, None if history is None else sparse.csr_array(history[stay])
        self._keep(W, self.item_posterior_)
        return self

    def _rows_with_ids(self, X: Any, users: Iterable[Id] | None) -> Counts:
        """Counts of the users to learn, with the columns of the model."""
        if has_ids(X):
            no_further_ids(users, "users")
            return self._new_users(X)
        matrix = self._new_users(X).matrix
        return Counts.from_matrix(matrix, _needed(users, "users", "row"), self.items_, allow_empty=True)

    def _columns_with_ids(self, X: Any, items: Iterable[Id] | None) -> Counts:
        """Counts of the items to learn, with the rows of the model."""
        if has_ids(X):
            no_further_ids(items, "items")
            return self._like_model(Counts.of(X, allow_empty=True), axis=0)
        matrix = count_matrix(X, allow_empty=True)
        if matrix.shape[0] != len(self.users_):
            raise ValueError(
                f"X has {matrix.shape[0]:,} rows, but the model has {len(self.users_):,} users: give a row for each, "
                "or a table with ids"
            )
        return Counts.from_matrix(matrix, self.users_, _needed(items, "items", "column"), allow_empty=True)


def no_further_ids(ids: object, name: str) -> None:
    """Refuse ids beside counts that have their own."""
    if ids is not None:
        raise ValueError(f"X brings its own ids, so {name} must be left out")


def _needed(ids: Iterable[Id] | None, name: str, what: str) -> Iterable[Id]:
    if ids is None:
        raise ValueError(f"X is a matrix: pass {name}=, the id of each {what}, to say whose counts these are")
    return ids


def merge(old: Gammas, old_places: Places, new: Gammas, new_places: Places, rows: int) -> Gammas:
    """Rows of both at their places; where both have one, the new row is taken. The old ones keep their means."""
    shape, row_rate = np.empty((rows, old.shape.shape[1]), dtype=old.shape.dtype), np.empty(rows)
    for gammas, places in ((old.with_column_rate(new.column_rate), old_places), (new, new_places)):
        shape[places], row_rate[places] = gammas.shape, gammas.row_rate
    return Gammas(shape, row_rate, new.column_rate)


def replace_rows(
    old: sparse.csr_array, old_places: Places, new: sparse.csr_array, new_places: Places, rows: int
) -> sparse.csr_array:
    """Counts of both at their places; where both have a row, the new row is taken whole."""
    source = np.full(rows, -1, dtype=np.int64)
    source[old_places] = np.arange(old.shape[0])
    source[new_places] = old.shape[0] + np.arange(new.shape[0])
    return sparse.csr_array(sparse.vstack([old, new], format="csr")[source])


def merge_names(old: Names, new: Names, rows: int) -> Strings:
    """Names of both at their places; where both have one, the new name is taken."""
    merged = [""] * rows
    for names, places in (old, new):
        for place, name in zip(places.tolist(), names or (), strict=names is not None):
            merged[place] = name or merged[place]
    return Strings.of(merged)
