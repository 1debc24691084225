"""Counts whose right recommendations are known by construction."""

import numpy as np

from dcpf.counts import Counts

USERS = [f"user {u:02}" for u in range(30)]
ITEMS = [f"item {i:02}" for i in range(20)]


def two_camps() -> Counts:
    """Even users have even items, odd ones odd items, all but one; that one is what to recommend."""
    camp = np.add.outer(np.arange(30), np.arange(20)) % 2 == 0
    counts = np.where(camp, np.random.default_rng(0).integers(1, 9, (30, 20)), 0)
    for user in range(30):
        counts[user, ITEMS.index(missing(user))] = 0
    return Counts.from_matrix(counts, USERS, ITEMS).with_names({item: item.upper() for item in ITEMS})


def missing(user: int) -> str:
    return ITEMS[(user + 4 * (user % 3)) % 20]


def random_counts(users: int, items: int, seed: int = 0, density: float = 0.3) -> np.ndarray:
    """A few counts, most of them small, some large. Every user has one, and every item."""
    rng = np.random.default_rng(seed)
    there = rng.binomial(1, density, (users, items))
    there[np.arange(max(users, items)) % users, np.arange(max(users, items)) % items] = 1
    return there * rng.geometric(0.4, (users, items))
