"""The likelihood of counts at given rates, looked up where the sweep looks."""

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.jit import kernel
from dcpf.kernels.sweep import log_rates
from dcpf.kernels.table import Table, look_up


@kernel
def log_evidence(
    start: int,
    stop: int,
    entries: tuple[NDArray[np.int64], NDArray[np.int32]],
    rates: NDArray[np.float64],
    table: Table,
    c: float,
    out: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Sum of log Z_y(rate exp(-c)) over the entries of each row; entries = (indptr, codes of the counts).

    out = (the sum by row, (lowest, highest) looked-up log rate by row).
    """
    indptr, codes = entries
    sums, spans = out
    for u in range(start, stop):
        begin, end = indptr[u], indptr[u + 1]
        t, mean, jobs = np.empty(end - begin), np.empty(end - begin), np.empty(end - begin, np.int64)
        log_rates(rates[begin:end], c, t)
        sums[u], _, _, spans[u, 0], spans[u, 1] = look_up(table, codes[begin:end], t, mean, jobs)
