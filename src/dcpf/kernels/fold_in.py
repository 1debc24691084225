"""Rows against fixed columns, nothing of one depending on another: new rows, and the sessions at given entries."""

import math

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.elementary import log_gamma_and_digamma
from dcpf.kernels.jit import kernel
from dcpf.kernels.sweep import LARGEST, Entries, Floats, add_weighted_rows, log_rates, rates
from dcpf.kernels.table import Table, look_up


@kernel
def fold_in_rows(
    start: int,
    stop: int,
    entries: Entries,
    table: Table,
    c: float,
    item_side: tuple[Floats, NDArray[np.float64]],
    settings: tuple[float, bool, int, float],
    out: tuple[Floats, NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Iterate q(w_u), q(n_u) and b_u for each row with the items held fixed.

    item_side = (eH, sum_i E[h_i]), settings = (shape_prior, learn_rate, max_iter, tol),
    out = (shape, rate b_u, (lowest, highest) looked-up log rate); the incoming b_u is where its learning starts,
    and stays for a row without entries. A row is done when no E[w_uk] moves by more than tol of their sum.
    """
    eH, column_rate = item_side
    shape_prior, learn_rate, max_iter, tol = settings
    shape, row_rate, spans = out
    n, width = shape.shape[1], eH.shape[1]
    longest = 0
    for u in range(start, stop):
        longest = max(longest, entries.indptr[u + 1] - entries.indptr[u])
    lam, t, mean = np.empty(longest), np.empty(longest), np.empty(longest)
    jobs = np.empty(longest, np.int64)
    ratio = np.empty(longest, eH.dtype)
    scratch = np.empty(width, eH.dtype)
    share = np.empty(width)
    e = np.zeros((1, width), eH.dtype)
    w = np.empty(n)
    largest = LARGEST[eH.itemsize // 8]
    for u in range(start, stop):
        begin, end = entries.indptr[u], entries.indptr[u + 1]
        count = end - begin
        spans[u, 0], spans[u, 1] = np.inf, -np.inf
        if count == 0:
            shape[u] = shape_prior
            continue
        # As many expected sessions as entries, evenly over the components
        w[:] = count / column_rate.sum()
        for k in range(n):
            e[0, k] = w[k]
        for _ in range(max_iter):
            rates(e, 0, eH, entries.indices[begin:end], lam)
            log_rates(lam[:count], c, t)
            _, _, _, lowest, highest = look_up(table, entries.codes[begin:end], t, mean, jobs)
            spans[u, 0], spans[u, 1] = min(spans[u, 0], lowest), max(spans[u, 1], highest)
            for j in range(count):
                ratio[j] = min(mean[j] / lam[j], largest)
            add_weighted_rows(ratio[:count], entries.indices[begin:end], eH, scratch, share)
            total = w.sum()
            if learn_rate:
                row_rate[u] = n * shape_prior / total
            moved = 0.0
            for k in range(n):
                s = shape_prior + e[0, k] * share[k]
                rate = row_rate[u] + column_rate[k]
                shape[u, k] = s
                e[0, k] = math.exp(log_gamma_and_digamma(s)[1]) / rate
                moved = max(moved, abs(s / rate - w[k]))
                w[k] = s / rate
            if moved <= tol * total:
                break


@kernel
def sessions_at_entries(
    start: int,
    stop: int,
    entries: Entries,
    table: Table,
    c: float,
    factors: tuple[Floats, Floats],
    out: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """E[n_ui] given factors = (eW, eH); out = (E[n] by entry, (lowest, highest) looked-up log rate by row)."""
    eW, eH = factors
    mean, spans = out
    for u in range(start, stop):
        begin, end = entries.indptr[u], entries.indptr[u + 1]
        lam, t, jobs = np.empty(end - begin), np.empty(end - begin), np.empty(end - begin, np.int64)
        rates(eW, u, eH, entries.indices[begin:end], lam)
        log_rates(lam, c, t)
        _, _, _, lowest, highest = look_up(table, entries.codes[begin:end], t, mean[begin:end], jobs)
        spans[u, 0], spans[u, 1] = lowest, highest


@kernel
def sessions_at_rates(
    start: int,
    stop: int,
    entries: Entries,
    table: Table,
    c: float,
    lam: NDArray[np.float64],
    out: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """E[n_ui] given the rate at each entry; out = (E[n] by entry, (lowest, highest) looked-up log rate by row)."""
    mean, spans = out
    for u in range(start, stop):
        begin, end = entries.indptr[u], entries.indptr[u + 1]
        t, jobs = np.empty(end - begin), np.empty(end - begin, np.int64)
        log_rates(lam[begin:end], c, t)
        _, _, _, lowest, highest = look_up(table, entries.codes[begin:end], t, mean[begin:end], jobs)
        spans[u, 0], spans[u, 1] = lowest, highest
