"""q(w) of new rows, with the columns held fixed."""

import math

import numpy as np

from dcpf.kernels.compile import kernel
from dcpf.kernels.posterior import Doubles, Floats, PosteriorTable, log_rates, look_up
from dcpf.kernels.special import log_gamma_and_digamma
from dcpf.kernels.sweep import LARGEST, Entries, add_weighted_rows, rates


@kernel
def fold_in_rows(
    start: int,
    stop: int,
    entries: Entries,
    table: PosteriorTable,
    c: float,
    item_side: tuple[Floats, Doubles],
    settings: tuple[float, bool, int, float],
    out: tuple[Floats, Doubles, Doubles],
) -> None:
    """Iterate q(w_u), q(n_u) and b_u for each row with the items held fixed.

    item_side = (eH, sum_i E[h_i]), settings = (shape_prior, learn_rate, max_iter, tol),
    out = (shape, rate b_u, (lowest, highest) looked-up log rate). Learning of b_u starts from its value in `out`,
    which stays for a row without entries. A row is done when no E[w_uk] moves by more than tol of their sum.
    """
    eH, column_rate = item_side
    shape_prior, learn_rate, max_iter, tol = settings
    shape, row_rate, spans = out
    n = eH.shape[1]
    share, w = np.empty(n), np.empty(n)
    eW = np.empty((1, n), eH.dtype)
    largest = LARGEST[eH.itemsize // 8]
    for u in range(start, stop):
        begin, end = entries.indptr[u], entries.indptr[u + 1]
        items, codes, count = entries.indices[begin:end], entries.codes[begin:end], end - begin
        spans[u, 0], spans[u, 1] = np.inf, -np.inf
        if count == 0:
            shape[u] = shape_prior
            continue
        lam, t, mean, ratio = np.empty(count), np.empty(count), np.empty(count), np.empty(count, eH.dtype)
        # As many expected sessions as entries, evenly over the components
        w[:] = count / column_rate.sum()
        eW[0] = w
        for _ in range(max_iter):
            rates(eW, 0, eH, items, lam)
            log_rates(lam, c, t)
            _, _, _, lowest, highest = look_up(table, codes, t, mean)
            spans[u, 0], spans[u, 1] = min(spans[u, 0], lowest), max(spans[u, 1], highest)
            for j in range(count):
                ratio[j] = min(mean[j] / lam[j], largest)
            add_weighted_rows(ratio, items, eH, share)
            total = w.sum()
            if learn_rate:
                row_rate[u] = n * shape_prior / total
            moved = 0.0
            for k in range(n):
                s = shape_prior + eW[0, k] * share[k]
                rate = row_rate[u] + column_rate[k]
                shape[u, k] = s
                eW[0, k] = math.exp(log_gamma_and_digamma(s)[1]) / rate
                moved = max(moved, abs(s / rate - w[k]))
                w[k] = s / rate
            if moved <= tol * total:
                break
