"""Variational Bayes expectation-maximization: the paper's loop, in the order that keeps the bound exact."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcpf.elements import Element
from dcpf.inference.data import Data
from dcpf.inference.tabulate import Tables
from dcpf.inference.updates import Factors, Gammas, bound, local_step, update_factors, update_rates
from dcpf.kernels.threads import Threads

Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Settings:
    """What stays the same through the iterations."""

    shape_prior: tuple[float, float]  # aW, aH
    learn_element: bool
    learn_rates: bool


@dataclass(frozen=True, slots=True)
class State:
    """Where an iteration has arrived."""

    element: Element
    W: Gammas
    H: Gammas
    bound: float


def iterate(
    data: Data, start: tuple[Floats, Floats], element: Element, settings: Settings, threads: Threads
) -> Iterator[State]:
    """Yield the state after each iteration, for ever. `start` is a draw of (E[W], E[H])."""
    aW, aH = settings.shape_prior
    K = start[0].shape[1]
    learn_element = settings.learn_element and element.limit is None
    tables = Tables(data.counts, threads, learn_shape=learn_element)
    W, H = Factors.start(start[0]), Factors.start(start[1])
    bW, bH = np.ones(data.shape[0]), np.ones(data.shape[1])
    local = local_step(data, W, H, element, (aW, aH), (0.0, 0.0), tables, threads)
    while True:
        if settings.learn_rates:
            bW = update_rates(W.row_means, aW, K)
            bH = update_rates(H.row_means, aH, K)
        if learn_element:
            element = element.refit(local.totals)
        qW = Gammas(local.user_shape, bW, H.column_means)
        W = update_factors(qW, aW, threads)
        qH = Gammas(local.item_shape, bH, W.column_means)
        H = update_factors(qH, aH, threads)
        local = local_step(data, W, H, element, (aW, aH), local.span, tables, threads)
        yield State(element, qW, qH, bound(W, H, local, element))


def converged(previous: float, current: float, tol: float) -> bool:
    """Whether the bound has moved by less than `tol`, relative to its size. Never for tol = 0."""
    return tol > 0.0 and abs(current - previous) < tol * abs(previous)


def random_start(
    data: Data, n_components: int, rng: np.random.Generator, dtype: np.dtype[np.floating]
) -> tuple[Floats, Floats]:
    """E[W] and E[H] drawn from an exponential, scaled to as many expected sessions as there are stored entries.

    Draws from the prior, as the authors make them, end at a lower bound and underflow for small shapes. Draws close
    to one value end at a higher bound still, but rank worse.
    """
    users, items = data.shape
    level = math.sqrt(len(data.by_user.indices) / (users * items * n_components))
    W = level * rng.exponential(size=(users, n_components))
    H = level * rng.exponential(size=(items, n_components))
    return W.astype(dtype), H.astype(dtype)
