"""Users that the fit has not seen, and the sessions behind given counts, with the items held fixed."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcpf.elements import Element
from dcpf.inference.data import Rows
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.tabulate import Tables, natural
from dcpf.inference.updates import GammaMoments
from dcpf.kernels.fold_in import fold_in_rows, sessions_at_entries, sessions_at_rates
from dcpf.kernels.table import Table
from dcpf.kernels.threads import Threads

_MAX_ITER = 1000
_TOL = 1e-6


def fold_in(
    data: Rows,
    items: GammaMoments,
    element: Element,
    shape_prior: float,
    rate: float,
    learn_rates: bool,
    threads: Threads,
    max_iter: int = _MAX_ITER,
    tol: float = _TOL,
) -> GammaPosterior:
    """q(W) of new users: the same updates with q(H) held fixed.

    `rate` is the b_u of a user without entries, and of all users if rates are not learned.
    """
    _, c = natural(element)
    rows = data.shape[0]
    shape = np.empty((rows, len(items.column_means)), dtype=items.geometric.dtype)
    rates, spans = np.empty(rows), np.empty((rows, 2))

    def attempt(table: Table) -> tuple[float, float]:
        rates[:] = rate
        item_side = (items.geometric, items.column_means)
        settings = (shape_prior, learn_rates, max_iter, tol)
        out = (shape, rates, spans)
        threads.run(fold_in_rows, data.by_user.indptr, data.by_user, table, c, item_side, settings, out)
        return float(spans[:, 0].min()), float(spans[:, 1].max())

    Tables(data.counts, threads, learn_shape=False).run(element, (-c, -c), attempt)
    return GammaPosterior(shape, rates, items.column_means)


def sessions_of(
    data: Rows, users: GammaMoments, items: GammaMoments, element: Element, threads: Threads
) -> NDArray[np.float64]:
    """E[n_ui] at the stored entries, by rows, where there are factors alone."""
    return _sessions(data, element, sessions_at_entries, (users.geometric, items.geometric), threads)


def sessions_at(data: Rows, rates: NDArray[np.float64], element: Element, threads: Threads) -> NDArray[np.float64]:
    """E[n_ui] at the stored entries, by rows, where these are the rates."""
    return _sessions(data, element, sessions_at_rates, rates, threads)


def _sessions(
    data: Rows, element: Element, kernel: Callable[..., None], rated_by: Any, threads: Threads
) -> NDArray[np.float64]:
    _, c = natural(element)
    mean, spans = np.empty(len(data.by_user.indices)), np.empty((data.shape[0], 2))

    def attempt(table: Table) -> tuple[float, float]:
        threads.run(kernel, data.by_user.indptr, data.by_user, table, c, rated_by, (mean, spans))
        return float(spans[:, 0].min()), float(spans[:, 1].max())

    Tables(data.counts, threads, learn_shape=False).run(element, (-c, -c), attempt)
    return mean
