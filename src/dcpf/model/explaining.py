"""Explain: how the counts of a user are read, and what each of them adds to the score of an item."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import digamma
from sklearn.utils.validation import check_is_fitted

from dcpf.inference.updates import Gammas
from dcpf.model.asking import Asked, Asking, one_or_several
from dcpf.ranking.explanation import Explanation, parts_by_item

Doubles = NDArray[np.float64]
Places = NDArray[np.int64]


class Read(NamedTuple):
    """What a user has, and as how many sessions each count is read."""

    seen: sparse.csr_array
    sessions: Doubles


class Explaining(Asking):
    """Models tell why."""

    def explain(self, user: Any, item: Any, *, history: Any = None) -> Explanation:
        """Why this item for this user: the parts of the score by component, and by item of the history.

        With a history of one user, such as a mapping of items to counts, `user` may be None.
        """
        wanted = one_or_several(item, "item")
        if len(wanted) != 1:
            raise ValueError(f"an explanation is of one item, found {len(wanted):,}; explain_items explains several")
        return self.explain_items(user, wanted, history=history)[0]

    def explain_items(self, user: Any, items: Sequence[Any], *, history: Any = None) -> list[Explanation]:
        """Why each of these items: as `explain`, which would read the user's counts again for every one of them."""
        check_is_fitted(self)
        places = self._catalogue.places(one_or_several(items, "items"))
        if user is None and history is None:
            raise ValueError("explain whose list? Give a user, or a history")
        asked = self._asked(user, history)
        return self._explain(asked, self._read(asked), places)

    def _explain(self, asked: Asked, read: Read, places: Places) -> list[Explanation]:
        """Why the items at these places, for the one who asks."""
        q, prior, known = asked.alone(), self._settings_.shape_prior[0], read.seen.indices.astype(np.int64)
        geometric = _geometric(q, np.zeros(1, dtype=np.int64)) * _geometric(self.item_posterior_, known)
        shares = geometric * (read.sessions / geometric.sum(axis=1))[:, None]
        return [self._explained(place, asked, read, shares, prior) for place in places.tolist()]

    def _read(self, asked: Asked) -> Read:
        """What the one who asks has."""
        if len(asked.ids) != 1:
            raise ValueError(f"an explanation is for one user, found {len(asked.ids):,}; pass user= to say which")
        seen = self._seen(asked)
        return Read(seen, self._sessions(seen, asked.alone()))

    def _explained(self, place: int, asked: Asked, read: Read, shares: Doubles, prior: float) -> Explanation:
        """Why this item; shares = E[c_jk] of each item j that the user has."""
        shape, rate = asked.shape[0].astype(np.float64), asked.rate[0]
        known, counts = read.seen.indices.astype(np.int64), read.seen.data
        h = self.item_factors[place].astype(np.float64)
        by_prior, parts = parts_by_item(shares, (shape, rate), prior, h)
        components, excited = shape / rate * h, np.zeros(len(parts))
        if (excitation := self.excitation_) is not None:
            by_prior, parts, components = (
                by_prior * excitation.share,
                parts * excitation.share,
                components * excitation.share,
            )
            strengths = excitation.strengths(place, known)
            excited = excitation.of_users(read.seen).x.astype(np.float64) * strengths
        parts = parts + excited
        order = np.argsort(-parts, kind="stable")
        return Explanation(
            user=asked.ids[0],
            item=place,
            catalogue=self._catalogue,
            score=float(components.sum() + excited.sum()),
            components=components,
            excited=float(excited.sum()),
            prior=by_prior,
            items=known[order],
            counts=counts[order],
            sessions=read.sessions[order],
            parts=parts[order],
        )


def _geometric(q: Gammas, rows: Places) -> Doubles:
    """exp(E[log w]) of these rows."""
    rate = q.row_rate[rows][:, None] + q.column_rate
    return np.asarray(np.exp(digamma(q.shape[rows].astype(np.float64))) / rate)
