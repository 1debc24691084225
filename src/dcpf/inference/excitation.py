"""Excitation between items: what a user has makes sessions with other items more likely.

A second part of the rate beside the factors, which the paper does not have. By superposition everything else stays:

    n_ui ~ Poisson(share * w_u . h_i + sum_j x_uj s_ji),    x_uj = log(1 + y_uj) / sqrt(items of u), scaled to mean 1

The factors are learned first, as in the paper. Then they keep a fixed share of what they expect, and the strengths
s_ji >= 0 are learned beside them. Learned together, the strengths would take nearly all: they see the user's other
counts, and the factors also the one that is to be explained. docs/quality.md tells what was tried.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from dcpf import memory
from dcpf.elements import Element
from dcpf.inference.data import codes_of, distinct
from dcpf.inference.posterior_tables import PosteriorTables
from dcpf.kernels.coded import PLACES, Coding, coding_of, keep_12_bits
from dcpf.kernels.excitation import (
    Exciting,
    Lists,
    Targets,
    count_steps,
    excited_at,
    fill_targets,
    fill_x,
    keep_strong,
    learn_strengths,
)
from dcpf.kernels.neighbors import choose_sources
from dcpf.kernels.posterior import PosteriorTable
from dcpf.kernels.threads import Threads
from dcpf.kernels.touched import no_bits

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]
Places = NDArray[np.int64]

# Found by trial on validation parts of plays, invoices, check-ins and baskets; half or twice as much did about alike.
SHARE = 0.15  # of what the factors expect that they keep
_SHRINKAGE = 5.0  # users: how sure it must be that two items go together
_AS_SOURCE, _AS_TARGET = 0.55, 0.4  # powers of popularity by which that is divided
_TYPICAL = 25.0  # users of an item: the prior is worth as many as was asked for there, and beyond it is popular
_MANY = 1500.0  # users in all: the prior is worth less where there are fewer, by the root of their number
_DISCOUNT = 0.2  # power of popularity by which strengths are divided when they have been learned
_WEAK = 0.25  # of the sessions that excitation brings: the weakest strengths that bring no more are left out
_DENSE = 1.7  # targets to a line of places, above which they are read by lines
_AT_LEAST = 20  # sources that an item keeps, if it has so many
_MAX_ITER, _TOL = 10, 1e-2
_TO_TELL = 3  # iterations that tell weak strengths from others
_AT_A_TIME = 2**20  # strengths
_EXPECTED = (-10.0, 2.0)  # where log rates are, mostly; if they are elsewhere, it takes a second run


@dataclass(frozen=True)
class Excitation:
    """What the items that a user has add to the rates of others."""

    strength: sparse.csr_array  # row i has s_ji at the sources j of i: d_j times the mode of a posterior
    mass: Doubles  # sum_u x_uj, by source
    weight: float  # of the prior, of all sources alike
    scale: float  # what x is divided by
    share: float  # of what the factors expect, which they keep
    growth: float = 0.0  # of the prior, by the root of the mass of a source; 0 in models of before
    discount: float = 0.0  # of strengths, a power of the mass of a source; 0 in models of before

    @property
    def weights(self) -> Doubles:
        """m_j of each source: what the prior is worth. The posterior of s_ji / d_j has the rate m_j + mass_j."""
        return self.weight + self.growth * np.sqrt(self.mass)

    @property
    def discounts(self) -> Doubles:
        """d_j of each source: less where many have it, and 1 on average over all that users have."""
        less: Doubles = (1.0 + self.mass / _TYPICAL) ** -self.discount
        return less / np.average(less, weights=self.mass) if self.mass.any() else less

    @cached_property
    def by_source(self) -> sparse.csr_array:
        """s_ji with sources as rows and what they excite as columns."""
        return self.strength.T.tocsr()

    @cached_property
    def _coding(self) -> Coding:
        return coding_of(self.strength.data)

    @property
    def items(self) -> int:
        """How many there are."""
        return int(self.strength.shape[0])

    def targets(self, order: Places) -> Targets:
        """Whom each source excites, of the items `order`: they are called by their place in it."""
        lists, short = _lists(self.strength), self._coding.spare > 0
        one_by_one, by_lines = np.zeros(self.items, np.int64), np.zeros(self.items, np.int64)
        count_steps(lists, order, 1, one_by_one)
        if short:
            count_steps(lists, order, PLACES, by_lines)
        dense = short and self.mass @ one_by_one > _DENSE * (self.mass @ by_lines)
        width, counts = (PLACES, by_lines) if dense else (1, one_by_one)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        steps = memory.empty((int(indptr[-1]),), np.uint16)
        codes = memory.zeros((width * len(steps),), np.uint16 if short else np.uint32)
        targets = Targets(indptr, steps, codes, self._coding, no_bits(self.items, len(order)))
        fill_targets(lists, order, width, targets)
        return targets

    def of_item(self, item: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The sources of an item, ascending, and the strength of each."""
        mine = slice(*self.strength.indptr[item : item + 2])
        return self.strength.indices[mine], self.strength.data[mine]

    def strengths(self, item: int, by: Places) -> NDArray[np.float32]:
        """s_ji of one item i, by these different items j: 0 where they are no source of it."""
        sources, strength = self.of_item(item)
        _, here, there = np.intersect1d(by, sources, assume_unique=True, return_indices=True)
        found = np.zeros(len(by), np.float32)
        found[here] = strength[there]
        return found

    def mutual(self, item: int) -> tuple[Places, Doubles]:
        """The items that excite this one and are excited by it, and sqrt(s_ij s_ji) of each."""
        sources, by = self.of_item(item)
        mine = slice(*self.by_source.indptr[item : item + 2])
        targets, strength = self.by_source.indices[mine], self.by_source.data[mine]
        both, there, back = np.intersect1d(sources, targets, assume_unique=True, return_indices=True)
        return both.astype(np.int64), np.sqrt(by[there].astype(np.float64) * strength[back])

    def of_users(self, matrix: sparse.csr_array) -> Exciting:
        """x of users with these counts."""
        return exciting(matrix, self.scale)

    def at(self, pairs: sparse.csr_array, given: Exciting, threads: Threads) -> Doubles:
        """sum_j x_uj s_ji at the stored entries of `pairs`, whose rows are those of `given`."""
        return self._at((pairs.indptr, pairs.indices), given, self.strength, 1, threads)

    def variance_at(self, pairs: sparse.csr_array, given: Exciting, threads: Threads) -> Doubles:
        """The variance of that under the posterior: sum_j x_uj^2 d_j s_ji / (m_j + mass_j), nearly."""
        items, rows = np.unique(pairs.indices, return_inverse=True)  # only these are looked at
        by_rate = self.strength[items]
        by_rate.data *= (self.discounts / (self.weights + self.mass))[by_rate.indices]
        return self._at((pairs.indptr, rows), given, by_rate, 2, threads)

    def _at(
        self,
        pairs: tuple[NDArray[np.integer], NDArray[np.integer]],
        given: Exciting,
        strength: sparse.csr_array,
        power: int,
        threads: Threads,
    ) -> Doubles:
        out = np.empty(len(pairs[1]))
        threads.run(excited_at, pairs[0], pairs, given, _lists(strength), self.items, power, out)
        return out

    def by_item(self) -> Doubles:
        """sum_u sum_j x_uj s_ji of each item: the sessions to expect from excitation, of all users of the fit."""
        found: Doubles = self.strength @ self.mass
        return found

    def by_user(self, given: Exciting) -> Doubles:
        """sum_i sum_j x_uj s_ji of each user: the sessions to expect from excitation, with all items."""
        by_source = np.asarray(self.by_source.sum(axis=1, dtype=np.float64))
        sums = np.concatenate([[0.0], np.cumsum(given.x.astype(np.float64) * by_source[given.indices])])
        return np.diff(sums[given.indptr])

    def moved(self, places: Places, items: int) -> "Excitation":
        """Excitation in a catalogue of so many items, among which ours stand at these ascending places."""
        lengths, mass = np.zeros(items, np.int64), np.zeros(items)
        lengths[places], mass[places] = np.diff(self.strength.indptr), self.mass
        sources, indptr = places[self.strength.indices].astype(np.int32), np.concatenate([[0], np.cumsum(lengths)])
        return replace(self, strength=_matrix((indptr, sources, self.strength.data)), mass=mass)


