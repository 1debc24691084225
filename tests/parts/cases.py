"""Models that the laws of parts are about: each kind of part, learned with an element among other kinds."""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from scipy import sparse

import dcpf
from dcpf.counts import Counts
from dcpf.kernels.threads import Threads
from dcpf.model import FittedModel
from dcpf.model.users import ask_for_rows
from dcpf.parts import Met, Part, UserBatch
from dcpf.ranking.rates import scores
from dcpf.simulation import listening_data

LISTENING = listening_data(np.random.default_rng(0), n_users=60, n_songs=40)
COUNTS = Counts.from_matrix(LISTENING.counts, LISTENING.users, LISTENING.songs)
USERS, ITEMS = COUNTS.shape
SINGLE = 1e-5  # what float32 leaves of a rate


@cache
def fitted(element: str, kinds: tuple[type[Part], ...], **parameters: Any) -> FittedModel:
    return fit(element, kinds, **parameters).fitted_


def fit(element: str, kinds: tuple[type[Part], ...], **parameters: Any) -> dcpf.DCPF:
    settings = {"max_iter": 6, "tol": 0.0, "random_state": 0, "n_jobs": 1} | parameters
    return dcpf.DCPF(4, element, **settings).fit(COUNTS, kinds=kinds)


@dataclass(frozen=True)
class Case:
    """A kind of part, learned with an element among others."""

    element: str
    kind: type[Part]
    kinds: tuple[type[Part], ...]

    def __str__(self) -> str:
        return f"{self.element}-{self.kind.name}"

    @property
    def whole(self) -> FittedModel:
        return fitted(self.element, self.kinds)

    @property
    def part(self) -> Part:
        return self.whole.part(self.kind.name)

    @cached_property
    def alone(self) -> FittedModel:
        return replace(self.whole, parts=(self.part,), weights=(1.0,))

    def fit(self, **parameters: Any) -> dcpf.DCPF:
        return fit(self.element, self.kinds, **parameters)


def batch_of(model: FittedModel, rows: np.ndarray) -> UserBatch:
    return ask_for_rows(model, rows).batch


def met(model: FittedModel, batch: UserBatch) -> tuple[Met, ...]:
    with Threads(1) as threads:
        return model.meet(batch, threads)


def rates_of(model: FittedModel, rows: np.ndarray | None = None) -> np.ndarray:
    """Users x items, by the definition."""
    rows = np.arange(len(model.users)) if rows is None else rows
    return rates_of_batch(model, batch_of(model, rows))


def rates_of_batch(model: FittedModel, batch: UserBatch) -> np.ndarray:
    rates = model.rates(met(model, batch))
    return scores(rates.users, rates.items)


def histories(rows: np.ndarray) -> UserBatch:
    """Users whom no model knows, with the counts of these rows."""
    return UserBatch(np.full(len(rows), -1), np.ones(len(rows), dtype=bool), sparse.csr_array(COUNTS.matrix[rows]))


def everything(rows: int) -> tuple[sparse.csr_array, sparse.csr_array]:
    """All pairs, and none."""
    return sparse.csr_array(np.ones((rows, ITEMS))), sparse.csr_array((rows, ITEMS), dtype=np.int64)
