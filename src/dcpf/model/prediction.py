"""What to expect of given pairs of a user and an item, and how sure that is."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from dcpf.counts import Id
from dcpf.elements import Element
from dcpf.kernels.threads import Threads
from dcpf.model.fitted import FittedModel
from dcpf.model.users import Asked, ask, is_one, one_or_several
from dcpf.ranking.lists import Catalogue, frame_of, meanings, table_html, table_text
from dcpf.ranking.rates import pairs_of

if TYPE_CHECKING:
    import polars as pl

Doubles = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Predictions:
    """Expected sessions of pairs of a user and an item, and what follows from them."""

    users: list[Id | None]
    items: NDArray[np.int64]  # places in the catalogue
    catalogue: Catalogue
    element: Element
    sessions: Doubles  # expected
    variance: Doubles  # of that rate, under the posterior

    def __len__(self) -> int:
        return len(self.sessions)

    def __repr__(self) -> str:
        return f"Predictions for {len(self):,} pairs\n{table_text(self.to_frame())}"

    def _repr_html_(self) -> str:
        return table_html(self.to_frame())

    @property
    def counts(self) -> Doubles:
        """Expected counts: sessions times the mean of the element."""
        return meanings(self.sessions, self.element)["count"]

    @property
    def probabilities(self) -> Doubles:
        """The probability of any interaction at all."""
        return meanings(self.sessions, self.element)["probability"]

    def at_least(self, m: int) -> Doubles:
        """The probability of a count of m or more, given the expected sessions. NaN beyond 1 in the binary limit."""
        if isinstance(m, bool) or not isinstance(m, int | np.integer) or m < 0:
            raise ValueError(f"m must be a whole number >= 0, found {m!r}")
        if m < 2 or self.element.limit == "binary":
            return (np.ones(len(self)), self.probabilities, np.full(len(self), np.nan))[min(m, 2)]
        below = [self.element.marginal_pmf(float(rate), m - 1).sum() for rate in self.sessions]
        return np.maximum(0.0, 1.0 - np.array(below, dtype=np.float64))

    def interval(self, level: float = 0.9) -> tuple[Doubles, Doubles]:
        """A credible interval of the rate of sessions: of the gamma distribution with its mean and variance.

        The posterior takes factors for independent, so intervals are narrower than they should be.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1, found {level!r}")
        shape, scale = self.sessions**2 / self.variance, self.variance / self.sessions
        low, high = (gammaincinv(shape, tail) * scale for tail in ((1.0 - level) / 2.0, (1.0 + level) / 2.0))
        return low, high

    def to_frame(self) -> "pl.DataFrame":
        """A polars table: user, item, name, expected sessions and count, probability, 90% interval of sessions."""
        low, high = self.interval()
        of_items = self.catalogue.columns(self.items, "item")
        told = meanings(self.sessions, self.element)
        return frame_of({"user": self.users, **of_items, **told, "sessions_low": low, "sessions_high": high})


def predict_pairs(model: FittedModel, users: Any, items: Any, history: Any, n_jobs: int | None) -> Predictions:
    """See `FittedModel.predict_pairs`."""
    wanted = one_or_several(items, "items")
    asking = None if users is None else one_or_several(users, "users")
    distinct = None if asking is None else list(dict.fromkeys(asking))
    asked = ask(model, distinct, history)
    row_of = {one: row for row, one in enumerate([None] if distinct is None else distinct)}
    rows = [row_of[one] for one in ([None] if asking is None else asking)]
    if len(rows) == 1 and (users is None or is_one(users)):
        rows *= len(wanted)
    elif is_one(items):
        wanted *= len(rows)
    if len(rows) != len(wanted):
        raise ValueError(f"users and items must be pairs, found {len(rows):,} users and {len(wanted):,} items")
    return predict(model, asked, np.array(rows, dtype=np.int64), model.catalogue.places(wanted), n_jobs)


def predict(model: FittedModel, asked: Asked, rows: Positions, places: Positions, n_jobs: int | None) -> Predictions:
    """What to expect of pairs: `rows` are users of the question, `places` the item of each."""
    pairs, order = pairs_of(rows, places, (len(asked.batch), len(model.items)))
    sessions, variance = np.empty(len(places)), np.zeros(len(places))
    with Threads(n_jobs if len(asked.batch) > 1 else 1) as threads:
        met = model.meet(asked.batch, threads)
        sessions[order] = model.rates(met).at(pairs, threads)
    for one, weight in zip(met, model.weights, strict=True):
        variance += weight**2 * one.variance(rows, places)
    users = [asked.ids[row] for row in rows.tolist()]
    return Predictions(users, places, model.catalogue, model.element, sessions, variance)
