"""The local step q(N, C): one pass by users, one by items, nothing of size entries x components."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.elementary import fast_log
from dcpf.kernels.jit import kernel, summing_kernel
from dcpf.kernels.table import Table, look_up
from dcpf.kernels.vectors import LINE, TOGETHER, add_row, add_rows, dots

_RUN = 64  # entries summed in the factors' own precision before they are added to a float64

# In float32 and in float64: a rate is no less, and E[n] / rate no more. Asked for in a kernel, they compile slowly.
_SMALLEST = tuple(float(np.finfo(dtype).tiny) for dtype in (np.float32, np.float64))
LARGEST = tuple(1e-3 * float(np.finfo(dtype).max) for dtype in (np.float32, np.float64))

Floats = NDArray[np.floating]

# Factors may have columns of zeros at the end (kernels/aligned.py); shapes have none.


class Entries(NamedTuple):
    """The stored counts by rows: entry e of row u has indptr[u] <= e < indptr[u + 1].

    In a fit they stand by count within a row, so that those of 1, which need no table, are together.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    codes: NDArray[np.int32]  # which of the distinct counts
    place: NDArray[np.int32]  # where the entry stands in the order by columns


class Columns(NamedTuple):
    """The stored entries by columns: those of column i stand at indptr[i] to indptr[i + 1], rows ascending."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]


# What a row of users adds to what all share, in this order.
LOG_EVIDENCE, SESSIONS, SHAPE, LOWEST, HIGHEST = range(5)
TALLIES = 5


@summing_kernel
def rates(eW: Floats, u: int, eH: Floats, items: NDArray[np.int32], out: Floats) -> None:
    """out[j] = Lam_ui = sum_k eW[u, k] eH[items[j], k], or the smallest normal number if that is less.

    Equivalent to out[: len(items)] = np.maximum(eH[items] @ eW[u], tiny): some items at a time.
    """
    smallest = eW.dtype.type(_SMALLEST[eW.itemsize // 8])
    n, count = eW.shape[1], len(items)
    whole = n - n % (LINE // eW.itemsize)
    if count >= TOGETHER:
        for j in range(0, count - TOGETHER, TOGETHER):
            dots(eW, u, eH, items, j, out)
        dots(eW, u, eH, items, count - TOGETHER, out)  # some again, which takes less than the last ones one by one
    else:
        whole = 0
    if whole < n:
        for j in range(count):
            rest = out[j] if whole > 0 else 0.0
            for k in range(whole, n):
                rest += eW[u, k] * eH[items[j], k]
            out[j] = rest
    for j in range(count):
        out[j] = max(out[j], smallest)


@summing_kernel
def add_weighted_rows(
    weights: Floats, rows: NDArray[np.int32], factors: Floats, scratch: Floats, out: NDArray[np.float64]
) -> None:
    """Equivalent to out[:] = weights @ factors[rows]: some rows at a time, in runs, the runs in float64."""
    n, count = factors.shape[1], len(rows)
    whole = n - n % (LINE // factors.itemsize)
    for k in range(n):
        out[k] = 0.0
    begin = 0
    while begin < count:
        end = min(begin + _RUN, count)
        for k in range(n):
            scratch[k] = 0.0
        e = begin
        while e + TOGETHER <= end:
            add_rows(weights, rows, e, factors, scratch)
            e += TOGETHER
        while e < end:
            add_row(weights, rows, e, factors, scratch)
            e += 1
        if whole < n:
            for e in range(begin, end):
                for k in range(whole, n):
                    scratch[k] += weights[e] * factors[rows[e], k]
        for k in range(n):
            out[k] += scratch[k]
        begin = end


@summing_kernel
def log_rates(lam: Floats, c: float, out: NDArray[np.float64]) -> None:
    """Equivalent to out = log(lam) - c; NaN where a rate is not finite, of which fast_log would make some number."""
    for j in range(len(lam)):
        out[j] = fast_log(np.float64(lam[j])) - c if lam[j] < np.inf else np.nan


@kernel
def sweep_users(
    start: int,
    stop: int,
    entries: Entries,
    table: Table,
    c: float,
    factors: tuple[Floats, Floats],
    shape_prior: float,
    out: tuple[Floats, Floats, NDArray[np.float64]],
) -> None:
    """q(n) at the entries of each user, and the shapes of q(W) that follow from it.

    factors = (eW, eH), out = (shape, ratio, tallies): with lam = eW[u] . eH[i] at a stored entry (u, i),
        ratio[place[entry]] = E[n_ui] / lam, in the order by columns
        shape[u, k] = shape_prior + eW[u, k] sum_i ratio[u, i] eH[i, k]
        tallies[u] = sum_i log Z(r_ui), sum_i E[n_ui], sum_i E[m_ui], lowest and highest looked-up log rate
    """
    eW, eH = factors
    shape, ratio, tallies = out
    n = eW.shape[1]
    longest = 0
    for u in range(start, stop):
        longest = max(longest, entries.indptr[u + 1] - entries.indptr[u])
    t, mean, jobs = np.empty(longest), np.empty(longest), np.empty(longest, np.int64)
    lam, weights = np.empty(longest, eW.dtype), np.empty(longest, eW.dtype)
    scratch, share = np.empty(n, eW.dtype), np.empty(n)
    largest = eW.dtype.type(LARGEST[eW.itemsize // 8])
    for u in range(start, stop):
        begin, end = entries.indptr[u], entries.indptr[u + 1]
        count = end - begin
        items = entries.indices[begin:end]
        rates(eW, u, eH, items, lam)
        log_rates(lam[:count], c, t)
        log_z, sessions, shapes, lowest, highest = look_up(table, entries.codes[begin:end], t, mean, jobs)
        for j in range(count):
            weights[j] = mean[j]  # and then in the precision of the factors, in which to divide takes half as long
        for j in range(count):
            weights[j] = min(weights[j] / lam[j], largest)
        place = entries.place[begin:end]
        for j in range(count):
            ratio[place[j]] = weights[j]
        add_weighted_rows(weights[:count], items, eH, scratch, share)
        for k in range(shape.shape[1]):
            shape[u, k] = shape_prior + eW[u, k] * share[k]
        tallies[u, LOG_EVIDENCE] = log_z
        tallies[u, SESSIONS] = sessions
        tallies[u, SHAPE] = shapes
        tallies[u, LOWEST] = lowest
        tallies[u, HIGHEST] = highest


@kernel
def sweep_items(
    start: int,
    stop: int,
    columns: Columns,
    ratio: Floats,
    factors: tuple[Floats, Floats],
    shape_prior: float,
    shape: Floats,
) -> None:
    """The shapes of q(H) as these users have it: shape[i, k] = shape_prior + eH[i, k] sum_u ratio[u, i] eW[u, k]."""
    eW, eH = factors
    n = eW.shape[1]
    scratch = np.empty(n, eW.dtype)
    share = np.empty(n)
    for i in range(start, stop):
        begin, end = columns.indptr[i], columns.indptr[i + 1]
        add_weighted_rows(ratio[begin:end], columns.indices[begin:end], eW, scratch, share)
        for k in range(shape.shape[1]):
            shape[i, k] = shape_prior + eH[i, k] * share[k]
