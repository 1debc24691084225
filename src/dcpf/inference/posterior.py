"""The sessions behind stored counts and the likelihood of these counts, at given rates.

The cost depends neither on the size of the counts nor on the element.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.elements import Element
from dcpf.inference.data import Rows
from dcpf.inference.posterior_tables import PosteriorTables
from dcpf.kernels.posterior import PosteriorTable, posterior_at_rates
from dcpf.kernels.threads import Threads

Doubles = NDArray[np.float64]


def sessions_at(data: Rows, rates: Doubles, element: Element, threads: Threads) -> Doubles:
    """E[n_ui] at the stored entries, row by row, given the rate of sessions at each entry."""
    mean, _ = _posterior(data.counts, data.by_user.indptr, data.by_user.codes, rates, element, threads)
    return mean


def log_likelihood_of_counts(matrix: sparse.csr_array, rates: Doubles, element: Element, threads: Threads) -> Doubles:
    """For each row, the sum over its stored counts of log p(y) + rate = y theta + log Z_y(r).

    `rates` has the rate of sessions at each stored entry. Every pair of a user and an item, stored or not, has a
    term -rate besides: subtract the rates of all pairs to get the log-likelihood of the whole row.
    """
    counts, codes = np.unique(matrix.data, return_inverse=True)
    indptr = matrix.indptr.astype(np.int64)
    _, log_z = _posterior(counts.astype(np.int64), indptr, codes.astype(np.int32), rates, element, threads)
    totals = np.diff(np.concatenate([[0.0], np.cumsum(matrix.data, dtype=np.float64)])[indptr])
    return np.asarray(log_z + element.natural[0] * totals)


def _posterior(
    counts: NDArray[np.int64],
    indptr: NDArray[np.int64],
    codes: NDArray[np.int32],
    rates: Doubles,
    element: Element,
    threads: Threads,
) -> tuple[Doubles, Doubles]:
    """E[n] of each entry and the sum of log Z over each row, for codes of these distinct counts."""
    rows, (_, c) = len(indptr) - 1, element.natural
    mean, log_z, spans = np.empty(len(codes)), np.zeros(rows), np.empty((rows, 2))

    def attempt(table: PosteriorTable) -> tuple[float, float]:
        threads.run(posterior_at_rates, indptr, (indptr, codes), rates, table, c, (mean, log_z, spans))
        return float(spans[:, 0].min(initial=np.inf)), float(spans[:, 1].max(initial=-np.inf))

    PosteriorTables(counts, threads, learn_shape=False).run(element, (-c, -c), attempt)
    return mean, log_z