def exciting(matrix: sparse.csr_array, scale: float) -> Exciting:
    """x_uj = log(1 + y_uj) / (scale sqrt(items of u))."""
    indptr, x = matrix.indptr.astype(np.int64), memory.empty((matrix.nnz,), np.float32)
    fill_x(indptr, matrix.data, scale, x)
    return Exciting(indptr, matrix.indices.astype(np.int32, copy=False), x)


def learn_excitation(
    matrix: sparse.csr_array,
    n_neighbors: int,
    weight: float,
    factors: tuple[Floats, Floats],
    element: Element,
    threads: Threads,
) -> Excitation:
    """The sources of each item and their strengths, from canonical counts and E[W], E[H] as they were learned.

    A strength has the prior Gamma(1 + m_j mean, m_j), where m_j is in users who have the source, and a mean that is
    proportional to how much more than by chance those who have the source are into the item. m_j is `weight` for a
    source that 25 users have; half of it is the same for all, and half grows with the root of the source's users. Of
    fewer than 1,500 users in all it is less, by the root of their number: there it would drown what they say.
    Over all users and items the means expect as many sessions as there are stored entries, less the share of the
    factors. What is learned is the mode of the posterior; popular sources then lose a part of it, and others gain. A
    few iterations with all sources that were chosen tell which are strong; only these stay, and their means expect as
    many sessions again. Where nothing goes together, the factors keep everything.
    """
    items = int(matrix.shape[1])
    by_item = matrix.tocsc()
    columns = (by_item.indptr.astype(np.int64), by_item.indices.astype(np.int32))
    unscaled = exciting(matrix, 1.0)
    scale = float(unscaled.x.mean(dtype=np.float64)) if matrix.nnz else 1.0
    given = exciting(matrix, scale)
    mass = np.bincount(matrix.indices, weights=given.x, minlength=items).astype(np.float64, copy=False)
    users = int(np.count_nonzero(np.diff(matrix.indptr)))
    weight *= math.sqrt(min(1.0, max(users, 1) / _MANY))
    growth = 0.5 * weight / math.sqrt(_TYPICAL)
    counts = distinct(matrix.data)
    coded, tables = (*columns, codes_of(counts, by_item.data)), PosteriorTables(counts, threads, learn_shape=False)
    _, c = element.natural
    span = (_EXPECTED[0] - c, _EXPECTED[1] - c)
    kept = ((factors[0] * SHARE).astype(factors[0].dtype), factors[1])

    def learned(means: sparse.csr_array, iterations: int) -> Excitation:
        expected = sum(float(brought.sum()) for _, brought in _brought(mass, means))
        if expected > 0.0:
            means.data *= np.float32((1.0 - SHARE) * matrix.nnz / expected)
        strength, spans = memory.empty((means.nnz,), np.float32), np.empty((items, 2))
        of_means = _matrix((means.indptr, means.indices, strength))
        found = Excitation(of_means, mass, 0.5 * weight, scale, SHARE, growth, _DISCOUNT)
        prior, settings, out = (_lists(means), found.weights, mass), (iterations, _TOL), (strength, spans)

        def attempt(table: PosteriorTable) -> tuple[float, float]:
            threads.run(learn_strengths, columns[0], coded, given, kept, table, c, prior, settings, out)
            return float(spans[:, 0].min()), float(spans[:, 1].max())

        tables.run(element, span, attempt)
        discounts = found.discounts.astype(np.float32)
        for some in _pieces(means.nnz):
            strength[some] *= discounts[means.indices[some]]
        keep_12_bits(strength)
        return found

    means = _choose(columns, unscaled, min(n_neighbors, max(1, items - 1)), threads)
    _keep_strong(means, learned(means, _TO_TELL))
    found = learned(_shortened(means), _MAX_ITER)
    return found if found.strength.data.any() else replace(found, share=1.0)


