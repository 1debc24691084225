"""Who asks, and what is known of them: from fresh counts, from the model, or nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Counts, Id
from dcpf.inference.updates import Gammas
from dcpf.model.fitted import Fitted, Floats

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Asked:
    """Those who ask, each with q(w) and with where they were found, -1 where they were not."""

    ids: list[Id | None]  # as the counts or the model spell them; None for a mere history
    fresh: Counts | None
    in_fresh: Rows
    in_model: Rows
    shape: Floats
    rate: Doubles

    @property
    def mean(self) -> Floats:
        """E[w]."""
        return (self.shape / self.rate).astype(self.shape.dtype)

    def moments(self) -> tuple[Doubles, Doubles]:
        """E[w] and E[w^2]."""
        return moments(self.shape, self.rate)

    def alone(self) -> Gammas:
        """q(w) of the first, as the updates take it."""
        half = float(self.rate[0].min()) / 2.0
        return Gammas(self.shape[:1], np.array([half]), self.rate[0] - half)


class Asking(Fitted):
    """Users by id, each with q(w) and what they already have."""

    def _asked(self, users: Any, history: Any, *, popular: bool = False) -> Asked:
        """Look for users in fresh counts first, then in the model. Whoever is in neither is an error, or average."""
        history = as_mapping(history)
        wanted = None if users is None else one_or_several(users, "users")
        fresh = None if history is None else self._fresh(history, wanted)
        if wanted is None:
            wanted = list(self.users_ if fresh is None else fresh.users)
        nowhere = np.full(len(wanted), -1, dtype=np.int64)
        in_fresh = nowhere if fresh is None else fresh.users.find_all(wanted)
        in_model = nowhere if (in_fresh >= 0).all() else self.users_.find_all(wanted)
        if fresh is not None and wanted and not (in_fresh >= 0).any():
            raise ValueError(
                f"the history has none of those who ask, {wanted[0]!r} for one: its users are such as "
                f"{fresh.users[0]!r}; leave users out to ask for all of them"
            )
        lost = (in_fresh < 0) & (in_model < 0)
        if lost.any() and not popular:
            self.users_.positions([wanted[j] for j in np.flatnonzero(lost)], "user")  # raises, naming the first
        ids: list[Id | None] = [
            self.users_[m] if m >= 0 > f else fresh.users[f] if fresh is not None and f >= 0 else one
            for one, f, m in zip(wanted, in_fresh.tolist(), in_model.tolist(), strict=True)
        ]
        shape, rate = self._posterior(fresh, in_fresh, in_model)
        if users is None and isinstance(history, Mapping):
            ids = [None]
        return Asked(ids, fresh, in_fresh, in_model, shape, rate)

    def _known(self, places: Rows) -> Asked:
        """Users of the model by where they stand there."""
        nowhere = np.full(len(places), -1, dtype=np.int64)
        return Asked(
            [self.users_[place] for place in places.tolist()],
            None,
            nowhere,
            places,
            *self._posterior(None, nowhere, places),
        )

    def _fresh(self, history: Any, wanted: list[Any] | None) -> Counts:
        """Fresh counts; a mapping is the history of the one who asks."""
        if isinstance(history, Mapping):
            if wanted is not None and len(wanted) != 1:
                raise ValueError(
                    f"a mapping is the history of one user, but {len(wanted):,} ask; give a table of users, items "
                    "and counts"
                )
            return self._new_user(history, 0 if wanted is None else wanted[0])
        words = history if isinstance(history, list) else [history]
        if words and all(isinstance(one, str | bytes) for one in words):
            raise TypeError(
                f"history must be a mapping of items to counts, a Counts, a table or a matrix, found {history!r}"
            )
        return self._new_users(history)

    def _posterior(self, fresh: Counts | None, in_fresh: Rows, in_model: Rows) -> tuple[Floats, Doubles]:
        """Shape and rate of q(w), row by row."""
        W = self.user_posterior_
        shape, rate = W.shape[np.maximum(in_model, 0)], W.row_rate[np.maximum(in_model, 0)][:, None] + W.column_rate
        given = in_fresh >= 0
        if fresh is not None:
            given[given] = np.diff(fresh.matrix.indptr)[in_fresh[given]] > 0
        if fresh is not None and given.any():
            folded = self._fold_in(sparse.csr_array(fresh.matrix[in_fresh[given]]))
            shape[given], rate[given] = folded.shape, folded.row_rate[:, None] + folded.column_rate
        lost = ~given & ((in_model < 0) | (in_fresh >= 0))
        if lost.any():  # nothing is known of them: the average user has what is popular
            rate[lost] = self._typical_rates[0] + W.column_rate
            shape[lost] = self.user_factors.mean(axis=0, dtype=np.float64) * rate[lost]
        return shape, rate

    def _seen(self, asked: Asked) -> sparse.csr_array:
        """The counts of those who ask, from fresh ones where there are any, else from the training counts."""
        from_model, given = (asked.in_fresh < 0) & (asked.in_model >= 0), asked.in_fresh >= 0
        if asked.fresh is None and from_model.all():
            return rows_of(self._training_counts(), asked.in_model)
        if asked.fresh is not None and given.all():
            return rows_of(asked.fresh.matrix, asked.in_fresh)
        parts = [self._nobody().matrix]
        rows = np.zeros(len(asked.ids), dtype=np.int64)  # the first row is empty
        if asked.fresh is not None and given.any():
            rows[given] = sum(part.shape[0] for part in parts) + np.arange(int(given.sum()))
            parts.append(asked.fresh.matrix[asked.in_fresh[given]])
        if from_model.any():
            rows[from_model] = sum(part.shape[0] for part in parts) + np.arange(int(from_model.sum()))
            parts.append(self._training_counts()[asked.in_model[from_model]])
        return sparse.csr_array(sparse.vstack(parts, format="csr")[rows])

    def _training_counts(self) -> sparse.csr_array:
        if self.history_ is None:
            raise ValueError(
                "the model was saved without its training counts, so it does not know what its users already have: "
                + (
                    "give these counts (history=, --history)"
                    if self._excitation is not None
                    else "give these counts (history=, --history), or let known items come up again "
                    "(exclude_seen=False, --include-seen)"
                )
            )
        return self.history_


def rows_of(matrix: sparse.csr_array, rows: Rows) -> sparse.csr_array:
    """Equivalent to matrix[rows]. One row is not copied, and found without the checks that take longer than that."""
    if len(rows) != 1:
        return matrix[rows]
    begin, end = matrix.indptr[rows[0] : rows[0] + 2].tolist()
    part = (matrix.data[begin:end], matrix.indices[begin:end], np.array([0, end - begin], matrix.indptr.dtype))
    return sparse.csr_array(part, shape=(1, matrix.shape[1]))


def moments(shape: Floats, rate: Doubles) -> tuple[Doubles, Doubles]:
    """E[w] and E[w^2] of gammas."""
    wide = shape.astype(np.float64)
    return wide / rate, wide * (wide + 1.0) / rate**2


def as_mapping(history: Any) -> Any:
    """A pandas Series of counts by item as a mapping; any other history as it is."""
    is_series = getattr(history, "ndim", 2) == 1 and hasattr(history, "to_dict")
    return history.to_dict() if is_series else history


def is_one(ids: object) -> bool:
    """Whether this is a single id, and not a list of them."""
    return isinstance(ids, str | int | np.integer)


def one_or_several(ids: Any, name: str) -> list[Any]:
    """The ids as a list."""
    if is_one(ids):
        return [ids.item() if isinstance(ids, np.generic) else ids]
    if isinstance(ids, bytes | Mapping) or not isinstance(ids, Iterable) or hasattr(ids, "columns"):
        raise TypeError(f"{name} must be an id (integer or string) or a list of ids, found {ids!r}")
    return [one.item() if isinstance(one, np.generic) else one for one in ids]
