"""Learning from a part of the users at a time: for data that arrive, or that are too many for a whole fit."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from dcpf import elements
from dcpf.counts import Counts, Id, Ids
from dcpf.elements import Element, Totals
from dcpf.inference import stochastic
from dcpf.inference.data import Data, Rows
from dcpf.inference.settings import Settings
from dcpf.inference.stochastic import Stream
from dcpf.inference.updates import Gammas, update_factors
from dcpf.inference.users import Users
from dcpf.kernels.threads import Threads
from dcpf.model.fitted import check_whole, generator, has_ids
from dcpf.model.updating import Places, Updating, merge, merge_names, no_further_ids, replace_rows

_PASSES_OF_A_FIT = 20.0  # a fitted model has settled: new users move it as late batches do


class Streaming(Updating):
    """The state of a stream is the model itself, and how often its counts were seen."""

    element: str | Element
    dtype: Any
    random_state: Any

    @property
    def _size(self) -> int:
        raise NotImplementedError

    def _settings(self) -> Settings:
        raise NotImplementedError

    def partial_fit(
        self, X: Any, y: object = None, *, users: Iterable[Id] | None = None, total_users: int | None = None
    ) -> Self:
        """Learn from some users, new or known, and keep what was learned from others: a step of stochastic VBEM.

        X holds all counts of these users by now: a `Counts`, a table, or a matrix whose rows are `users` (without
        `users`, new ones that are numbered on). Call it with batch after batch, in random order if they are there
        already, and pass after pass over them as long as `bounds_` rises, which has an estimate of the bound after
        each batch. `total_users` is how many users there will be in all: with it the first batches count as the part
        that they are, and the model becomes clearly better than without.

        Twenty batches a pass are good, and more than ten passes: the first ten only find out what there is. Twenty
        passes come about as far as hundreds of plain iterations; `fit` with `warm_start=True` goes on from there.
        After a fit, or on a loaded model, it goes on from what that has learned. New items are taken in as they come,
        if X has ids.

        There are no checkpoints here: `save` after a batch and `dcpf.load` before the next change no bit, if
        `random_state` is a number.
        """
        del y
        settings = self._settings()
        if total_users is not None:
            check_whole(total_users=total_users)
        first = not hasattr(self, "item_posterior_")
        counts = self._with_users(Counts.of(X) if first or has_ids(X) else self._new_users(X), X, users)
        joined = _Joined.of(counts) if first else self._join(counts)
        with Threads(self.n_jobs) as threads:
            stream = self._begin(joined.batch) if first else self._stream(joined, threads)
            data, rows = Data.from_matrix(joined.batch), Rows.from_matrix(joined.batch)
            entries = round(joined.whole.nnz * max(1.0, (total_users or 0) / len(joined.whole.users)))
            stream, W = stochastic.step(stream, data, rows, entries, settings, threads)
        if not np.isfinite(stream.bound):
            raise FloatingPointError(f"the bound is {stream.bound}; the model is as it was. Try dtype='float64'")
        if not first:
            W = merge(self.user_posterior_, joined.old_users, W, joined.new_users, len(joined.whole.users))
        self.bounds_ = np.append([] if first else self.bounds_, stream.bound)
        self.n_iter_ = len(self.bounds_)
        self.element_, self._stream_, self._settings_ = stream.element, (stream.totals, stream.passes), settings
        self._keep_all(joined.whole, W, stream.H)
        return self

    def _join(self, counts: Counts) -> "_Joined":
        """The counts of the model and these together, users and items by id."""
        items, old_items, new_items = self.items_.union(counts.items)
        users, old_users, new_users = self.users_.union(counts.users)
        batch = _columns_at(counts.matrix, new_items, len(items))
        before = _columns_at(self._known_counts(), old_items, len(items))
        matrix, names = replace_rows(before, old_users, batch, new_users, len(users)), None
        if counts.names is not None or self.names_ is not None:
            names = merge_names((self.names_, old_items), (counts.names, new_items), len(items))
        return _Joined(Counts(matrix, users, items, names), batch, old_users, new_users, old_items)

    def _known_counts(self) -> sparse.csr_array:
        if self.history_ is None:
            raise ValueError("the model was saved without its training counts, and cannot learn more: fit it again")
        return self.history_

    def _with_users(self, counts: Counts, X: Any, users: Iterable[Id] | None) -> Counts:
        """The counts with the ids of their users."""
        if has_ids(X):
            no_further_ids(users, "users")
            return counts
        if users is None:
            known = self.users_ if hasattr(self, "users_") else Ids.numbered(0)
            if known.are_strings:
                raise ValueError(
                    "X is a matrix and the users of the model have names: pass users=, the id of each row"
                )
            first = int(np.max(known.values)) + 1 if len(known) else 0
            users = np.arange(first, first + counts.shape[0])
        return Counts.from_matrix(counts.matrix, users, counts.items)

    def _begin(self, batch: sparse.csr_array) -> Stream:
        rng, dtype, items = generator(self.random_state), np.dtype(self.dtype), int(batch.shape[1])
        level = np.sqrt(batch.nnz / (batch.shape[0] * items * self._size))
        start = (level * rng.exponential(size=(items, self._size))).astype(dtype)
        return stochastic.begin(elements.get(self.element), start)

    def _stream(self, joined: "_Joined", threads: Threads) -> Stream:
        """What the model has learned so far, with room for the items that are new."""
        totals, passes = self._stream_ or self._stream_of_fit(threads)
        H, items = self.item_posterior_, len(joined.whole.items)
        stream = Stream(self.element_, H, totals, passes, -np.inf)
        if items == len(H.shape):
            return stream
        # A new item has what an item has on average, a little different in each component
        rng = generator(self.random_state)
        shape = (H.shape.mean(axis=0) * rng.exponential(size=(items, H.shape.shape[1]))).astype(H.shape.dtype)
        row_rate = np.full(items, self._typical_rates[1])
        shape = np.maximum(shape, shape.dtype.type(self._settings_.shape_prior[1]))
        shape[joined.old_items], row_rate[joined.old_items] = H.shape, H.row_rate
        return replace(stream, H=Gammas(shape, row_rate, H.column_rate))

    def _stream_of_fit(self, threads: Threads) -> tuple[Totals, float]:
        """To go on from a fit: one sweep tells what the element was learned from."""
        W, H, element = self.user_posterior_, self.item_posterior_, self.element_
        items = update_factors(H, self._settings_.shape_prior[1], threads)
        users = Users(Data.from_matrix(self._known_counts()), self._settings_, threads)
        return users.visit(W, items, element)[1].totals, _PASSES_OF_A_FIT


@dataclass(frozen=True)
class _Joined:
    """A batch and all counts with it, and where the rows and columns of both stand among these."""

    whole: Counts
    batch: sparse.csr_array  # with the columns of all
    old_users: Places
    new_users: Places
    old_items: Places

    @classmethod
    def of(cls, counts: Counts) -> Self:
        """The first batch is all there is."""
        nobody = np.empty(0, dtype=np.int64)
        return cls(counts, counts.matrix, nobody, np.arange(counts.shape[0]), nobody)


def _columns_at(matrix: sparse.csr_array, places: Places, columns: int) -> sparse.csr_array:
    """The same rows with columns at other places, ascending in each row as they were."""
    wide = sparse.csr_array((matrix.data, places[matrix.indices], matrix.indptr), shape=(matrix.shape[0], columns))
    wide.sort_indices()
    return wide
