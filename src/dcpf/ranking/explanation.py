"""Why an item is recommended to a user: a score is a sum, and its parts are shown."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dcpf.counts import Id
from dcpf.ranking.lists import Catalogue

if TYPE_CHECKING:
    import polars as pl

Doubles = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Explanation:
    """The expected sessions of a user with an item, taken apart in two ways that both add up to the score.

    By component: w_k h_k, of which the factors keep a share if there is excitation, and all excitation together. By
    history: w_k is the prior's share and one share of each item in the history, E[c_jk] / rate_k; with what the item
    excites, x_j s_ji, these are its part. So the score is the prior's part and one part of each of these items.
    """

    user: Id | None
    item: int  # place in the catalogue
    catalogue: Catalogue
    score: float
    components: Doubles  # the part of each component
    excited: float  # the part of excitation, 0 without
    prior: float  # the part that is there without any history
    items: NDArray[np.int64]  # the history: places in the catalogue, the largest part first
    counts: NDArray[np.int64]  # raw counts
    sessions: Doubles  # as how many sessions each count was read
    parts: Doubles  # what each adds to the score

    def __repr__(self) -> str:
        of = f"<Explanation: {self.score:.4g} expected sessions with {self.catalogue.named(self.item)!r}"
        if not len(self.items):
            return f"{of}, without a history>"
        return f"{of}, most because of {self.catalogue.named(int(self.items[0]))!r}: {self.parts[0]:.3g}>"

    def to_frame(self) -> "pl.DataFrame":
        """A polars table of the history: item, name, count, sessions, the part of the score, the largest first."""
        import polars as pl

        numbers = {"count": self.counts, "sessions": self.sessions, "part": self.parts}
        return pl.DataFrame({**self.catalogue.columns(self.items, "item"), **numbers})

    def to_dict(self) -> dict[str, object]:
        """The same as plain numbers, strings and lists."""
        order = np.argsort(-self.components, kind="stable")
        return {
            "user": self.user,
            "item": self.catalogue.ids[self.item],
            "name": self.catalogue.named(self.item),
            "score": self.score,
            "prior": self.prior,
            "excited": self.excited,
            "components": [{"component": int(k), "part": float(self.components[k])} for k in order],
            "history": self.to_frame().to_dicts(),
        }


def parts_by_item(
    shares: Doubles, w: tuple[Doubles, Doubles], shape_prior: float, h: Doubles
) -> tuple[float, Doubles]:
    """The prior's part of sum_k w_k h_k, and the part of each item of the history.

    shares = E[c_jk], the sessions with item j that component k stands for; w = (shape, rate) of q(w). The shares of
    a component are scaled to what its shape has beyond the prior, so that the parts add up to the score exactly
    even where q(w) has not quite settled.
    """
    shape, rate = w
    total = shares.sum(axis=0)
    weight = np.divide((shape - shape_prior) * h / rate, total, out=np.zeros_like(total), where=total > 0.0)
    parts = shares @ weight
    return float(shape @ (h / rate) - parts.sum()), parts
