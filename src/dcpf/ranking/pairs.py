"""What is expected of given pairs of a user and an item, and how sure that is."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from dcpf.counts import Id
from dcpf.elements import Element
from dcpf.ranking.lists import Catalogue, ids_column, meanings

if TYPE_CHECKING:
    import polars as pl

Doubles = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Predictions:
    """Expected sessions of pairs of a user and an item, and what follows from them."""

    users: list[Id | None]
    items: NDArray[np.int64]  # places in the catalogue
    catalogue: Catalogue
    element: Element
    sessions: Doubles  # E[w . h]
    variance: Doubles  # Var[w . h] under q

    def __len__(self) -> int:
        return len(self.sessions)

    def __repr__(self) -> str:
        return f"<Predictions for {len(self):,} pairs; .to_frame() shows them>"

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
        """A credible interval of the rate of sessions: the gamma distribution with the mean and variance under q.

        Mean-field posteriors take factors for independent, and so are narrower than they should be.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1, found {level!r}")
        shape, scale = self.sessions**2 / self.variance, self.variance / self.sessions
        low, high = (gammaincinv(shape, tail) * scale for tail in ((1.0 - level) / 2.0, (1.0 + level) / 2.0))
        return low, high

    def to_frame(self) -> "pl.DataFrame":
        """A polars table: user, item, name, expected sessions and count, probability, 90% interval of sessions."""
        import polars as pl

        low, high = self.interval()
        return pl.DataFrame(
            {
                "user": ids_column(self.users),
                **self.catalogue.columns(self.items, "item"),
                **meanings(self.sessions, self.element),
                "sessions_low": low,
                "sessions_high": high,
            }
        )
