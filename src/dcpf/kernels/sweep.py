"""The local step q(N, C): one pass by users and one by items, without arrays of size entries x components."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.compile import kernel, step, summing_step
from dcpf.kernels.posterior import Doubles, Floats, PosteriorTable, log_rates, look_up
from dcpf.kernels.special import fast_log

# In float32 and in float64: the least rate, and the largest E[n] / rate. np.finfo compiles slowly inside a kernel.
_SMALLEST = tuple(float(np.finfo(dtype).tiny) for dtype in (np.float32, np.float64))
LARGEST = tuple(1e-3 * float(np.finfo(dtype).max) for dtype in (np.float32, np.float64))


class Entries(NamedTuple):
    """The stored counts by rows: entry e of row u has indptr[u] <= e < indptr[u + 1].

    In a fit, each row is sorted by count, so that the counts of 1, which need no table, come first.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    codes: NDArray[np.int32]  # of the distinct counts, ascending
    place: NDArray[np.int32]  # of the entry in the order by columns


class Columns(NamedTuple):
    """The stored entries by columns: indptr[i] <= e < indptr[i + 1] for entry e of column i, rows ascending."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]


# A user's contributions to the sums over all users, in this order.
LOG_EVIDENCE, SESSIONS, SHAPE, LOWEST, HIGHEST = range(5)
TALLIES = 5


@summing_step
def rates(eW: Floats, u: int, eH: Floats, items: NDArray[np.int32], out: Floats) -> None:
    """out[j] = Lam_ui = sum_k eW[u, k] eH[items[j], k], or the smallest normal number if that is less.

    Equivalent to out[: len(items)] = np.maximum(eH[items] @ eW[u], tiny), four items at a time.
    """
    zero, smallest = eW.dtype.type(0.0), eW.dtype.type(_SMALLEST[eW.itemsize // 8])
    last = len(items) - 1
    for j in range(0, len(items), 4):
        j1, j2, j3 = min(j + 1, last), min(j + 2, last), min(j + 3, last)  # the last item again at the end
        # Unsigned, which spares the check for a negative index
        i0, i1, i2, i3 = np.uint32(items[j]), np.uint32(items[j1]), np.uint32(items[j2]), np.uint32(items[j3])
        s0, s1, s2, s3 = zero, zero, zero, zero
        for k in range(eW.shape[1]):
            w = eW[u, k]
            s0 += w * eH[i0, k]
            s1 += w * eH[i1, k]
            s2 += w * eH[i2, k]
            s3 += w * eH[i3, k]
        out[j3], out[j2], out[j1], out[j] = s3, s2, s1, s0
    for j in range(len(items)):
        out[j] = max(out[j], smallest)


@step
def add_weighted_rows(weights: Floats, rows: NDArray[np.int32], factors: Floats, out: Doubles) -> None:
    """Equivalent to out[:] = weights @ factors[rows], four rows at a time, added up in float64."""
    n, count, zero = factors.shape[1], len(rows), factors.dtype.type(0.0)
    for k in range(n):
        out[k] = 0.0
    for j in range(0, count, 4):
        j1, j2, j3 = min(j + 1, count - 1), min(j + 2, count - 1), min(j + 3, count - 1)
        r0, r1, r2, r3 = np.uint32(rows[j]), np.uint32(rows[j1]), np.uint32(rows[j2]), np.uint32(rows[j3])
        w0, w1 = weights[j], weights[j1] if j1 == j + 1 else zero
        w2, w3 = weights[j2] if j2 == j + 2 else zero, weights[j3] if j3 == j + 3 else zero
        for k in range(n):
            out[k] += (w0 * factors[r0, k] + w1 * factors[r1, k]) + (w2 * factors[r2, k] + w3 * factors[r3, k])


@summing_step
def sum_of_logs(lam: Floats) -> float:
    """Equivalent to sum(log(lam)); NaN where a rate is not finite. In float32 one logarithm serves four rates."""
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
    table: PosteriorTable,
    c: float,
    factors: tuple[Floats, Floats],
    shape_prior: float,
    out: tuple[Floats, Floats, Doubles],
) -> None:
    """q(n) at the entries of each user, and the shapes of q(W) that follow.

    factors = (eW, eH), out = (shape, ratio, tallies): with lam = eW[u] . eH[i] at a stored entry (u, i),
        ratio[place[entry]] = E[n_ui] / lam, in the order by columns
        shape[u, k] = shape_prior + eW[u, k] sum_i ratio[u, i] eH[i, k]
        tallies[u] = sum log Z(r_ui), sum E[n_ui], sum E[m_ui], lowest and highest looked-up log rate
    """
    eW, eH = factors
    shape, ratio, tallies = out
    most = 0
    for u in range(start, stop):
        most = max(most, entries.indptr[u + 1] - entries.indptr[u])
    t, mean, lam, weights = np.empty(most), np.empty(most), np.empty(most, eW.dtype), np.empty(most, eW.dtype)
    share = np.empty(eW.shape[1])
    largest = eW.dtype.type(LARGEST[eW.itemsize // 8])
    for u in range(start, stop):
        begin, end = entries.indptr[u], entries.indptr[u + 1]
        items, codes, place = entries.indices[begin:end], entries.codes[begin:end], entries.place[begin:end]
        count = len(items)
        rates(eW, u, eH, items, lam)
        # Counts of 1 come first: n = 1 there, and only the sum of log Z is needed
        ones = 0
        while ones < count and codes[ones] < table.own < len(table.slope):
            mean[ones] = 1.0
            ones += 1
        log_rates(lam[ones:count], c, t)
        log_z, sessions, shapes, lowest, highest = look_up(table, codes[ones:], t, mean[ones:])
        tallies[u, LOG_EVIDENCE] = log_z + sum_of_logs(lam[:ones]) - ones * c
        tallies[u, SESSIONS], tallies[u, SHAPE] = sessions + ones, shapes
        tallies[u, LOWEST], tallies[u, HIGHEST] = lowest, highest
        for j in range(count):
            weights[j] = mean[j]  # in the precision of the factors, in which dividing is faster
        for j in range(count):
            weights[j] = min(weights[j] / lam[j], largest)
        add_weighted_rows(weights, items, eH, share)
        for k in range(len(share)):
            shape[u, k] = shape_prior + eW[u, k] * share[k]
        for j in range(count):
            ratio[place[j]] = weights[j]


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
    """The shapes of q(H) by these users: shape[i, k] = shape_prior + eH[i, k] sum_u ratio[u, i] eW[u, k]."""
    eW, eH = factors
    share = np.empty(eW.shape[1])
    for i in range(start, stop):
        begin, end = columns.indptr[i], columns.indptr[i + 1]
        add_weighted_rows(ratio[begin:end], columns.indices[begin:end], eW, share)
        for k in range(len(share)):
            shape[i, k] = shape_prior + eH[i, k] * share[k]
