"""Factors: tastes that users and items share, as in the paper.

    rate_ui = sum_k w_uk h_ik,    w_uk ~ Gamma(aW, bW_u),    h_ik ~ Gamma(aH, bH_i)

The posteriors q(W) and q(H) are gamma distributions. Rates are products of their means. The sessions behind counts,
q(n), are those of the paper: there exp(E[log w]) stands for w.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import digamma

from dcpf.elements import Element, Totals
from dcpf.inference.gammas import GammaPosterior
from dcpf.kernels.threads import Threads
from dcpf.parts.part import Learning, Met, NewRows, Part, Reasons, UserBatch
from dcpf.ranking.rates import ItemSide, UserSide, no_sparse

if TYPE_CHECKING:
    from dcpf.inference.updates import GammaMoments
    from dcpf.inference.vbem import State

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Factors(Part):
    """q(W) and q(H), and what it takes to learn them for further users and items."""

    name: ClassVar[str] = "factors"
    order: ClassVar[int] = 0

    W: GammaPosterior
    H: GammaPosterior
    shape_prior: tuple[float, float]  # aW, aH
    typical_rates: tuple[float, float]  # mean bW and bH of users and items that have entries
    learn_rates: bool
    seen: tuple[Totals, float] | None = None  # after `partial_fit`: the sums of the batches, and passes over the data

    @classmethod
    def learn(cls, job: Learning) -> Iterator["State"]:
        """VBEM, accelerated or as in the paper."""
        from dcpf.inference.momentum import accelerate, resume
        from dcpf.inference.vbem import Ascent, State, iterate

        ascent = Ascent(job.blocks, job.element, job.settings, job.threads)
        if isinstance(job.start, State):
            return resume(ascent, job.start)
        return (accelerate if job.settings.accelerate else iterate)(ascent, ascent.begin(job.start, job.element))

    @classmethod
    def from_state(cls, state: "State", job: Learning) -> Self:
        """Gather q(W) from the blocks."""
        W, (users, items) = job.blocks.gather(state.W), job.blocks.occupied()
        rates = float(W.row_rate[users].mean()), float(state.H.row_rate[items].mean())
        return cls(W, state.H, job.settings.shape_prior, rates, job.settings.learn_rates)

    @cached_property
    def user_means(self) -> Floats:
        """E[W], users x K."""
        return self.W.mean

    @cached_property
    def items(self) -> ItemSide:
        """E[H], and no sparse columns."""
        return ItemSide(self.H.mean, no_sparse(0, len(self.H)))

    @cached_property
    def session_items(self) -> ItemSide:
        """exp(E[log H])."""
        return ItemSide(self.H.geometric_mean, self.items.S)

    @cached_property
    def totals(self) -> tuple[Doubles, Doubles]:
        """E[W] summed over users."""
        return self.user_means.sum(axis=0, dtype=np.float64), np.empty(0)

    @cached_property
    def item_sums(self) -> Doubles:
        """E[H] summed over items."""
        return np.asarray(self.items.H.sum(axis=0, dtype=np.float64))

    def meet(self, batch: UserBatch, element: Element, threads: Threads) -> "MetFactors":
        """Known users as they were learned, histories folded in, and the average user for all others."""
        if batch.is_everyone and len(batch) == len(self.W):
            return MetFactors(self, self._side(self.user_means), self.W.shape, self.W.row_rate, self.W.column_rate)
        known = self.W[np.maximum(batch.rows, 0)]
        shape, rate = np.array(known.shape), known.rate
        given = batch.given.copy()
        if given.any():
            histories = batch.given_histories
            some = np.diff(histories.indptr) > 0
            given[given] = some
            if some.any():
                folded = self.fold_in(sparse.csr_array(histories[some]), element, threads)
                shape[given], rate[given] = folded.shape, folded.rate
        lost = ~given & ((batch.rows < 0) | batch.given)
        if lost.any():
            rate[lost] = self.typical_rates[0] + self.W.column_rate
            shape[lost] = self.totals[0] / len(self.W) * rate[lost]
        return MetFactors(self, self._side((shape / rate).astype(shape.dtype)), shape, np.zeros(len(shape)), rate)

    def _side(self, W: Floats) -> UserSide:
        return UserSide(W, no_sparse(len(W), 0))

    def fold_in(
        self, counts: sparse.csr_array, element: Element, threads: Threads, *, items: bool = False
    ) -> GammaPosterior:
        """q(w) of new users, a row of counts each, with items held fixed; or of new items, the other way round."""
        from dcpf.inference.data import CountRows
        from dcpf.inference.fold_in import fold_in

        fixed = self._user_moments if items else self._item_moments
        prior, rate = self.shape_prior[items], self.typical_rates[items]
        return fold_in(CountRows.from_matrix(counts), fixed, element, prior, rate, self.learn_rates, threads)

    @cached_property
    def _user_moments(self) -> "GammaMoments":
        return _moments(self.W, self.shape_prior[0])

    @cached_property
    def _item_moments(self) -> "GammaMoments":
        return _moments(self.H, self.shape_prior[1])

    def check(self, users: int, items: int) -> None:
        """Shapes, types and priors fit each other."""
        for name, q, rows in (("W", self.W, users), ("H", self.H, items)):
            fits = q.shape.ndim == 2 and q.row_rate.shape == (rows,) and q.column_rate.shape == q.shape.shape[1:]
            if not (fits and len(q) == rows and q.shape.dtype in (np.float32, np.float64)):
                raise ValueError(f"{name} has the wrong shape or type for {rows:,} ids")
            if not all(rates.min() > 0.0 and rates.max() < math.inf for rates in (q.row_rate, q.column_rate)):
                raise ValueError(f"{name} has rates that are not positive")
        if self.W.shape.shape[1] != self.H.shape.shape[1] or self.W.shape.dtype != self.H.shape.dtype:
            raise ValueError("W and H do not match")
        for value in (*self.shape_prior, *self.typical_rates):
            if not 0.0 < value < math.inf:
                raise ValueError(f"{value:g} cannot be a rate or a shape")
        totals, passes = self.seen or ((), 0.0)
        if not (0.0 <= passes < math.inf and np.isfinite(totals).all()):
            raise ValueError(f"the batches so far come to {totals} in {passes:g} passes")

    def with_users(self, new: NewRows) -> Self:
        """q(w) of these users, with all items held fixed."""
        folded = self.fold_in(new.counts, new.element, new.threads)
        return replace(self, W=merged(self.W, new.old_places, folded, new.places, new.size))

    def take_users(self, rows: Positions) -> Self:
        """These rows of q(W)."""
        return replace(self, W=self.W[rows])

    def with_items(self, new: NewRows) -> Self:
        """q(h) of these items, with all users held fixed."""
        folded = self.fold_in(new.counts, new.element, new.threads, items=True)
        return replace(self, H=merged(self.H, new.old_places, folded, new.places, new.size))

    def without_users(self) -> Self:
        """One user, who has what users have on average, stands for all."""
        rate = self.typical_rates[0]
        shape = (self.totals[0] / len(self.W) * (rate + self.W.column_rate)).astype(self.W.shape.dtype)
        return replace(self, W=GammaPosterior(shape[None, :], np.array([rate]), self.W.column_rate))


@dataclass(frozen=True)
class MetFactors(Met):
    """q(w) of the users of a question: Gamma(shape, row_rate + column_rate), the latter by column or by user too."""

    part: Factors
    shape: Floats
    row_rate: Doubles
    column_rate: Doubles

    @property
    def rate(self) -> Doubles:
        """Rates of the gammas."""
        return np.asarray(self.row_rate[:, None] + self.column_rate)

    @cached_property
    def session_side(self) -> UserSide:
        """exp(E[log w])."""
        if self.column_rate.ndim == 1:
            mean = GammaPosterior(self.shape, self.row_rate, self.column_rate).geometric_mean
        else:
            mean = (np.exp(digamma(self.shape.astype(np.float64))) / self.rate).astype(self.shape.dtype)
        return UserSide(mean, no_sparse(len(mean), 0))

    def variance(self, users: Positions, items: Positions) -> Doubles:
        """Var[w . h] of independent gammas."""
        moments = []
        for shape, rate in (
            (self.shape[users], self.rate[users]),
            (self.part.H.shape[items], self.part.H[items].rate),
        ):
            wide = shape.astype(np.float64)
            moments.append((wide / rate, wide * (wide + 1.0) / rate**2))
        (w, w2), (h, h2) = moments
        return np.asarray((w2 * h2 - (w * h) ** 2).sum(axis=1))

    def reasons(self, user: int, item: int, history: Positions, sessions: Doubles) -> Reasons:
        """Divide w . h by where the sessions behind the history come from.

        The shape of w_k is that of its prior and E[c_jk], the sessions with each item j that component k stands for.
        These are scaled so that the parts add up exactly where q(w) has not quite settled.
        """
        products = self.side.W[user].astype(np.float64) * self.part.items.H[item].astype(np.float64)
        beyond_prior = 1.0 - self.part.shape_prior[0] / self.shape[user].astype(np.float64)
        geometric = self.session_side.W[user].astype(np.float64) * self.part.H[history].geometric_mean
        rates = geometric.sum(axis=1)  # 0 where all are too small for a float
        shares = geometric * np.divide(sessions, rates, out=np.zeros_like(rates), where=rates > 0.0)[:, None]
        total = shares.sum(axis=0)
        weight = np.divide(beyond_prior * products, total, out=np.zeros_like(total), where=total > 0.0)
        by_history = shares @ weight
        return Reasons(float(products.sum() - by_history.sum()), by_history)


def merged(
    old: GammaPosterior, old_rows: Positions, new: GammaPosterior, new_rows: Positions, rows: int
) -> GammaPosterior:
    """CountRows of both; where both have one, the new row is taken. The old ones keep their means."""
    shape, row_rate = np.empty((rows, old.shape.shape[1]), dtype=old.shape.dtype), np.empty(rows)
    for q, places in ((old.with_column_rate(new.column_rate), old_rows), (new, new_rows)):
        shape[places], row_rate[places] = q.shape, q.row_rate
    return GammaPosterior(shape, row_rate, new.column_rate)


def _moments(q: GammaPosterior, shape_prior: float) -> "GammaMoments":
    from dcpf.inference.updates import update_factors

    with Threads() as threads:
        return update_factors(q, shape_prior, threads)
