"""Excitation between items: what a user has makes sessions with other items more likely.

A second part of the rate beside the factors, which the paper does not have. By superposition everything else stays:

    n_ui ~ Poisson(share * w_u . h_i + sum_j x_uj s_ji),    x_uj = log(1 + y_uj) / sqrt(items of u), scaled to mean 1

The factors are learned first, as in the paper. Then they keep a fixed share of what they expect, and the strengths
s_ji >= 0 are learned beside them. Learned together, the strengths would take nearly all: they see the user's other
counts, and the factors also the one that is to be explained. docs/quality.md tells what was tried.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from dcpf import memory
from dcpf.elements import Element
from dcpf.inference.data import codes_of, distinct
from dcpf.inference.tabulate import Tables, natural
from dcpf.kernels.excitation import Exciting, Lists, Targets, excited_at, fill_targets, fill_x, learn_strengths
from dcpf.kernels.neighbors import choose_sources
from dcpf.kernels.table import Table
from dcpf.kernels.threads import Threads
from dcpf.kernels.touched import no_bits

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]
Places = NDArray[np.int64]

# Found by trial on validation parts of plays, invoices, check-ins and baskets; half or twice as much did about alike.
SHARE = 0.15  # of what the factors expect that they keep
_SHRINKAGE = 5.0  # users: how sure it must be that two items go together
_AS_SOURCE, _AS_TARGET = 0.6, 0.4  # powers of popularity by which that is divided
_TYPICAL = 25.0  # users of an item for which the prior is worth as many users as was asked for
_WEAK = 0.2  # of the sessions that excitation brings: the weakest strengths that bring no more are left out
_AT_LEAST = 20  # sources that an item keeps, if it has so many
_MAX_ITER, _TOL = 10, 1e-2
_TO_TELL = 3  # iterations that tell weak strengths from others
_AT_A_TIME = 2**12  # rows of lists
_EXPECTED = (-10.0, 2.0)  # where log rates are, mostly; if they are elsewhere, it takes a second run


@dataclass(frozen=True)
class Excitation:
    """What the items that a user has add to the rates of others. Lists are by the item that is excited."""

    sources: NDArray[np.int32]  # items x neighbours, ascending; the number of items where a list has ended
    strength: NDArray[np.float32]  # s_ji, the mode of its posterior
    mass: Doubles  # sum_u x_uj, by source
    weight: float  # of the prior, of all sources alike
    scale: float  # what x is divided by
    share: float  # of what the factors expect, which they keep
    growth: float = 0.0  # of the prior, by the root of the mass of a source; 0 in models of before

    @property
    def weights(self) -> Doubles:
        """m_j of each source: what the prior is worth. The posterior of s_ji has the rate m_j + mass_j."""
        return self.weight + self.growth * np.sqrt(self.mass)

    @property
    def lists(self) -> Lists:
        """Sources and strengths by the item that is excited, as kernels take them."""
        return Lists(self.sources, self.strength)

    @cached_property
    def by_source(self) -> sparse.csr_array:
        """s_ji with sources as rows and what they excite as columns."""
        indptr, items, strength, _ = self.targets(np.arange(len(self.sources)))
        return sparse.csr_array((strength, items.astype(np.int32), indptr), shape=(len(indptr) - 1, len(indptr) - 1))

    def targets(self, order: Places) -> Targets:
        """Whom each source excites, of the items `order`: they are called by their place in it."""
        lengths = np.bincount(self.sources[order].ravel(), minlength=len(self.sources))[: len(self.sources)]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        small = np.uint16 if len(order) <= 2**16 else np.uint32  # what is read for each list of all users
        places, strength = memory.empty((int(indptr[-1]),), small), memory.empty((int(indptr[-1]),), np.float32)
        targets = Targets(indptr, places, strength, no_bits(len(lengths), len(order)))
        fill_targets(self.lists, order, targets)
        return targets

    def strengths(self, item: int, by: Places) -> NDArray[np.float32]:
        """s_ji of one item i, by these items j: 0 where they are no source of it."""
        places = np.searchsorted(self.sources[item], by)
        inside = np.minimum(places, self.sources.shape[1] - 1)
        return np.where(self.sources[item][inside] == by, self.strength[item][inside], np.float32(0.0))

    def mutual(self, item: int) -> tuple[Places, Doubles]:
        """The items that excite this one and are excited by it, and sqrt(s_ij s_ji) of each."""
        begin, end = self.by_source.indptr[item : item + 2]
        targets, strength = self.by_source.indices[begin:end], self.by_source.data[begin:end]
        both, there, back = np.intersect1d(self.sources[item], targets, assume_unique=False, return_indices=True)
        product = self.strength[item][there].astype(np.float64) * strength[back]
        return both.astype(np.int64), np.sqrt(product)

    def of_users(self, matrix: sparse.csr_array) -> Exciting:
        """x of users with these counts."""
        return exciting(matrix, self.scale)

    def at(self, pairs: sparse.csr_array, given: Exciting, threads: Threads) -> Doubles:
        """sum_j x_uj s_ji at the stored entries of `pairs`, whose rows are those of `given`."""
        return self._at(pairs, given, self.lists, 1, threads)

    def variance_at(self, pairs: sparse.csr_array, given: Exciting, threads: Threads) -> Doubles:
        """The variance of that under the posterior: sum_j x_uj^2 s_ji / (m_j + mass_j), nearly."""
        items, by_rate = np.unique(pairs.indices), np.empty_like(self.strength)  # only these rows are looked at
        by_rate[items] = self.strength[items] / np.append(self.weights + self.mass, 1.0)[self.sources[items]]
        return self._at(pairs, given, Lists(self.sources, by_rate), 2, threads)

    def _at(self, pairs: sparse.csr_array, given: Exciting, lists: Lists, power: int, threads: Threads) -> Doubles:
        out = np.empty(pairs.nnz)
        threads.run(excited_at, pairs.indptr, (pairs.indptr, pairs.indices), given, lists, power, out)
        return out

    def by_item(self) -> Doubles:
        """sum_u sum_j x_uj s_ji of each item: the sessions to expect from excitation, of all users of the fit."""
        some = gen_batches(len(self.sources), _AT_A_TIME)
        return np.concatenate([_brought(self.mass, self.lists, rows).sum(axis=1) for rows in some])

    def by_user(self, given: Exciting) -> Doubles:
        """sum_i sum_j x_uj s_ji of each user: the sessions to expect from excitation, with all items."""
        by_source = np.asarray(self.by_source.sum(axis=1, dtype=np.float64))
        sums = np.concatenate([[0.0], np.cumsum(given.x.astype(np.float64) * by_source[given.indices])])
        return np.diff(sums[given.indptr])

    def moved(self, places: Places, items: int) -> "Excitation":
        """Excitation in a catalogue of so many items, among which ours stand at these ascending places."""
        most = self.sources.shape[1]
        sources, strength = np.full((items, most), items, np.int32), np.zeros((items, most), np.float32)
        sources[places] = np.append(places, items)[self.sources]
        strength[places] = self.strength
        mass = np.zeros(items)
        mass[places] = self.mass
        return replace(self, sources=sources, strength=strength, mass=mass)


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
    source that 25 users have; half of it is the same for all, and half grows with the root of the source's users.
    Over all users and items the means expect as many sessions as there are stored entries, less the share of the
    factors. What is learned is the mode of the posterior. A few iterations with all sources that were chosen tell
    which are strong; only these stay, and their means expect as many sessions again. Where nothing goes together, the
    factors keep everything.
    """
    items = int(matrix.shape[1])
    by_item = matrix.tocsc()
    columns = (by_item.indptr.astype(np.int64), by_item.indices.astype(np.int32))
    unscaled = exciting(matrix, 1.0)
    scale = float(unscaled.x.mean(dtype=np.float64)) if matrix.nnz else 1.0
    given = exciting(matrix, scale)
    mass = np.bincount(matrix.indices, weights=given.x, minlength=items).astype(np.float64, copy=False)
    growth = 0.5 * weight / math.sqrt(_TYPICAL)
    counts = distinct(matrix.data)
    coded, tables = (*columns, codes_of(counts, by_item.data)), Tables(counts, threads, learn_shape=False)
    _, c = natural(element)
    span = (_EXPECTED[0] - c, _EXPECTED[1] - c)
    kept = ((factors[0] * SHARE).astype(factors[0].dtype), factors[1])

    def learned(lists: Lists, iterations: int) -> Excitation:
        sources, means = lists
        expected = sum(float(_brought(mass, lists, rows).sum()) for rows in gen_batches(items, _AT_A_TIME))
        if expected > 0.0:
            means *= np.float32((1.0 - SHARE) * matrix.nnz / expected)
        strength, spans = memory.empty(sources.shape, np.float32), np.empty((items, 2))
        found = Excitation(sources, strength, mass, 0.5 * weight, scale, SHARE, growth)
        prior, settings, out = (lists, found.weights, mass), (iterations, _TOL), (strength, spans)

        def attempt(table: Table) -> tuple[float, float]:
            threads.run(learn_strengths, columns[0], coded, given, kept, table, c, prior, settings, out)
            return float(spans[:, 0].min()), float(spans[:, 1].max())

        tables.run(element, span, attempt)
        return found

    lists = _choose(columns, unscaled, min(n_neighbors, max(1, items - 1)), threads)
    lists = _strong(lists, learned(lists, _TO_TELL))
    found = learned(lists, _MAX_ITER)
    return found if found.strength.any() else replace(found, share=1.0)


