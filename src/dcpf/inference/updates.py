"""The updates of one iteration. docs/equations.md ties each to the paper."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dcpf import memory
from dcpf.elements import Element, Totals
from dcpf.inference.data import Data
from dcpf.inference.tabulate import Tables, natural
from dcpf.kernels.aligned import aligned_zeros
from dcpf.kernels.extrapolate import extrapolate, extrapolate_single
from dcpf.kernels.gamma import BLOCK, gamma_means, gamma_moments, gamma_moments_single
from dcpf.kernels.sweep import (
    HIGHEST,
    LOG_EVIDENCE,
    LOWEST,
    SESSIONS,
    SHAPE,
    TALLIES,
    Entries,
    sweep_items,
    sweep_users,
)
from dcpf.kernels.table import Table
from dcpf.kernels.threads import Threads

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gammas:
    """q(W) or q(H): independent Gamma(shape_uk, row_rate_u + column_rate_k)."""

    shape: Floats
    row_rate: Doubles  # the prior's rate b_u: the user's activity, the item's popularity
    column_rate: Doubles  # the sum of the other side's means

    @property
    def mean(self) -> Floats:
        """E[w]."""
        rate = self.row_rate[:, None] + self.column_rate
        return (self.shape / rate).astype(self.shape.dtype)

    def with_column_rate(self, column_rate: Doubles) -> "Gammas":
        """Gammas of the same means that can stand among others with this column rate."""
        rate = self.row_rate[:, None] + column_rate
        return Gammas((self.mean * rate).astype(self.shape.dtype), self.row_rate, column_rate)


@dataclass(frozen=True, slots=True)
class Factors:
    """What an iteration needs of q(W) or q(H)."""

    geometric: Floats  # eW = exp(E[log w]), with columns of zeros at the end that fill a line of the cache
    row_means: Doubles  # sum_k E[w_uk]
    column_means: Doubles  # sum_u E[w_uk]
    bound: float  # sum E[log p(w)] + H[q(w)]

    @classmethod
    def start(cls, means: Floats) -> "Factors":
        """The start of an iteration: E[w] is drawn, and log E[w] stands for E[log w]."""
        wide = means.astype(np.float64)
        geometric = aligned_zeros(means.shape[0], means.shape[1], means.dtype)
        geometric[:, : means.shape[1]] = means
        return cls(geometric, wide.sum(axis=1), wide.sum(axis=0), -np.inf)


@dataclass(frozen=True, slots=True)
class Local:
    """What the local step q(N, C) gives."""

    user_shape: Floats
    item_shape: Floats
    totals: Totals
    log_evidence: float  # sum log Z
    span: tuple[float, float]  # lowest and highest log Lam that was looked up


def update_rates(row_means: Doubles, shape_prior: float, n_components: int) -> Doubles:
    """b_u = K a / sum_k E[w_uk] (the paper prints its inverse).

    For a row without entries this has no maximum: b grows by a constant and E[w] falls as 1 / iterations, evenly
    over the components, so that such a user is offered what is popular.
    """
    return n_components * shape_prior / row_means


def column_means(gammas: Gammas, threads: Threads) -> Doubles:
    """sum_u E[w_uk]."""
    blocks = -(-len(gammas.shape) // BLOCK)
    block_means = np.zeros((blocks, len(gammas.column_rate)))
    q = (gammas.shape, gammas.row_rate, gammas.column_rate)
    threads.run(gamma_means, blocks, *q, block_means)
    return np.asarray(block_means.sum(axis=0))


def beyond(new: Gammas, old: Gammas, push: float, shape_prior: float, threads: Threads) -> Gammas:
    """The gammas that lie beyond `new`, seen from `old`, by `push` of the way between the logarithms of parameters.

    No shape is less than that of the prior, since none of an update is.
    """
    shape = memory.empty(new.shape.shape, new.shape.dtype)
    kernel = extrapolate_single if shape.dtype == np.float32 else extrapolate
    flat = (array.reshape(-1) for array in (new.shape, old.shape, shape))
    threads.run(kernel, shape.size, *flat, push, shape_prior)
    row_rate, column_rate = (
        np.maximum(x * (x / before) ** push, np.finfo(np.float64).tiny)
        for x, before in ((new.row_rate, old.row_rate), (new.column_rate, old.column_rate))
    )
    return Gammas(shape, row_rate, column_rate)


def update_factors(gammas: Gammas, shape_prior: float, threads: Threads) -> Factors:
    """E[w], exp(E[log w]) and the share of the bound from the parameters of q(W)."""
    rows, n_components = gammas.shape.shape
    blocks = -(-rows // BLOCK)
    geometric = aligned_zeros(rows, n_components, gammas.shape.dtype)
    block_means = np.zeros((blocks, n_components))
    row_means, row_bounds = np.empty(rows), np.empty(rows)
    threads.run(
        gamma_moments_single if geometric.dtype == np.float32 else gamma_moments,
        blocks,
        gammas.shape,
        gammas.row_rate,
        gammas.column_rate,
        shape_prior,
        geometric,
        (block_means, row_means, row_bounds),
    )
    return Factors(geometric, row_means, block_means.sum(axis=0), float(row_bounds.sum()))


def local_step(
    data: Data,
    W: Factors,
    H: Factors,
    element: Element,
    shape_prior: tuple[float, float],
    span: tuple[float, float],
    tables: Tables,
    threads: Threads,
) -> Local:
    """q(N, C) at its optimum: E[n_ui] at the stored entries, and the shapes of q(W) and q(H) that follow.

    `span` is where the logarithms of Lam_ui are expected, from the last time.
    """
    eW, eH = W.geometric, H.geometric
    _, c = natural(element)
    K = len(W.column_means)
    user_shape = memory.empty((data.shape[0], K), eW.dtype)
    item_shape = np.full((data.shape[1], K), shape_prior[1], eH.dtype)
    ratio = np.empty(max(len(block.by_item.indices) for block in data.blocks), dtype=eW.dtype)
    tallies = np.empty((data.shape[0], TALLIES))
    expected = (span[0] - c, span[1] - c)
    for block in data.blocks:
        factors, out = (eW[block.users], eH), (user_shape[block.users], ratio, tallies[block.users])
        pass_by_users = partial(_pass_by_users, block.by_user, c, factors, shape_prior[0], out, threads)
        low, high = tables.run(element, expected, pass_by_users)
        expected = (min(expected[0], low), max(expected[1], high))
        threads.run(sweep_items, block.by_item.indptr, block.by_item, ratio, factors, item_shape)
    low, high = _span(tallies)
    found = (low + c, high + c) if -np.inf < low <= high < np.inf else span
    sums = tallies[:, [LOG_EVIDENCE, SESSIONS, SHAPE]].sum(axis=0)
    totals = Totals(counts=data.total, sessions=float(sums[1]), shape=float(sums[2]))
    return Local(user_shape, item_shape, totals, float(sums[0]), found)


def _pass_by_users(
    by_user: Entries,
    c: float,
    factors: tuple[Floats, Floats],
    shape_prior: float,
    out: tuple[Floats, Floats, Doubles],
    threads: Threads,
    table: Table,
) -> tuple[float, float]:
    threads.run(sweep_users, by_user.indptr, by_user, table, c, factors, shape_prior, out)
    return _span(out[2])


def _span(tallies: Doubles) -> tuple[float, float]:
    """The lowest and highest log rate that was looked up."""
    return float(tallies[:, LOWEST].min()), float(tallies[:, HIGHEST].max())


def bound(W: Factors, H: Factors, local: Local, element: Element) -> float:
    """The ELBO with q(N, C) at its optimum: so the local step must have been the last thing done."""
    theta, _ = natural(element)
    zeros = float(W.column_means @ H.column_means)
    return local.totals.counts * theta + local.log_evidence - zeros + W.bound + H.bound
