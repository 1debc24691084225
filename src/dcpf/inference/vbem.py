"""Variational Bayes expectation-maximization: the paper's loop, in the order that keeps the bound exact."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcpf.elements import Element
from dcpf.inference.blocks import Blocks, Draw, Sums
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.settings import FitSettings
from dcpf.inference.updates import GammaMoments, bound, update_factors, update_rates
from dcpf.kernels.threads import Threads

Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Point:
    """All that an iteration learns: the element, q(W) and q(H)."""

    element: Element
    W: Any  # q(W), or what stands for it where users are elsewhere
    H: GammaPosterior


@dataclass(frozen=True, slots=True)
class State(Point):
    """Where an iteration has arrived, and all that the next one needs: the loop can go on from it."""

    bound: float
    last: Point | None = None  # the last two are of `momentum.accelerate`
    push: float | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """What was found at a point: the moments of q(H), what all users say, and the q(W) that the next update gives."""

    element: Element
    H: GammaMoments
    sums: Sums
    W: Any
    row_rate: NDArray[np.float64]  # bH
    bound: float


class Ascent:
    """One iteration as two halves: from what was found at a point to a better one, and the visit there.

    Users are elsewhere, on the user side: the loop sees sums over them. So `W` is whatever the user side makes of it.
    """

    def __init__(self, users: Blocks, element: Element, settings: FitSettings, threads: Threads) -> None:
        self.users = users
        self.settings = settings
        self.threads = threads
        self._learn_element = settings.learn_element and element.limit is None

    def begin(self, start: tuple[Floats | Draw, Floats], element: Element) -> Visit:
        """A visit to a draw of (E[W], E[H])."""
        H = GammaMoments.start(start[1])
        W, sums = self.users.begin(start[0], H, element)
        return Visit(element, H, sums, W, np.ones(len(start[1])), -math.inf)

    def improve(self, here: Visit) -> Point:
        """The rates, the element, q(W) and q(H), in this order. Only E[w] of the new q(W) enters q(H)."""
        bH, element = here.row_rate, here.element
        if self.settings.learn_rates:
            bH = update_rates(here.H.row_means, self.settings.shape_prior[1], len(here.H.column_means))
        if self._learn_element:
            element = element.refit(here.sums.totals)
        return Point(element, here.W, GammaPosterior(here.sums.item_shape, bH, here.sums.next_means))

    def visit(self, point: Point) -> Visit:
        """The local step q(N, C) comes last: the bound needs it at its optimum."""
        H = update_factors(point.H, self.settings.shape_prior[1], self.threads)
        W, sums = self.users.visit(point.W, H, point.element)
        found = bound(sums.bound, sums.means, H, sums.totals, sums.log_evidence, point.element)
        return Visit(point.element, H, sums, W, point.H.row_rate, found)


def iterate(ascent: Ascent, here: Visit) -> Iterator[State]:
    """Yield the state after each iteration, for ever."""
    while True:
        point = ascent.improve(here)
        here = ascent.visit(point)
        yield State(point.element, point.W, point.H, here.bound)


def converged(previous: float, current: float, tol: float) -> bool:
    """Whether the bound has moved by less than `tol`, relative to its size. Never for tol = 0."""
    return tol > 0.0 and abs(current - previous) < tol * abs(previous)
