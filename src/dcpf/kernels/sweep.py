"""The local step q(N, C): one pass by users, one by items, nothing of size entries x components."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.elementary import fast_log
from dcpf.kernels.jit import kernel, summing_kernel
from dcpf.kernels.table import Table, look_up

_RUN = 64  # entries summed in the factors' own precision before they are added to a float64

Floats = NDArray[np.floating]


class Entries(NamedTuple):
    """The stored counts by rows: entry e of row u has indptr[u] <= e < indptr[u + 1]."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    codes: NDArray[np.int32]  # which of the distinct counts


# What a row of users adds to what all share, in this order.
LOG_EVIDENCE, SESSIONS, SHAPE, LOWEST, HIGHEST = range(5)
TALLIES = 5


@summing_kernel
def dot(a: Floats, i: int, b: Floats, j: int) -> float:
    """Equivalent to a[i] @ b[j]."""
    total = a.dtype.type(0.0)
    for k in range(a.shape[1]):
        total += a[i, k] * b[j, k]
    return np.float64(total)


@summing_kernel
def add_weighted_rows(
    weights: Floats, rows: NDArray[np.int32], factors: Floats, scratch: Floats, out: NDArray[np.float64]
) -> None:
    """Equivalent to out[:] = weights @ factors[rows]: four rows at a time, in runs, the runs in float64."""
    n = factors.shape[1]
    count = len(rows)
    out[:] = 0.0
    begin = 0
    while begin < count:
        end = min(begin + _RUN, count)
        scratch[:] = 0.0
        e = begin
        while e + 4 <= end:
            r0, r1, r2, r3 = weights[e], weights[e + 1], weights[e + 2], weights[e + 3]
            i0, i1, i2, i3 = rows[e], rows[e + 1], rows[e + 2], rows[e + 3]
            for k in range(n):
                scratch[k] += (r0 * factors[i0, k] + r1 * factors[i1, k]) + (
                    r2 * factors[i2, k] + r3 * factors[i3, k]
                )
            e += 4
        while e < end:
            r0, i0 = weights[e], rows[e]
            for k in range(n):
                scratch[k] += r0 * factors[i0, k]
            e += 1
        for k in range(n):
            out[k] += scratch[k]
        begin = end


@kernel
def log_rates(lam: NDArray[np.float64], c: float, out: NDArray[np.float64]) -> None:
    """Equivalent to out = log(lam) - c."""
    for j in range(len(lam)):
        out[j] = fast_log(lam[j]) - c


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
        ratio[entry] = E[n_ui] / lam
        shape[u, k] = shape_prior + eW[u, k] sum_i ratio[u, i] eH[i, k]
        tallies[u] = sum_i log Z(r_ui), sum_i E[n_ui], sum_i E[m_ui], lowest and highest looked-up log rate
    """
    eW, eH = factors
    shape, ratio, tallies = out
    n = eW.shape[1]
    longest = 0
    for u in range(start, stop):
        longest = max(longest, entries.indptr[u + 1] - entries.indptr[u])
    lam = np.empty(longest)
    t = np.empty(longest)
    mean = np.empty(longest)
    scratch = np.empty(n, eW.dtype)
    share = np.empty(n)
    smallest, largest = np.float64(np.finfo(eW.dtype).tiny), 1e-3 * np.float64(np.finfo(eW.dtype).max)
    for u in range(start, stop):
        begin, end = entries.indptr[u], entries.indptr[u + 1]
        count = end - begin
        for j in range(count):
            lam[j] = max(dot(eW, u, eH, entries.indices[begin + j]), smallest)
        log_rates(lam[:count], c, t)
        log_z, sessions, shapes, lowest, highest = look_up(table, entries.codes[begin:end], t, mean)
        for j in range(count):
            ratio[begin + j] = min(mean[j] / lam[j], largest)
        add_weighted_rows(ratio[begin:end], entries.indices[begin:end], eH, scratch, share)
        for k in range(n):
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
    by_item: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]],
    ratio: Floats,
    factors: tuple[Floats, Floats],
    shape_prior: float,
    shape: Floats,
) -> None:
    """The shapes of q(H): shape[i, k] = shape_prior + eH[i, k] sum_u ratio[u, i] eW[u, k].

    by_item = (indptr, users, where): the entries by columns, and where each stands in the order by rows.
    """
    indptr, users, where = by_item
    eW, eH = factors
    n = eW.shape[1]
    longest = 0
    for i in range(start, stop):
        longest = max(longest, indptr[i + 1] - indptr[i])
    weights = np.empty(longest, eW.dtype)
    scratch = np.empty(n, eW.dtype)
    share = np.empty(n)
    for i in range(start, stop):
        begin, end = indptr[i], indptr[i + 1]
        for j in range(end - begin):
            weights[j] = ratio[where[begin + j]]
        add_weighted_rows(weights[: end - begin], users[begin:end], eW, scratch, share)
        for k in range(n):
            shape[i, k] = shape_prior + eH[i, k] * share[k]
