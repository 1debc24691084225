"""Excitation: sessions with one item bring sessions with others. The paper does not have it.

    rate_ui = sum_j x_uj s_ji,    x_uj = log(1 + y_uj) / (scale sqrt(items of u)),    s_ji >= 0

It is learned after the factors, which then keep a fixed share of what they expect. Learned together, the strengths
would take nearly all: they see the user's other counts, the factors also the one to be explained.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf import memory
from dcpf.counts.spill import cut
from dcpf.elements import Element
from dcpf.inference.settings import FitSettings
from dcpf.kernels import Csr
from dcpf.kernels.threads import Threads
from dcpf.parts.part import Learning, Met, NewRows, Part, UserBatch
from dcpf.ranking.rates import Items, ItemSide, Rates, UserSide, no_sparse, pairs_of

if TYPE_CHECKING:
    from dcpf.kernels.posterior import PosteriorTable

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]
Positions = NDArray[np.int64]

# Found by trial on validation parts of plays, invoices, check-ins and baskets; half or twice as much did about alike.
_SHRINKAGE = 5.0  # users: how sure it must be that two items go together
_AS_SOURCE, _AS_TARGET = 0.55, 0.4  # powers of popularity by which that is divided
_TYPICAL = 25.0  # users of an item whose prior is worth `neighbor_prior` users; beyond, an item is popular
_MANY = 1500.0  # users in all; where there are fewer, the prior is worth less, by the root of their number
_DISCOUNT = 0.2  # power of popularity by which strengths are divided when they have been learned
_WEAK = 0.25  # share of the sessions of excitation that the weakest strengths bring, which are left out
_AT_LEAST = 20  # sources that an item keeps, if it has so many
_MAX_ITER, _TOL = 10, 1e-2
_TO_TELL = 3  # iterations that tell weak strengths from others
_AT_A_TIME = 2**20  # entries that are worked on together
_EXPECTED = (-10.0, 2.0)  # where log rates are, mostly; if they are elsewhere, it takes a second run


@dataclass(frozen=True)
class Excitation(Part):
    """What the items that a user has add to the rates of others."""

    name: ClassVar[str] = "excitation"
    order: ClassVar[int] = 10

    strength: sparse.csr_array  # row j has s_ji at the items i that source j excites
    mass: Doubles  # sum_u x_uj, by source
    weight: float  # of the prior, the same for all sources
    scale: float  # divisor of x
    growth: float = 0.0  # of the prior, by the root of the mass of a source
    discount: float = 0.0  # of strengths, a power of the mass of a source

    @classmethod
    def is_wanted(cls, settings: FitSettings) -> bool:
        """With neighbors."""
        return settings.n_neighbors > 0

    @classmethod
    def learn(cls, job: Learning) -> Iterator["Excitation"]:
        """Once, from all counts."""
        yield _learned(job)

    @classmethod
    def from_state(cls, state: Self, job: Learning) -> Self | None:
        """None where no item goes with another."""
        del job
        return state if state.strength.data.any() else None

    @property
    def items(self) -> ItemSide:
        """The strengths, and no dense columns."""
        return ItemSide(np.empty((self.strength.shape[1], 0), np.float32), self.strength)

    @property
    def totals(self) -> tuple[Doubles, Doubles]:
        """The mass of each source."""
        return np.empty(0), self.mass

    @property
    def prior_weights(self) -> Doubles:
        """m_j of each source: what the prior is worth. The posterior of s_ji / d_j has the rate m_j + mass_j."""
        return self.weight + self.growth * np.sqrt(self.mass)

    @property
    def discounts(self) -> Doubles:
        """d_j of each source: less where many have it, and 1 on average over all that users have."""
        less: Doubles = (1.0 + self.mass / _TYPICAL) ** -self.discount
        return less / np.average(less, weights=self.mass) if self.mass.any() else less

    @property
    def most_sources(self) -> int:
        """By how many items an item is excited at most."""
        return int(np.bincount(self.strength.indices, minlength=1).max())

    def meet(self, batch: UserBatch, element: Element, threads: Threads) -> "MetExcitation":
        """X is made of what the users have. Nothing has to be learned for a new user."""
        del element, threads
        if batch.history is None:
            raise ValueError(
                "the model was saved without its training counts, and its rates depend on them: pass history="
            )
        X = x_of(batch.history, self.scale)
        return MetExcitation(self, UserSide(np.empty((X.shape[0], 0), np.float32), X))

    def check(self, users: int, items: int) -> None:
        """Shapes fit, and numbers are finite and not negative."""
        if self.strength.shape != (items, items) or self.mass.shape != (items,):
            raise ValueError(f"the excitation has the wrong shape for {items:,} items")
        if self.strength.dtype != np.float32 or not (_is_sound(self.strength.data) and _is_sound(self.mass)):
            raise ValueError("the excitation has strengths or masses that are no numbers >= 0")
        positive, not_negative = (self.weight, self.scale), (self.growth, self.discount)
        sound = all(0.0 < one < math.inf for one in positive) and all(0.0 <= one < math.inf for one in not_negative)
        if not sound or self.discount > 1.0:
            raise ValueError(f"the excitation has {positive} and {not_negative}")

    def similar(self, item: int) -> tuple[Positions, Doubles]:
        """The items that excite this one and are excited by it, by sqrt(s_ij s_ji)."""
        sources, by = self.sources_of(item)
        mine = slice(*self.strength.indptr[item : item + 2])
        targets, strength = self.strength.indices[mine], self.strength.data[mine]
        both, there, back = np.intersect1d(sources, targets, assume_unique=True, return_indices=True)
        return both.astype(np.int64), np.sqrt(by[there].astype(np.float64) * strength[back])

    def sources_of(self, item: int) -> tuple[NDArray[np.integer], NDArray[np.float32]]:
        """The sources of an item, ascending, and the strength of each."""
        mine = slice(*self._by_target.indptr[item : item + 2])
        return self._by_target.indices[mine], self._by_target.data[mine]

    @cached_property
    def _by_target(self) -> sparse.csc_array:
        return self.strength.tocsc()

    def with_items(self, new: NewRows) -> Self:
        """The same strengths between the same items: new items get theirs when parts are learned anew."""
        entries, mass, old = self.strength.tocoo(), np.zeros(new.size), new.old_places
        mass[old] = self.mass
        places = (old[entries.row], old[entries.col])
        return replace(self, strength=sparse.csr_array((entries.data, places), shape=(new.size, new.size)), mass=mass)


def _is_sound(values: Floats) -> bool:
    return not len(values) or bool(values.min() >= 0.0 and values.max() < math.inf)


@dataclass(frozen=True)
class MetExcitation(Met):
    """x of the users of a question."""

    part: Excitation

    def variance(self, users: Positions, items: Positions) -> Doubles:
        """sum_j x_uj^2 d_j s_ji / (m_j + mass_j), nearly the variance under the posterior of s."""
        part = self.part
        by_source = part.discounts / (part.prior_weights + part.mass)
        W, X = self.side
        squares = X.data.astype(np.float64) ** 2 * by_source[X.indices]
        side = UserSide(W, sparse.csr_array((squares, X.indices, X.indptr), shape=X.shape))
        (pairs, order), found = pairs_of(users, items, X.shape), np.empty(len(users))
        with Threads(1) as threads:
            found[order] = Rates(side, Items(part.items, np.empty(0))).at(pairs, threads)
        return found


def x_of(counts: sparse.csr_array, scale: float) -> sparse.csr_array:
    """x_uj = log(1 + y_uj) / (scale sqrt(items of u))."""
    x, indptr = memory.empty((counts.nnz,), np.float32), counts.indptr
    lengths = np.diff(indptr)
    units = 1.0 / (scale * np.sqrt(np.maximum(lengths, 1)))
    for start, stop in pairwise(cut(indptr, _AT_A_TIME)):
        here = slice(int(indptr[start]), int(indptr[stop]))
        x[here] = np.log1p(counts.data[here].astype(np.float64)) * np.repeat(units[start:stop], lengths[start:stop])
    return sparse.csr_array((x, counts.indices, counts.indptr), shape=counts.shape)


def _learned(job: Learning) -> Excitation:
    """The sources of each item and their strengths, given the rates of the parts learned before.

    A strength has the prior Gamma(1 + m_j mean, m_j), where m_j is in users who have the source, and a mean that is
    proportional to how much more than by chance those who have the source are into the item. m_j is `neighbor_prior`
    for a source that 25 users have; half of it is the same for all, and half grows with the root of the source's
    users. Of fewer than 1,500 users in all it is less, by the root of their number: there it would drown what they
    say. The means expect the sessions that are left to this part. What is learned is the mode of the posterior;
    popular sources then lose a part of it, and others gain. A few iterations with all sources that were chosen tell
    which are strong. Only these stay, and their means expect as many sessions again.
    """
    from dcpf.inference.data import codes_of, distinct
    from dcpf.inference.posterior_tables import PosteriorTables
    from dcpf.kernels.strengths import learn_strengths

    matrix, settings, threads = job.blocks.whole(), job.settings, job.threads
    items, users = int(matrix.shape[1]), int(np.count_nonzero(np.diff(matrix.indptr)))
    unscaled = x_of(matrix, 1.0)
    scale = float(unscaled.data.mean(dtype=np.float64)) if matrix.nnz else 1.0
    X = x_of(matrix, scale)
    mass = np.bincount(matrix.indices, weights=X.data, minlength=items).astype(np.float64, copy=False)
    weight = settings.neighbor_prior * math.sqrt(min(1.0, max(users, 1) / _MANY))
    growth = 0.5 * weight / math.sqrt(_TYPICAL)
    by_item = matrix.tocsc()
    columns = (by_item.indptr.astype(np.int64), by_item.indices.astype(np.int32))
    others = sparse.csr_array((job.others(matrix), matrix.indices, matrix.indptr), shape=matrix.shape).tocsc().data
    counts = distinct(matrix.data)
    coded, tables = (*columns, codes_of(counts, by_item.data)), PosteriorTables(counts, threads, learn_shape=False)
    _, c = job.element.natural
    span = (_EXPECTED[0] - c, _EXPECTED[1] - c)

    def learned(means: sparse.csr_array, iterations: int) -> tuple[Excitation, NDArray[np.float32]]:
        """Strengths by item, in the order of `means`, and what they are part of."""
        expected = sum(float(brought.sum()) for _, brought in _brought(mass, means.indices, means.data))
        if expected > 0.0:
            means.data *= np.float32(job.expected / expected)
        strength, spans = memory.empty((means.nnz,), np.float32), np.empty((items, 2))
        found = Excitation(no_sparse(items, items), mass, 0.5 * weight, scale, growth, _DISCOUNT)
        prior, limits, out = (_csr(means), found.prior_weights, mass), (iterations, _TOL), (strength, spans)

        def attempt(table: "PosteriorTable") -> tuple[float, float]:
            threads.run(learn_strengths, columns[0], coded, _csr(X), others, table, c, prior, limits, out)
            return float(spans[:, 0].min()), float(spans[:, 1].max())

        tables.run(job.element, span, attempt)
        discounts = found.discounts.astype(np.float32)
        for some in _pieces(means.nnz):
            strength[some] *= discounts[means.indices[some]]
        return found, strength

    means = _chosen(columns, unscaled, min(settings.n_neighbors, max(1, items - 1)), threads)
    _, strength = learned(means, _TO_TELL)
    _keep_strong(means, strength, mass)
    found, strength = learned(means, _MAX_ITER)
    by_target = sparse.csr_array((strength, means.indices, means.indptr), shape=means.shape)
    by_source = sparse.csr_array(by_target.tocsc().T)
    return replace(found, strength=by_source)


def _keep_strong(means: sparse.csr_array, strength: NDArray[np.float32], mass: Doubles) -> None:
    """Leave out, in place, the sources whose strengths were found to be weak.

    Weak are the smallest of all strengths that together bring at most a part of the sessions, but for the largest few
    of each item. They take most of the time that lists take, and hardly change a list. Where they are left out, the
    others take over their part, which ranks better on some data.
    """
    from dcpf.kernels.strengths import keep_strong

    if strength.any():
        keep_strong(_csr(means), strength, float(_smallest_strong(mass, means.indices, strength)), _AT_LEAST)
        means.indices, means.data = means.indices[: means.nnz].copy(), means.data[: means.nnz].copy()


def _smallest_strong(mass: Doubles, sources: NDArray[np.integer], strength: NDArray[np.float32]) -> np.float32:
    """The smaller ones of all strengths together bring at most a part of the sessions; to about 1%."""
    total = np.zeros(2**15)
    for some, brought in _brought(mass, sources, strength):
        total += np.bincount(some.view(np.uint32) >> 16, brought, len(total))  # rises with the strength
    size = np.searchsorted(np.cumsum(total), _WEAK * total.sum(), side="right")
    return np.uint32(size << 16).view(np.float32)


def _brought(
    mass: Doubles, sources: NDArray[np.integer], strength: NDArray[np.float32]
) -> Iterator[tuple[NDArray[np.float32], Doubles]]:
    """Strengths, some at a time, and the sessions that each brings."""
    for some in _pieces(len(strength)):
        yield strength[some], mass[sources[some]] * strength[some]


def _pieces(size: int) -> Iterator[slice]:
    for start in range(0, size, _AT_A_TIME):
        yield slice(start, start + _AT_A_TIME)


def _chosen(
    columns: tuple[Positions, NDArray[np.int32]], X: sparse.csr_array, most: int, threads: Threads
) -> sparse.csr_array:
    """A row for each item: its sources, and its affinity to each of them.

    Those who have the item count by x, as in what they excite: by how much they are into it, and less if they have
    many items.
    """
    from dcpf.kernels.cooccurrence import choose_sources

    items = X.shape[1]
    popularity = np.diff(columns[0]) + _SHRINKAGE
    weights = (popularity**-_AS_SOURCE, popularity**-_AS_TARGET)
    sources, affinity = memory.empty((items, most), np.int32), memory.empty((items, most), np.float32)
    users_of = (*columns, X.tocsc().data)
    items_of = (X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False))
    threads.run(choose_sources, columns[0], users_of, items_of, weights, (sources, affinity))
    lengths = np.empty(items, np.int64)
    flat, size = (sources.reshape(-1), affinity.reshape(-1)), 0
    for start in range(0, items, max(1, _AT_A_TIME // most)):  # lists of one length become rows, in place
        used = sources[start : start + max(1, _AT_A_TIME // most)] < items
        lengths[start : start + len(used)] = used.sum(axis=1)
        here = slice(size, size + int(used.sum()))
        for to, lists in zip(flat, (sources, affinity), strict=True):
            to[here] = lists[start : start + len(used)][used]
        size = here.stop
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    index = sparse.get_index_dtype(maxval=max(items, size))
    rows = (flat[1][:size], flat[0][:size].astype(index, copy=False), indptr.astype(index))
    return sparse.csr_array(rows, shape=(items, items))


def _csr(matrix: sparse.csr_array) -> Csr:
    return Csr(matrix.indptr, matrix.indices, matrix.data)
