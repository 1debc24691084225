"""Excitation: sessions with one item bring sessions with others.

At an entry (u, i) it adds sum_j x_uj s_ji to the rate, over the sources j of i that the user has. What users have is
given by rows of x, `Exciting`; the strengths s_ji by items, `Lists`. Rows of both are ascending.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.best import key_of, partition, score_of
from dcpf.kernels.coded import PLACES, Coding, add_line, code_of, strength_of
from dcpf.kernels.compile import kernel, step, unfused_step
from dcpf.kernels.lookup import find
from dcpf.kernels.posterior import Floats, PosteriorTable, log_rates, look_up
from dcpf.kernels.special import fast_log
from dcpf.kernels.sweep import rates
from dcpf.kernels.touched import WORDS, Bits, mark
from dcpf.kernels.vectors import SOON, fetch, fetch_line

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.integer]

_AHEAD = 4  # so many sources further on, targets are fetched meanwhile
_FARTHEST = 2**16 - 1  # that a step goes
_FAR = 16  # a user with so many times more items than an item has sources is searched, not walked through


class Exciting(NamedTuple):
    """What users have: x[e] of item indices[e], for indptr[u] <= e < indptr[u + 1]."""

    indptr: Integers
    indices: Integers
    x: NDArray[np.float32]


class Lists(NamedTuple):
    """By items: sources[e] excites i with strength[e], for indptr[i] <= e < indptr[i + 1]."""

    indptr: Integers
    sources: Integers
    strength: NDArray[np.float32]


class Targets(NamedTuple):
    """The same by sources: j excites what stands at the places p_e, for indptr[j] <= e < indptr[j + 1].

    The first is steps[indptr[j]], and each of the others steps[e] further than the one before it. What is too far for
    16 bits is reached by way of places that get nothing. codes[e] says how strongly p_e is excited. Where many places
    lie together, steps are of lines of so many places, each of which has a code.
    """

    indptr: NDArray[np.int64]
    steps: NDArray[np.uint16]
    codes: NDArray[np.unsignedinteger]
    coding: Coding
    touched: Bits  # by sources: the tiles that these places are in


class Hits(NamedTuple):
    """Where the users of an item have its sources: user by user, which of them, and x."""

    ends: NDArray[np.int64]
    places: NDArray[np.int32]
    x: NDArray[np.float32]


@kernel
def fill_x(indptr: Integers, counts: Integers, scale: float, x: NDArray[np.float32]) -> None:
    """x[e] = log(1 + counts[e]) / (scale sqrt(n)) in rows of n counts."""
    for u in range(len(indptr) - 1):
        y, mine = counts[indptr[u] : indptr[u + 1]], x[indptr[u] : indptr[u + 1]]
        unit = np.float32(scale * math.sqrt(len(y)))
        for e in range(len(y)):
            mine[e] = np.float32(fast_log(1.0 + y[e])) / unit


@step
def hits_of(sources: Integers, users: Integers, given: Exciting, where: NDArray[np.int32]) -> Hits:
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
                    places[n], x[n] = k, given.x[e]
                    n += 1
        else:
            for e in range(begin, end):
                k = where[given.indices[e]]
                if k >= 0:
                    places[n], x[n] = k, given.x[e]
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
    given: Exciting,
    factors: tuple[Floats, Floats],
    table: PosteriorTable,
    c: float,
    prior: tuple[Lists, Doubles, Doubles],
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
    W, H = factors
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
        sources, mean, s = lists.sources[here:there], lists.strength[here:there], strength[here:there]
        share, point = shares[: len(s)], points[: len(s)]
        for k in range(len(s)):
            s[k], point[k] = mean[k], mean[k]
        spans[i, 0], spans[i, 1] = np.inf, -np.inf
        mine = users[begin:end]
        hits = hits_of(sources, mine, given, where)
        if len(hits.x) == 0:
            continue
        base, lam, t, n = np.empty(end - begin), np.empty(end - begin), np.empty(end - begin), np.empty(end - begin)
        product = np.empty(end - begin, W.dtype)
        rates(H, i, W, mine, product)  # in the precision in which a fit needs them, too: it is compiled once
        for r in range(len(base)):
            base[r] = product[r]
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
def keep_strong(lists: Lists, found: NDArray[np.float32], enough: float, at_least: int) -> None:
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


@step
def spread(given: Exciting, u: int, power: int, dense: Singles) -> None:
    """Put x^power of a row into a dense vector; with the power -1, clear it again."""
    for e in range(given.indptr[u], given.indptr[u + 1]):
        x = given.x[e]
        dense[given.indices[e]] = np.float32(0.0) if power < 0 else x * x if power == 2 else x


@unfused_step
def excited(lists: Lists, i: int, dense: Singles) -> np.float32:
    """sum_j x_j s_ji, added up in float32 by ascending sources."""
    total = np.float32(0.0)
    for e in range(lists.indptr[i], lists.indptr[i + 1]):
        total += dense[lists.sources[e]] * lists.strength[e]
    return total


@kernel
def excited_at(
    start: int,
    stop: int,
    pairs: tuple[Integers, Integers],
    given: Exciting,
    lists: Lists,
    sources: int,
    power: int,
    out: Doubles,
) -> None:
    """out[e] = sum_j x_uj^power s_ji at each pair e = (u, i), over so many sources j.

    pairs = (indptr, rows of the lists) by the rows of `given`.
    """
    indptr, items = pairs
    dense = np.zeros(sources, np.float32)
    for u in range(start, stop):
        if indptr[u] < indptr[u + 1]:
            spread(given, u, power, dense)
            for e in range(indptr[u], indptr[u + 1]):
                out[e] = excited(lists, items[e], dense)
            spread(given, u, -1, dense)


@kernel
def count_steps(lists: Lists, order: NDArray[np.int64], width: int, counts: NDArray[np.int64]) -> None:
    """counts[j] = how many steps of so many places j needs, where place p has item order[p]."""
    last = np.zeros(len(counts), np.int64)
    for place in range(len(order)):
        for e in range(lists.indptr[order[place]], lists.indptr[order[place] + 1]):
            j = lists.sources[e]
            if counts[j] == 0 or last[j] != place // width:
                counts[j] += 1 + max(0, place // width - last[j] - 1) // _FARTHEST
                last[j] = place // width


@kernel
def fill_targets(lists: Lists, order: NDArray[np.int64], width: int, targets: Targets) -> None:
    """Put lists by items into lists by sources, in which place p has item order[p]; places are ascending.

    Equivalent to the strengths as a matrix, its rows `order` in this order, transposed. targets.indptr is given,
    codes are zeros, `width` of them to a step, and no bit is set yet.
    """
    indptr, steps, codes, coding, touched = targets
    free, last = indptr[:-1].copy(), np.zeros(len(indptr) - 1, np.int64)
    for place in range(len(order)):
        i, here = order[place], place // width
        for e in range(lists.indptr[i], lists.indptr[i + 1]):
            j = lists.sources[e]
            if free[j] == indptr[j] or last[j] != here:
                while here - last[j] > _FARTHEST:
                    steps[free[j]] = _FARTHEST
                    free[j], last[j] = free[j] + 1, last[j] + _FARTHEST
                steps[free[j]] = here - last[j]
                free[j], last[j] = free[j] + 1, here
            codes[width * (free[j] - 1) + place % width] = code_of(lists.strength[e], coding)
            mark(touched, j, place)


@unfused_step
def excite(given: Exciting, u: int, targets: Targets, out: Singles, touched: Bits) -> None:
    """out[p] += sum_j x_uj s_jp, for all places p. A sum has the bits of `excited`: its terms come alike.

    The tiles that have got something are put into `touched`. To wait for the targets of a source would take longer
    than to add them up, so they are fetched in time.
    """
    words, lines = len(touched), len(targets.codes) > len(targets.steps)
    for word in range(words):
        touched[word] = 0
    for e in range(given.indptr[u], given.indptr[u + 1]):
        later = given.indices[min(e + _AHEAD, len(given.indices) - 1)]
        fetch(targets.steps, targets.indptr[later])
        x, j, here = given.x[e] * targets.coding.unit, given.indices[e], np.uint64(0)
        for first in range(0, words, WORDS):  # here, since to hand arrays over to a step takes longer
            fetch_line(targets.touched, words * later + first)
            for word in range(WORDS):
                touched[first + word] |= targets.touched[j, first + word]
        mine = range(np.uint64(targets.indptr[j]), np.uint64(targets.indptr[j + 1]))  # none counts from the end
        if lines:
            fetch(targets.codes, PLACES * targets.indptr[later])
            fetch(targets.codes, PLACES * targets.indptr[later] + SOON)
            for f in mine:
                here += targets.steps[f]
                add_line(x, targets.codes, PLACES * f, out, here)
        else:
            fetch(targets.codes, targets.indptr[later])
            for f in mine:
                here += targets.steps[f]
                out[here] += x * strength_of(targets.codes[f], targets.coding)
