"""log p(y | rate) of stored counts, at a cost that depends neither on the counts nor on the element."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.elements import Element
from dcpf.inference.tabulate import Tables, natural
from dcpf.kernels.evidence import log_evidence
from dcpf.kernels.table import Table
from dcpf.kernels.threads import Threads

Doubles = NDArray[np.float64]


def log_likelihood_of_counts(matrix: sparse.csr_array, rates: Doubles, element: Element, threads: Threads) -> Doubles:
    """For each row, the sum over its stored counts of log p(y) + rate = y theta + log Z_y(r).

    `rates` has the rate of sessions at each stored entry. What is added, the rate, is the part that zeros have as
    well: subtract the rates of all pairs, stored or not, to have the log-likelihood of the whole row.
    """
    counts, codes = np.unique(matrix.data, return_inverse=True)
    theta, c = natural(element)
    rows = matrix.shape[0]
    sums, spans = np.zeros(rows), np.empty((rows, 2))
    entries = (matrix.indptr.astype(np.int64), codes.astype(np.int32))

    def attempt(table: Table) -> tuple[float, float]:
        threads.run(log_evidence, entries[0], entries, rates, table, c, (sums, spans))
        return float(spans[:, 0].min(initial=np.inf)), float(spans[:, 1].max(initial=-np.inf))

    Tables(counts.astype(np.int64), threads, learn_shape=False).run(element, (-c, -c), attempt)
    totals = np.diff(np.concatenate([[0.0], np.cumsum(matrix.data, dtype=np.float64)])[entries[0]])
    return np.asarray(sums + theta * totals)
