"""The strengths of excitation, item by item.

At a stored entry (u, i) excitation adds sum_j x_uj s_ji to the rate, over the sources j of i that the user has. Users
are given by rows of x, strengths here by rows of sources for each item. Rows of both are ascending.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels import Csr
from dcpf.kernels.compile import kernel, step
from dcpf.kernels.lookup import find
from dcpf.kernels.posterior import PosteriorTable, log_rates, look_up
from dcpf.kernels.selection import key_of, partition, score_of

Doubles = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.integer]

_FAR = 16  # a user with so many times more items than an item has sources is searched, not walked through


class Hits(NamedTuple):
    """Where the users of an item have its sources: user by user, which of them, and x."""

    ends: NDArray[np.int64]
    places: NDArray[np.int32]
    x: NDArray[np.float32]


@step
def hits_of(sources: Integers, users: Integers, given: Csr, where: NDArray[np.int32]) -> Hits:
    """The hits of one item; `where` is scratch of -1, one for each item."""
    length, room = len(sources), 0
    for r in range(len(users)):
        room += min(length, given.indptr[users[r] + 1] - given.indptr[users[r]])
    ends, places, x = np.empty(len(users), np.int64), np.empty(room, np.int32), np.empty(room, np.float32)
    for k in range(length):
        where[sources[k]] = k
    n = 0
    for r in range(len(users)):
        begin, end = given.indptr[users[r]], given.indptr[users[r] + 1]
        if end - begin > _FAR * length:
            for k in range(length):
                e = find(given.indices, begin, end, sources[k])
                if e >= 0:
                    places[n], x[n] = k, given.data[e]
                    n += 1
        else:
            for e in range(begin, end):
                k = where[given.indices[e]]
                if k >= 0:
                    places[n], x[n] = k, given.data[e]
                    n += 1
        ends[r] = n
    for k in range(length):
        where[sources[k]] = -1
    return Hits(ends, places, x)


@kernel
def learn_strengths(
    start: int,
    stop: int,
    columns: tuple[Integers, NDArray[np.int32], NDArray[np.int32]],
    given: Csr,
    others: Singles,
    table: PosteriorTable,
    c: float,
    prior: tuple[Csr, Doubles, Doubles],
    settings: tuple[int, float],
    out: tuple[NDArray[np.float32], Doubles],
) -> None:
    """The strengths of the sources of each item, by expectation-maximization for their mode. Items do not mix.

    columns = (indptr, users, codes of the counts) by items; prior = (sources and means, and by sources the weights
    m_j and sum_u x_uj), settings = (max_iter, tol), out = (strength, (lowest, highest) looked-up log rate). With lam
    the rate of w . h and of excitation at the entries of an item i, and E[n] by the table,
        s_ji <- (m_j mean_ji + s_ji sum_u x_uj E[n_ui] / lam_ui) / (m_j + sum_u x_uj)
    from the means on, until none of them moves by more than tol of the largest. Each iteration starts from a point
    beyond the last, by a growing part of the last step (Nesterov's momentum): so half as many do.
    """
    first, users, codes = columns
    lists, weights, sums = prior
    max_iter, tol = settings
    strength, spans = out
    where = np.empty(len(first) - 1, np.int32)
    for j in range(len(where)):  # one by one, here and below: to assign a slice takes long to compile
        where[j] = -1
    longest = 0
    for i in range(start, stop):
        longest = max(longest, lists.indptr[i + 1] - lists.indptr[i])
    shares, points = np.empty(longest), np.empty(longest, np.float32)
    for i in range(start, stop):
        begin, end = first[i], first[i + 1]
        here, there = lists.indptr[i], lists.indptr[i + 1]
        sources, mean, s = lists.indices[here:there], lists.data[here:there], strength[here:there]
        share, point = shares[: len(s)], points[: len(s)]
        for k in range(len(s)):
            s[k], point[k] = mean[k], mean[k]
        spans[i, 0], spans[i, 1] = np.inf, -np.inf
        mine = users[begin:end]
        hits = hits_of(sources, mine, given, where)
        if len(hits.x) == 0:
            continue
        base, lam, t, n = np.empty(end - begin), np.empty(end - begin), np.empty(end - begin), np.empty(end - begin)
        for r in range(len(base)):
            base[r] = others[begin + r]
        for iteration in range(max_iter):
            add_hits(hits, point, base, lam)
            log_rates(lam, c, t)
            _, _, _, lowest, highest = look_up(table, codes[begin:end], t, n)
            spans[i, 0], spans[i, 1] = min(spans[i, 0], lowest), max(spans[i, 1], highest)
            share_out(hits, n, lam, share)
            moved, largest, push = 0.0, 0.0, iteration / (iteration + 3.0)
            for k in range(len(s)):
                j = sources[k]
                new = (weights[j] * mean[k] + point[k] * share[k]) / (weights[j] + sums[j])
                moved, largest = max(moved, abs(new - point[k])), max(largest, new)
                point[k] = max(new + push * (new - s[k]), 0.1 * new)
                s[k] = new
            if moved <= tol * largest:
                break


@kernel
def keep_strong(lists: Csr, found: NDArray[np.float32], enough: float, at_least: int) -> None:
    """Keep of each list what was found to be strong enough, or among the strongest few. Lists move up in place."""
    indptr, sources, strength = lists
    begin, size, longest = indptr[0], 0, 0
    for i in range(len(indptr) - 1):
        longest = max(longest, indptr[i + 1] - indptr[i])
    keys = np.empty(longest, np.int64)
    for i in range(len(indptr) - 1):
        end, level = indptr[i + 1], np.float32(0.0)
        if end - begin > at_least:
            for e in range(begin, end):
                keys[e - begin] = key_of(found[e], e - begin)
            partition(keys, 0, end - begin, at_least)  # our own, since numpy's takes numba four seconds to compile
            level = min(np.float32(enough), score_of(keys[at_least - 1]))
        for e in range(begin, end):
            if found[e] >= level and found[e] > 0.0:
                sources[size], strength[size] = sources[e], strength[e]
                size += 1
        begin, indptr[i + 1] = end, size


@step
def add_hits(hits: Hits, strength: NDArray[np.float32], base: Doubles, out: Doubles) -> None:
    """out[r] = base[r] + the excitation of the r-th user."""
    e = 0
    for r in range(len(base)):
        total = base[r]
        while e < hits.ends[r]:
            total += np.float64(hits.x[e]) * np.float64(strength[hits.places[e]])
            e += 1
        out[r] = total


@step
def share_out(hits: Hits, n: Doubles, lam: Doubles, share: Doubles) -> None:
    """share[k] = sum_u x_uk E[n_u] / lam_u over the users who have source k."""
    for k in range(len(share)):
        share[k] = 0.0
    e = 0
    for r in range(len(lam)):
        ratio = n[r] / lam[r]
        while e < hits.ends[r]:
            share[hits.places[e]] += np.float64(hits.x[e]) * ratio
            e += 1