def _keep_strong(means: sparse.csr_array, found: Excitation) -> None:
    """Leave the sources out, in place, whose strengths were found to be weak.

    Weak are the smallest of all strengths that together bring at most a part of the sessions, but for the largest few
    of each item. They take most of the time that lists take, and hardly change a list. Where they are left out, the
    others take over their part, which ranks better on some data.
    """
    if found.strength.data.any():
        keep_strong(_lists(means), found.strength.data, float(_smallest_strong(found)), _AT_LEAST)


def _shortened(means: sparse.csr_array) -> sparse.csr_array:
    """The same matrix, whose arrays have no room left over. One after the other, since both may be large."""
    means.indices = means.indices[: means.nnz].copy()
    means.data = means.data[: means.nnz].copy()
    return means


def _smallest_strong(found: Excitation) -> np.float32:
    """The smaller ones of all strengths together bring at most a part of the sessions; to about 1%."""
    total = np.zeros(2**15)
    for strength, brought in _brought(found.mass, found.strength):
        total += np.bincount(strength.view(np.uint32) >> 16, brought, len(total))  # rises with the strength
    size = np.searchsorted(np.cumsum(total), _WEAK * total.sum(), side="right")
    return np.uint32(size << 16).view(np.float32)


def _brought(mass: Doubles, strength: sparse.csr_array) -> Iterator[tuple[NDArray[np.float32], Doubles]]:
    """Strengths, some at a time, and the sessions that each brings."""
    for some in _pieces(strength.nnz):
        yield strength.data[some], mass[strength.indices[some]] * strength.data[some]


