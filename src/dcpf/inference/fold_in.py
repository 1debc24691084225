"""Users that the fit has not seen, with the items held fixed."""

import numpy as np

from dcpf.elements import Element
from dcpf.inference.data import Rows
from dcpf.inference.gammas import GammaPosterior
from dcpf.inference.posterior_tables import PosteriorTables
from dcpf.inference.updates import GammaMoments
from dcpf.kernels.fold_in import fold_in_rows
from dcpf.kernels.posterior import PosteriorTable
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
    """q(W) of new users: the updates of a fit with q(H) held fixed.

    `rate` is the b_u of a user without entries, and of all users if rates are not learned.
    """
    _, c = element.natural
    rows = data.shape[0]
    shape = np.empty((rows, len(items.column_means)), dtype=items.geometric.dtype)
    rates, spans = np.empty(rows), np.empty((rows, 2))

    def attempt(table: PosteriorTable) -> tuple[float, float]:
        rates[:] = rate
        item_side = (items.geometric, items.column_means)
        settings = (shape_prior, learn_rates, max_iter, tol)
        out = (shape, rates, spans)
        threads.run(fold_in_rows, data.by_user.indptr, data.by_user, table, c, item_side, settings, out)
        return float(spans[:, 0].min()), float(spans[:, 1].max())

    PosteriorTables(data.counts, threads, learn_shape=False).run(element, (-c, -c), attempt)
    return GammaPosterior(shape, rates, items.column_means)
