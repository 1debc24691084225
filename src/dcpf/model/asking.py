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
        lost = np.flatnonzero((in_fresh < 0) & (in_model < 0))
        if len(lost) and not popular:
            known.positions([asked[j] for j in lost], "user")  # raises, naming the first
        return cls(in_fresh, in_model)

    @property
    def new(self) -> NDArray[np.bool_]:
        """Who is folded in: all with fresh counts, and those who are not in the model."""
        return (self.fresh >= 0) | (self.model < 0)


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
        if places.new.any():
            empty = self._nobody(1).matrix
            counts = sparse.vstack([empty if fresh is None else fresh.matrix, empty], format="csr")
            folded = self._fold_in(sparse.csr_array(counts[places.fresh[places.new]])).with_column_rate(W.column_rate)
            shape[places.new], row_rate[places.new] = folded.shape, folded.row_rate
        return Gammas(shape, row_rate, W.column_rate), places

    def _seen(self, places: Places, fresh: Counts | None) -> sparse.csr_array:
        """The counts of those who ask, from fresh ones where there are any, else from the training counts."""
        empty = self._nobody(1).matrix
        training = empty if places.new.all() else self._training_counts()
        sources = [training, empty if fresh is None else fresh.matrix, empty]
        rows = np.where(places.new, sources[0].shape[0] + places.fresh, places.model)
        rows[places.new & (places.fresh < 0)] = -1  # the last row, which is empty
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
