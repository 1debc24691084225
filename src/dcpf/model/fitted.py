"""What a fit leaves behind, and what everything that a fitted model can do builds on."""

import hashlib
import inspect
import numbers
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from dcpf.counts import Counts, Id, Ids, InvalidCounts, Strings, UnknownId, count_matrix
from dcpf.counts.occurring import occurring
from dcpf.elements import Element, Totals
from dcpf.inference.data import Rows
from dcpf.inference.excitation import Excitation, learn_excitation
from dcpf.inference.fold_in import fold_in
from dcpf.inference.posterior import sessions_at, sessions_of
from dcpf.inference.settings import Settings
from dcpf.inference.updates import Factors, Gammas, update_factors
from dcpf.kernels.lookup import pair_rates
from dcpf.kernels.threads import Threads
from dcpf.ranking.lists import Catalogue

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]
T = TypeVar("T")

AVERAGE = "average"  # the one user of a model whose users are elsewhere


class Fitted:
    """The learned state of a model. Rows of W are `users_`, rows of H are `items_`."""

    n_jobs: int | None
    element_: Element
    bounds_: NDArray[np.float64]
    n_iter_: int
    users_: Ids
    items_: Ids
    names_: Strings | None
    history_: sparse.csr_array | None  # the training counts; None if they were not kept
    user_posterior_: Gammas
    item_posterior_: Gammas
    n_features_in_: int
    _settings_: Settings
    _data_: dict[str, Any]  # what the training counts were: sizes and a checksum
    _typical_rates: tuple[float, float]  # the mean b of users, and of items, that have entries
    _stream_: tuple[Totals, float] | None = None  # what `partial_fit` goes on with besides; None after a fit
    _derived: dict[str, Any]  # computed when asked for
    _excitation: Excitation | None = None  # None where there is none, or where it is to be learned when asked for

    def _keep(self, W: Gammas, H: Gammas) -> None:
        """Take q(W) and q(H) over; their means are computed when they are asked for."""
        self.user_posterior_, self.item_posterior_ = W, H
        self.n_features_in_ = len(H.shape)
        self._derived = {}

    def _keep_all(self, counts: Counts, W: Gammas, H: Gammas) -> None:
        """Take q(W) and q(H) over, and what they were learned from."""
        self.users_, self.items_, self.names_ = counts.users, counts.items, counts.names
        self.history_ = counts.matrix
        self._data_ = describe_data(counts.matrix)
        self._typical_rates = (
            float(W.row_rate[np.diff(counts.matrix.indptr) > 0].mean()),
            float(H.row_rate[occurring(counts.matrix.indices)].mean()),
        )
        self._excitation = None
        self._keep(W, H)

    def _keep_items(self, items: Catalogue, W: Gammas, H: Gammas) -> None:
        """Take q(H) over, with one user who stands for all: the others are elsewhere."""
        self.users_, self.items_, self.names_ = Ids.of([AVERAGE]), items.ids, items.names
        self.history_ = None
        self._typical_rates = (float(W.row_rate[0]), float(H.row_rate.mean()))
        self._excitation = None
        self._keep(W, H)

    def _average_user(self) -> Gammas:
        """q(w) of a user who has what users have on average."""
        W, rate = self.user_posterior_, self._typical_rates[0]
        mean = self.user_factors.mean(axis=0, dtype=np.float64, keepdims=True)
        return Gammas((mean * (rate + W.column_rate)).astype(W.shape.dtype), np.array([rate]), W.column_rate)

    def __getstate__(self) -> Any:
        """A pickle or a copy computes what is derived anew."""
        state: Any = super().__getstate__()
        return state | {"_derived": {}} if "_derived" in state else state

    def _need_fit(self) -> None:
        """Like check_is_fitted, which takes as long as a short list."""
        if "_derived" not in vars(self):
            check_is_fitted(self)

    def _once(self, what: str, make: Callable[[], T]) -> T:
        """What follows from q(W) and q(H), made when it is first asked for."""
        self._need_fit()
        if what not in self._derived:
            self._derived[what] = make()
        found: T = self._derived[what]
        return found

    @property
    def user_factors(self) -> Floats:
        """E[W], users x K."""
        return self._once("W", lambda: self.user_posterior_.mean)

    @property
    def item_factors(self) -> Floats:
        """E[H], items x K."""
        return self._once("H", lambda: self.item_posterior_.mean)

    def _column_sums(self) -> tuple[Doubles, Doubles]:
        """E[W] summed over users, and E[H] over items."""
        W, H = self.user_factors, self.item_factors
        return self._once("sums", lambda: (W.sum(axis=0, dtype=np.float64), H.sum(axis=0, dtype=np.float64)))

    @property
    def _item_side(self) -> Factors:
        """What the users' half of an iteration needs of q(H)."""
        with Threads(self.n_jobs) as threads:
            prior = self._settings_.shape_prior[1]
            return self._once("item side", lambda: update_factors(self.item_posterior_, prior, threads))

    @property
    def components_(self) -> Floats:
        """E[H] transposed, K x items, as scikit-learn names it."""
        return self.item_factors.T

    @property
    def excitation_(self) -> Excitation | None:
        """What items add to the rates of others: `sources`, `strength`. None for a model of factors alone.

        A fit learns it last. After `partial_fit` and `partial_fit_items` it is learned anew when it is asked for.
        """
        self._need_fit()
        if self._excitation is None and self._settings_.n_neighbors and self.history_ is not None:
            with Threads(self.n_jobs) as threads:
                self._learn_excitation(threads)
        return self._excitation

    def _learn_excitation(self, threads: Threads) -> None:
        settings, factors = self._settings_, (self.user_factors, self.item_factors)
        if settings.n_neighbors and self.history_ is not None:
            self._excitation = learn_excitation(
                self.history_, settings.n_neighbors, settings.neighbor_prior, factors, self.element_, threads
            )
            for what in ("targets", "strongest"):
                self._derived.pop(what, None)

    def _kept(self, W: Floats) -> Floats:
        """Of E[W], what the factors keep beside excitation."""
        excitation = self.excitation_
        return W if excitation is None else (W * excitation.share).astype(W.dtype)

    def _rates(self, W: Floats, pairs: sparse.csr_array, seen: sparse.csr_array, threads: Threads) -> Doubles:
        """The rates at the stored entries of `pairs`, of users with these factors and counts; never quite 0."""
        rates, excitation = np.empty(pairs.nnz), self.excitation_
        factors = (self._kept(W), self.item_factors)
        threads.run(pair_rates, pairs.indptr, pairs.indptr, pairs.indices, factors, rates)
        if excitation is not None:
            rates += excitation.at(pairs, excitation.of_users(seen), threads)
        return np.maximum(rates, np.finfo(np.float64).tiny)

    def _total_rate(self, W: Floats, seen: sparse.csr_array) -> float:
        """The sum of the rates of users with these factors and counts, with all items."""
        sums = (X.sum(axis=0, dtype=np.float64) for X in (self._kept(W), self.item_factors))
        total = float(np.dot(*sums))
        if (excitation := self.excitation_) is not None:
            total += float(excitation.by_user(excitation.of_users(seen)).sum())
        return total

    def _nothing_of(self, users: int) -> sparse.csr_array:
        """What users have of whom nothing is known."""
        if self.excitation_ is not None:
            raise ValueError(
                "the model was saved without its training counts, and its rates depend on them: give history="
            )
        return sparse.csr_array((users, len(self.items_)), dtype=np.int64)

    def _sessions(self, counts: sparse.csr_array, W: Gammas) -> Doubles:
        """E[n] behind the counts of users with this q(W), where these are all they have."""
        data, element = Rows.from_matrix(counts), self.element_
        with Threads(self.n_jobs) as threads:
            if self.excitation_ is None:
                users = update_factors(W, self._settings_.shape_prior[0], threads)
                return sessions_of(data, users, self._item_side, element, threads)
            return sessions_at(data, self._rates(W.mean, counts, counts, threads), element, threads)

    @property
    def _catalogue(self) -> Catalogue:
        return Catalogue(self.items_, self.names_)

    def _fold_in(self, matrix: sparse.csr_array, *, items: bool = False) -> Gammas:
        """q(w) of new users, one row of counts each, with the items held fixed; or of new items, the other way."""
        prior, rate = self._settings_.shape_prior[items], self._typical_rates[items]
        with Threads(self.n_jobs) as threads:
            W = self.user_posterior_
            other = update_factors(W, self._settings_.shape_prior[0], threads) if items else self._item_side
            data = Rows.from_matrix(matrix)
            return fold_in(data, other, self.element_, prior, rate, self._settings_.learn_rates, threads)

    def _new_users(self, X: Any) -> Counts:
        """Counts of whatever users, with the columns of the model.

        A matrix must have a column for each item of the model. Where there are ids, items that the model does not
        know are left out, and it is said how many.
        """
        if not has_ids(X):
            matrix = count_matrix(X, allow_empty=True)
            validate_data(self, matrix, skip_check_array=True, reset=False)
            return Counts.from_matrix(matrix, items=self.items_, allow_empty=True)
        return self._like_model(Counts.of(X, allow_empty=True), axis=1)

    def _new_user(self, history: Mapping[Any, Any], user: Id) -> Counts:
        """The counts of one user, given by item, with the columns of the model."""
        if not history:
            return replace(self._nobody(), users=Ids.of([user], "user"))
        items = [self._id_of(one) for one in history]
        try:
            counts = Counts.from_matrix([list(history.values())], [user], items, allow_empty=True)
        except (TypeError, ValueError) as error:
            raise _fault_of(history) or error from None
        return self._like_model(counts, axis=1)

    def _id_of(self, item: Any) -> Any:
        """The id of an item that is called by its name; any other as it stands."""
        if item in self.items_ or self.names_ is None or not isinstance(item, str):
            return item
        try:
            return self._catalogue.find(item)
        except UnknownId:
            return item

    def _nobody(self) -> Counts:
        """One user without any count."""
        nothing = sparse.csr_array((1, len(self.items_)), dtype=np.int64)
        return Counts.from_matrix(nothing, items=self.items_, allow_empty=True)

    def _like_model(self, counts: Counts, axis: int) -> Counts:
        """The same with the rows (axis 0) or columns (axis 1) of the model: what it does not know is left out."""
        what, known, given = (("users", self.users_, counts.users), ("items", self.items_, counts.items))[axis]
        if given == known:
            return counts
        places = known.find_all(given)
        unknown = np.flatnonzero(places < 0)
        if len(unknown):
            one = given[int(unknown[0])]
            named = axis == 1 and self._id_of(one) in known
            warn_caller(
                f"{len(unknown):,} of {len(given):,} {what} are unknown to the model and were skipped, such as "
                f"{one!r}{f', which is a name: tables have ids, here {self._id_of(one)!r}' if named else ''}"
            )
        entries = counts.matrix.tocoo()
        rows, columns = (places[entries.row], entries.col) if axis == 0 else (entries.row, places[entries.col])
        users, items = (known, counts.items) if axis == 0 else (counts.users, known)
        kept = (rows >= 0) & (columns >= 0)
        index, shape = (rows[kept], columns[kept]), (len(users), len(items))
        matrix = sparse.csr_array((entries.data[kept], index), shape=shape)
        names = counts.names if axis == 0 else None
        return replace(Counts.from_matrix(matrix, users, items, allow_empty=True), names=names)


