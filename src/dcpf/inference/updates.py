"""The updates of one iteration. docs/equations.md ties each to the paper."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcpf import memory
from dcpf.elements import Element, Totals
from dcpf.inference.data import Block
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.posterior_tables import PosteriorTables
from dcpf.kernels.gammas import BLOCK, gamma_kernels, gamma_means
from dcpf.kernels.posterior import PosteriorTable
from dcpf.kernels.sweep import (
    HIGHEST,
    LOG_EVIDENCE,
    LOWEST,
    SESSIONS,
    SHAPE,
    TALLIES,
    sweep_items,
    sweep_users,
)
from dcpf.kernels.threads import Threads

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GammaMoments:
    """What an iteration needs of q(W) or q(H)."""

    geometric: Floats  # eW = exp(E[log w])
    row_means: Doubles  # sum_k E[w_uk]
    column_means: Doubles  # sum_u E[w_uk]
    bound: float  # sum E[log p(w)] + H[q(w)]

    @classmethod
    def start(cls, means: Floats) -> "GammaMoments":
        """The start of an iteration: E[w] is drawn, and log E[w] stands for E[log w]."""
        wide = means.astype(np.float64)
        return cls(np.array(means), wide.sum(axis=1), wide.sum(axis=0), -np.inf)


@dataclass(frozen=True, slots=True)
class Local:
    """What the local step q(N, C) gives for a block of users, beside the shapes of q(W) and q(H)."""

    log_evidence: float  # sum log Z
    sessions: float  # sum E[n]
    shape: float  # sum E[m], from which an element's shape is learned
    span: tuple[float, float]  # lowest and highest log Lam that was looked up, less c


def update_rates(row_means: Doubles, shape_prior: float, n_components: int) -> Doubles:
    """b_u = K a / sum_k E[w_uk] (the paper prints its inverse).

    For a row without entries this has no maximum: b grows by a constant and E[w] falls as 1 / iterations, evenly
    over the components, so that such a user is offered what is popular.
    """
    return n_components * shape_prior / row_means


def column_means(gammas: GammaPosterior, threads: Threads) -> Doubles:
    """sum_u E[w_uk]."""
    blocks = -(-len(gammas.shape) // BLOCK)
    block_means = np.zeros((blocks, len(gammas.column_rate)))
    q = (gammas.shape, gammas.row_rate, gammas.column_rate)
    threads.run(gamma_means, blocks, *q, block_means)
    return np.asarray(block_means.sum(axis=0))


def beyond(
    new: GammaPosterior, old: GammaPosterior, push: float, shape_prior: float, threads: Threads
) -> GammaPosterior:
    """The gammas that lie beyond `new`, seen from `old`, by `push` of the way between the logarithms of parameters.

    No shape is less than that of the prior, since none of an update is.
    """
    shape = memory.empty(new.shape.shape, new.shape.dtype)
    flat = (array.reshape(-1) for array in (new.shape, old.shape, shape))
    threads.run(gamma_kernels(shape.dtype).extrapolate, shape.size, *flat, push, shape_prior)
    row_rate, column_rate = (
        np.maximum(x * (x / before) ** push, np.finfo(np.float64).tiny)
        for x, before in ((new.row_rate, old.row_rate), (new.column_rate, old.column_rate))
    )
    return GammaPosterior(shape, row_rate, column_rate)


def update_factors(gammas: GammaPosterior, shape_prior: float, threads: Threads) -> GammaMoments:
    """E[w], exp(E[log w]) and the share of the bound from the parameters of q(W)."""
    rows, n_components = gammas.shape.shape
    blocks = -(-rows // BLOCK)
    geometric = memory.empty((rows, n_components), gammas.shape.dtype)
    block_means = np.zeros((blocks, n_components))
    row_means, row_bounds = np.empty(rows), np.empty(rows)
    threads.run(
        gamma_kernels(geometric.dtype).moments,
        blocks,
        gammas.shape,
        gammas.row_rate,
        gammas.column_rate,
        shape_prior,
        geometric,
        (block_means, row_means, row_bounds),
    )
    return GammaMoments(geometric, row_means, block_means.sum(axis=0), float(row_bounds.sum()))


def local_step(
    block: Block,
    W: GammaMoments,
    H: GammaMoments,
    element: Element,
    shape_priors: tuple[float, float],
    expected: tuple[float, float],
    tables: PosteriorTables,
    shapes: tuple[Floats, Floats],
    threads: Threads,
) -> Local:
    """q(N, C) at its optimum: E[n_ui] at the stored entries, and the shapes of q(W) and q(H) that follow.

    `shapes` are filled in, the second with what these users say of q(H). The logarithms of Lam_ui, less c, are
    expected in `expected`.
    """
    _, c = element.natural
    factors, (user_shape, item_shape) = (W.geometric, H.geometric), shapes
    ratio = np.empty(len(block.by_item.indices), dtype=item_shape.dtype)
    tallies = np.empty((len(user_shape), TALLIES))

    def pass_by_users(table: PosteriorTable) -> tuple[float, float]:
        out = (user_shape, ratio, tallies)
        threads.run(sweep_users, block.by_user.indptr, block.by_user, table, c, factors, shape_priors[0], out)
        return float(tallies[:, LOWEST].min()), float(tallies[:, HIGHEST].max())

    span = tables.run(element, expected, pass_by_users, single=ratio.dtype == np.float32)
    threads.run(sweep_items, block.by_item.indptr, block.by_item, ratio, factors, shape_priors[1], item_shape)
    totals = tallies.sum(axis=0).tolist()
    return Local(totals[LOG_EVIDENCE], totals[SESSIONS], totals[SHAPE], span)


def bound(W: float, means: Doubles, H: GammaMoments, totals: Totals, log_evidence: float, element: Element) -> float:
    """The ELBO with q(N, C) at its optimum: so the local step must have been the last thing done.

    W is what q(W) adds to it, means its sum_u E[w_uk].
    """
    theta, _ = element.natural
    zeros = float(means @ H.column_means)
    return totals.counts * theta + log_evidence - zeros + W + H.bound
