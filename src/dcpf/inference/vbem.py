"""Variational Bayes expectation-maximization: the paper's loop, in the order that keeps the bound exact."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcpf.elements import Element
from dcpf.inference.data import Data
from dcpf.inference.tabulate import Tables
from dcpf.inference.updates import (
    Factors,
    Gammas,
    Local,
    bound,
    column_means,
    local_step,
    update_factors,
    update_rates,
)
from dcpf.kernels.threads import Threads

Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a fit does not change."""

    shape_prior: tuple[float, float]  # aW, aH
    learn_element: bool
    learn_rates: bool
    n_neighbors: int = 0
    neighbor_prior: float = 0.0


@dataclass(frozen=True, slots=True)
class Point:
    """All that an iteration learns: the element, q(W) and q(H)."""

    element: Element
    W: Gammas
    H: Gammas


@dataclass(frozen=True, slots=True)
class State(Point):
    """Where an iteration has arrived, and all that the next one needs: the loop can go on from it."""

    bound: float
    last: Point | None = None  # the last two are of `momentum.accelerate`
    push: float | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """What was found at a point: the moments of q(W) and q(H), and the local step."""

    element: Element
    W: Factors
    H: Factors
    local: Local
    rates: tuple[NDArray[np.float64], NDArray[np.float64]]  # bW, bH
    bound: float


class Ascent:
    """One iteration as two halves: from what was found at a point to a better one, and the visit there."""

    def __init__(self, data: Data, element: Element, settings: Settings, threads: Threads) -> None:
        self.settings = settings
        self.threads = threads
        self._data = data
        self._learn_element = settings.learn_element and element.limit is None
        self._tables = Tables(data.counts, threads, learn_shape=self._learn_element)
        self._span = (0.0, 0.0)

    def begin(self, start: tuple[Floats, Floats], element: Element) -> Visit:
        """A visit to a draw of (E[W], E[H])."""
        W, H = Factors.start(start[0]), Factors.start(start[1])
        rates = (np.ones(self._data.shape[0]), np.ones(self._data.shape[1]))
        return Visit(element, W, H, self._local_step(W, H, element), rates, -math.inf)

    def improve(self, here: Visit) -> Point:
        """The rates, the element, q(W) and q(H), in this order. Only E[w] of the new q(W) enters q(H)."""
        (aW, aH), (bW, bH), element = self.settings.shape_prior, here.rates, here.element
        K = len(here.W.column_means)
        if self.settings.learn_rates:
            bW, bH = update_rates(here.W.row_means, aW, K), update_rates(here.H.row_means, aH, K)
        if self._learn_element:
            element = element.refit(here.local.totals)
        W = Gammas(here.local.user_shape, bW, here.H.column_means)
        return Point(element, W, Gammas(here.local.item_shape, bH, column_means(W, self.threads)))

    def visit(self, point: Point) -> Visit:
        """The local step q(N, C) comes last: the bound needs it at its optimum."""
        aW, aH = self.settings.shape_prior
        W, H = update_factors(point.W, aW, self.threads), update_factors(point.H, aH, self.threads)
        local = self._local_step(W, H, point.element)
        found = bound(W, H, local, point.element)
        return Visit(point.element, W, H, local, (point.W.row_rate, point.H.row_rate), found)

    def _local_step(self, W: Factors, H: Factors, element: Element) -> Local:
        prior = self.settings.shape_prior
        local = local_step(self._data, W, H, element, prior, self._span, self._tables, self.threads)
        self._span = local.span  # where to expect the log rates next time
        return local


def iterate(ascent: Ascent, here: Visit) -> Iterator[State]:
    """Yield the state after each iteration, for ever."""
    while True:
        point = ascent.improve(here)
        here = ascent.visit(point)
        yield State(point.element, point.W, point.H, here.bound)


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
    level = math.sqrt(data.entries / (users * items * n_components))
    W = level * rng.exponential(size=(users, n_components))
    H = level * rng.exponential(size=(items, n_components))
    return W.astype(dtype), H.astype(dtype)
