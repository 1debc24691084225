"""Who asks, and what is known of them: from fresh counts, from the model, or nothing."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Counts, Id, Ids
from dcpf.inference.updates import Gammas
from dcpf.model.fitted import Fitted


@dataclass(frozen=True)
class Places:
    """Where those who ask were found: rows of the fresh counts, and rows of the model; -1 where they are not."""

    fresh: NDArray[np.int64]
    model: NDArray[np.int64]

    @classmethod
    def of(cls, asked: list[Id], known: Ids, fresh: Ids | None, *, popular: bool) -> "Places":
        """Look for them in both. Whoever is in neither is an error, unless `popular`."""
        nowhere = np.full(len(asked), -1, dtype=np.int64)
        in_fresh = nowhere if fresh is None else fresh.find_all(asked)
        in_model = nowhere if (in_fresh >= 0).all() else known.find_all(asked)
        places = cls(in_fresh, in_model)
        if places.lost.any() and not popular:
            known.positions([asked[j] for j in np.flatnonzero(places.lost)], "user")  # raises, naming the first
        return places

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Who was found nowhere."""
        return (self.fresh < 0) & (self.model < 0)


class Asking(Fitted):
    """Users by id, each with q(w) and what they already have."""

    def _asked(self, users: Any, fresh: Counts | None) -> list[Id]:
        if users is None:
            return list(self.users_ if fresh is None else fresh.users)
        several = [users] if is_one(users) else users
        return [one.item() if isinstance(one, np.generic) else one for one in several]

    def _posterior(self, asked: list[Id], fresh: Counts | None, *, popular: bool = False) -> tuple[Gammas, Places]:
        """q(w) of those who ask, and where each was found."""
        places = Places.of(asked, self.users_, None if fresh is None else fresh.users, popular=popular)
        W = self.user_posterior_
        shape = W.shape[np.maximum(places.model, 0)]
        row_rate = W.row_rate[np.maximum(places.model, 0)]
        if fresh is not None and (given := places.fresh >= 0).any():
            folded = self._fold_in(sparse.csr_array(fresh.matrix[places.fresh[given]])).with_column_rate(
                W.column_rate
            )
            shape[given], row_rate[given] = folded.shape, folded.row_rate
        if places.lost.any():  # the average user has what is popular
            mean, row_rate[places.lost] = self.user_factors.mean(axis=0, dtype=np.float64), self._typical_rates[0]
            shape[places.lost] = mean * (self._typical_rates[0] + W.column_rate)
        return Gammas(shape, row_rate, W.column_rate), places

    def _seen(self, places: Places, fresh: Counts | None) -> sparse.csr_array:
        """The counts of those who ask, from fresh ones where there are any, else from the training counts."""
        empty = self._nobody(1).matrix
        from_model = (places.fresh < 0) & (places.model >= 0)
        sources = [
            empty if fresh is None else fresh.matrix,
            self._training_counts() if from_model.any() else empty,
            empty,
        ]
        rows = np.where(from_model, sources[0].shape[0] + places.model, places.fresh)  # -1 is the last, empty row
        return sparse.csr_array(sparse.vstack(sources, format="csr")[rows])

    def _training_counts(self) -> sparse.csr_array:
        if self.history_ is None:
            raise ValueError(
                "the model was saved without its training counts, so it does not know what its users already have: "
                "pass history=, or exclude_seen=False to recommend() if known items may come up again"
            )
        return self.history_


def is_one(ids: object) -> bool:
    """Whether this is a single id, and not a list of them."""
    return isinstance(ids, str | int | np.integer)
