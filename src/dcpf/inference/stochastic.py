"""Stochastic VBEM: q(H) and the element learn from some of the users at a time, and q(w) of these users from q(H).

Hoffman et al., "Stochastic variational inference" (2013); Basbug and Engelhardt use it for compound Poisson
factorization (2016). What a batch of users says of the items is taken for what all would say, scaled to all entries,
and q(H) goes a part of the way there.

In the first passes E[h] stands for exp(E[log h]), as it does at the start of a fit. With exp(E[log h]) the components
of an item that are small already become smaller still, so that the first batches would decide what the others find.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dcpf.elements import Element, Totals
from dcpf.inference.blocks import LocalBlocks
from dcpf.inference.data import Data, Rows
from dcpf.inference.fold_in import fold_in
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.settings import FitSettings
from dcpf.inference.updates import bound, update_factors, update_rates
from dcpf.kernels.threads import Threads

# Found by trial on plays, invoices, check-ins and words, as the learning rate was.
_LOCAL_ITERATIONS, _LOCAL_TOL = 20, 1e-3  # q(w) of a batch need not be exact where q(H) is far from it
_UNDECIDED = 10.0  # passes in which E[h] stands for exp(E[log h])
_CERTAIN = 20.0  # a shape with which exp(E[log h]) is nearly E[h], so that nothing is decided before the first batch


@dataclass(frozen=True, slots=True)
class Stream:
    """What batches have come to so far."""

    element: Element
    H: GammaPosterior
    totals: Totals  # as they would be over all entries
    passes: float  # how often an entry was seen on average
    bound: float  # of all entries, as the last batch lets expect it


def begin(element: Element, start: NDArray[np.floating]) -> Stream:
    """q(H) with the means `start`."""
    items, n_components = start.shape
    rate = _CERTAIN / float(start.mean(dtype=np.float64))
    H = GammaPosterior(start * start.dtype.type(rate), np.ones(items), np.full(n_components, rate))
    return Stream(element, H, Totals(0.0, 0.0, 0.0), 0.0, -np.inf)


def step(
    stream: Stream, batch: Data, rows: Rows, entries: int, settings: FitSettings, threads: Threads
) -> tuple[Stream, GammaPosterior]:
    """Learn from a batch of users, where there are so many `entries` in all; gives also q(W) of these users."""
    (aW, aH), share, element = settings.shape_prior, batch.entries / entries, stream.element
    H, users = update_factors(stream.H, aH, threads), LocalBlocks(batch, settings, threads)
    undecided = stream.passes < _UNDECIDED
    taken = replace(H, geometric=stream.H.mean) if undecided else H
    qW = fold_in(rows, taken, element, aW, 1.0, settings.learn_rates, threads, _LOCAL_ITERATIONS, _LOCAL_TOL)
    _, sums = users.visit(qW, taken, element)
    # All entries would say 1 / share times as much.
    passes = stream.passes + share
    rho = learning_rate(passes, share)
    shape = aH + (sums.item_shape - stream.H.shape.dtype.type(aH)) / share
    q = GammaPosterior(
        ((1.0 - rho) * stream.H.shape + rho * shape).astype(stream.H.shape.dtype),
        update_rates(H.row_means, aH, len(H.column_means)) if settings.learn_rates else stream.H.row_rate,
        (1.0 - rho) * stream.H.column_rate + rho / share * sums.means,
    )
    part = rho if stream.passes else 1.0
    totals = Totals(
        *((1.0 - part) * old + part / share * new for old, new in zip(stream.totals, sums.totals, strict=True))
    )
    refitted = element.refit(totals) if settings.learn_element and element.limit is None else element
    at = users.visit(qW, H, element)[1] if undecided else sums  # the bound is that of H itself
    found = bound(at.bound, at.means, H, at.totals, at.log_evidence, element)
    expected = (found - H.bound) / share + H.bound
    return Stream(refitted, q, totals, passes, expected), qW


def learning_rate(passes: float, share: float) -> float:
    """How far to go after a batch, where `passes` are those with it.

    The first few batches count alike. Later ones go three times their share of all entries, and less when these were
    seen often.
    """
    settled = 3.0 * share / (1.0 + passes / 20.0)
    first = share / passes if passes <= 1.0 else 0.0
    return min(1.0, max(settled, first))