def _strong(chosen: Lists, found: Excitation) -> Lists:
    """What was chosen, without the sources whose strengths were found to be weak. What comes in is changed.

    Weak are the smallest of all strengths that together bring at most a part of the sessions, but for the largest few
    of each item. They take most of the time that lists take, and hardly change a list. Where they are left out, the
    others take over their part, which ranks better on some data.
    """
    if not found.strength.any():
        return chosen
    items, most = found.sources.shape
    enough, place, width = _smallest_strong(found), max(most - _AT_LEAST, 0), 0
    for rows in gen_batches(items, _AT_A_TIME):
        s = found.strength[rows]
        strong = (s >= np.minimum(enough, np.partition(s, place, axis=1)[:, place, None])) & (s > 0.0)
        order = np.argsort(~strong, axis=1, kind="stable")
        for lists, nothing in zip(chosen, (items, 0.0), strict=True):
            lists[rows] = np.take_along_axis(np.where(strong, lists[rows], lists.dtype.type(nothing)), order, axis=1)
        width = max(width, int(strong.sum(axis=1).max()))
    if width == most:
        return chosen
    narrow = Lists(memory.empty((items, width), np.int32), memory.empty((items, width), np.float32))
    for lists, wide in zip(narrow, chosen, strict=True):
        lists[:] = wide[:, :width]
    return narrow


def _smallest_strong(found: Excitation) -> np.float32:
    """The smaller ones of all strengths together bring at most a part of the sessions; to about 1%."""
    brought = np.zeros(2**15)
    for rows in gen_batches(len(found.strength), _AT_A_TIME):
        sizes = found.strength[rows].view(np.uint32) >> 16  # rises with the strength
        brought += np.bincount(sizes.ravel(), _brought(found.mass, found.lists, rows).ravel(), len(brought))
    size = np.searchsorted(np.cumsum(brought), _WEAK * brought.sum(), side="right")
    return np.uint32(size << 16).view(np.float32)


def _brought(mass: Doubles, lists: Lists, rows: slice) -> Doubles:
    """The sessions that each source brings, in some rows of lists; 0 where a list has ended."""
    brought: Doubles = np.append(mass, 0.0)[lists.sources[rows]] * lists.strength[rows]
    return brought


def _choose(columns: tuple[Places, NDArray[np.int32]], given: Exciting, most: int, threads: Threads) -> Lists:
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
    return Lists(sources, affinity)