def describe_data(matrix: sparse.csr_array) -> dict[str, Any]:
    """What the training counts were: sizes, and a checksum to know them again by."""
    digest, piece = hashlib.blake2b(digest_size=16), 2**20
    for array in (matrix.indptr, matrix.indices, matrix.data):
        for start in range(0, len(array), piece):  # which may be more than fits into memory
            digest.update(np.ascontiguousarray(array[start : start + piece], dtype=np.int64).data)
    users, items = matrix.shape
    total, largest = int(matrix.data.sum()), int(matrix.data.max())
    sizes = {"users": int(users), "items": int(items), "entries": int(matrix.nnz), "total": total, "largest": largest}
    return {**sizes, "checksum": digest.hexdigest()}


def check_whole(*, least: int = 1, **given: object) -> None:
    """Refuse what is not a whole number, or less than the least there may be, by its name."""
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
            raise ValueError(f"{name} must be a whole number >= {least}, found {value!r}")


def _fault_of(history: Mapping[Any, Any]) -> InvalidCounts | None:
    """The error that names the first item of a history whose count is none."""
    for item, count in history.items():
        try:
            count_matrix([[count]], allow_empty=True)
        except (TypeError, ValueError):
            return InvalidCounts(
                f"history: the count of item {item!r} is {count!r}; counts are whole numbers from 0 to 2^31-1"
            )
    return None


def generator(random_state: Any) -> np.random.Generator:
    """The generator of a parameter `random_state`. numpy itself takes a RandomState only from 2.2 on."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state must be a whole number from 0, a Generator, a RandomState or None, found {random_state!r}"
        ) from None


def warn_caller(message: str, kind: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of dcpf that called into it."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("dcpf."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)


def has_ids(X: Any) -> bool:
    """Whether these counts name their users and items, as a `Counts` and a table do, and a matrix does not."""
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return False
    from dcpf.counts.tables import is_table

    return isinstance(X, Counts) or is_table(X)
