"""The local step q(N, C): one pass by users, one by items, nothing of size entries x components."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.elementary import fast_log
from dcpf.kernels.jit import kernel, summing_step
from dcpf.kernels.lines import LINE
from dcpf.kernels.table import Table, look_up
from dcpf.kernels.vectors import TOGETHER, add_rows, dots

GROUP = 64  # users whose ratios are put into the order by columns at a time
_WHOLE = 32  # entries of the longest loop over vectors: of a multiple of it none is left over
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


# What a group of users adds to what all share, in this order.
LOG_EVIDENCE, SESSIONS, SHAPE, LOWEST, HIGHEST = range(5)
TALLIES = 5


@summing_step
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


@summing_step
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
        add_rows(weights, rows, begin, end, factors, scratch)
        for k in range(whole, n):
            scratch[k] = 0.0
            for e in range(begin, end):
                scratch[k] += weights[e] * factors[rows[e], k]
        for k in range(n):
            out[k] += scratch[k]
        begin = end


@summing_step
def log_rates(lam: Floats, c: float, out: NDArray[np.float64]) -> None:
    """Equivalent to out = log(lam) - c; NaN where a rate is not finite, of which fast_log would make some number."""
    for j in range(len(lam)):
        out[j] = fast_log(np.float64(lam[j])) - c if lam[j] < np.inf else np.nan


@summing_step
def sum_of_logs(lam: Floats) -> float:
    """Equivalent to sum(log(lam)); NaN where a rate is not finite. In float32 there is one logarithm for four."""
    total, done = 0.0, 0
    if lam.itemsize == 4:
        n = len(lam) // 4
        done = 4 * n
        for j in range(n):
            low = np.float64(lam[j]) * np.float64(lam[n + j])
            high = np.float64(lam[2 * n + j]) * np.float64(lam[3 * n + j])
            total += fast_log(low * high) if low * high < np.inf else np.nan
    for j in range(done, len(lam)):
        total += fast_log(np.float64(lam[j])) if lam[j] < np.inf else np.nan
    return total


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
    """q(n) at the entries of each user, and the shapes of q(W) that follow from it, of the groups start .. stop.

    factors = (eW, eH), out = (shape, ratio, tallies): with lam = eW[u] . eH[i] at a stored entry (u, i),
        ratio[place[entry]] = E[n_ui] / lam, in the order by columns
        shape[u, k] = shape_prior + eW[u, k] sum_i ratio[u, i] eH[i, k]
        tallies[group] = sum log Z(r_ui), sum E[n_ui], sum E[m_ui], lowest and highest looked-up log rate
    """
    eW, eH = factors
    shape, ratio, tallies = out
    indptr, (users, n) = entries.indptr, shape.shape
    most = 0
    for group in range(start, stop):
        most = max(most, indptr[min((group + 1) * GROUP, users)] - indptr[group * GROUP])
    most += _WHOLE
    t, mean, jobs = np.empty(most), np.empty(most), np.empty(most, np.int64)
    lam, weights = np.empty(most, eW.dtype), np.empty(most, eW.dtype)
    for j in range(most):
        mean[j], lam[j] = 1.0, 1.0
    scratch, share = np.empty(eW.shape[1], eW.dtype), np.empty(eW.shape[1])
    largest = eW.dtype.type(LARGEST[eW.itemsize // 8])
    for group in range(start, stop):
        first, last = group * GROUP, min((group + 1) * GROUP, users)
        log_z, sessions, shapes, lowest, highest = 0.0, 0.0, 0.0, np.inf, -np.inf
        for u in range(first, last):
            begin, end = indptr[u], indptr[u + 1]
            items, codes, count = entries.indices[begin:end], entries.codes[begin:end], end - begin
            rates(eW, u, eH, items, lam)
            # Counts are ascending: those of 1, where n = 1, need the sum of their log Z alone
            ones = 0
            while ones < count and codes[ones] < table.own < len(table.slope):
                mean[ones] = 1.0
                ones += 1
            log_rates(lam[ones:count], c, t)
            found = look_up(table, codes[ones:], t, mean[ones:], jobs)
            log_z += found[0] + sum_of_logs(lam[:ones]) - ones * c
            sessions += found[1] + ones
            shapes += found[2]
            lowest, highest = min(lowest, found[3]), max(highest, found[4])
            mine = weights[begin - indptr[first] :]
            for j in range((count + _WHOLE - 1) & -_WHOLE):
                mine[j] = mean[j]  # and then in the precision of the factors, in which to divide takes half as long
            for j in range((count + _WHOLE - 1) & -_WHOLE):
                mine[j] = min(mine[j] / lam[j], largest)
            add_weighted_rows(mine[:count], items, eH, scratch, share)
            for k in range(n):
                shape[u, k] = shape_prior + eW[u, k] * share[k]
        place = entries.place[indptr[first] : indptr[last]]
        for e in range(len(place)):  # by themselves: stores to far places hold up what is between them
            ratio[place[e]] = weights[e]
        tallies[group, LOG_EVIDENCE], tallies[group, SESSIONS], tallies[group, SHAPE] = log_z, sessions, shapes
        tallies[group, LOWEST], tallies[group, HIGHEST] = lowest, highest


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