def _pieces(size: int) -> Iterator[slice]:
    """Some at a time of so many, of which there may be none."""
    for start in range(0, size, _AT_A_TIME):
        yield slice(start, start + _AT_A_TIME)


def _choose(
    columns: tuple[Places, NDArray[np.int32]], given: Exciting, most: int, threads: Threads
) -> sparse.csr_array:
    """The sources of each item, and its affinity to each of them.

    Those who have the item count by x, as in what they excite: by how much they are into it, and less if they have
    many items.
    """
    items, users = len(columns[0]) - 1, len(given.indptr) - 1
    x = sparse.csr_array((given.x, given.indices, given.indptr), shape=(users, items)).tocsc().data
    popularity = np.diff(columns[0]) + _SHRINKAGE
    weights = (popularity**-_AS_SOURCE, popularity**-_AS_TARGET)
    sources, affinity = memory.empty((items, most), np.int32), memory.empty((items, most), np.float32)
    threads.run(choose_sources, columns[0], (*columns, x), given[:2], weights, (sources, affinity))
    return packed(sources, affinity)


def packed(sources: NDArray[np.int32], strength: NDArray[np.float32]) -> sparse.csr_array:
    """Lists of one length, filled up with a source that is no item, as a matrix. They are overwritten with it."""
    items, most = sources.shape
    indptr, flat = np.zeros(items + 1, np.int64), (sources.reshape(-1), strength.reshape(-1))
    for rows in gen_batches(items, max(1, _AT_A_TIME // max(1, most))):
        used = sources[rows] < items
        indptr[rows.start + 1 : rows.stop + 1] = indptr[rows.start] + np.cumsum(used.sum(axis=1))
        for to, lists in zip(flat, (sources, strength), strict=True):
            to[indptr[rows.start] : indptr[rows.stop]] = lists[rows][used]
    return _matrix((indptr, flat[0][: indptr[-1]], flat[1][: indptr[-1]]))


def _matrix(lists: tuple[NDArray[np.integer], NDArray[np.int32], NDArray[np.float32]]) -> sparse.csr_array:
    """indptr, sources and strengths by items as a matrix, which shares the last two with them."""
    indptr, sources, strength = lists
    items = len(indptr) - 1
    index = sparse.get_index_dtype(maxval=max(items, len(sources)))
    return sparse.csr_array((strength, sources.astype(index, copy=False), indptr.astype(index)), shape=(items, items))


def _lists(matrix: sparse.csr_array) -> Lists:
    """The same as kernels take them."""
    return Lists(matrix.indptr, matrix.indices, matrix.data)
