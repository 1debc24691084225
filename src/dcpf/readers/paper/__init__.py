"""The data sets of the paper, read from their original files. May import dcpf.counts and dcpf.readers."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from dcpf.counts import Counts
from dcpf.counts.checks import Seed, whole_number
from dcpf.counts.filters import sample
from dcpf.readers.paper.dataset import DataSet, Figures
from dcpf.readers.paper.lastfm_1k import LASTFM
from dcpf.readers.paper.nips import NIPS
from dcpf.readers.paper.taste_profile import TASTE_PROFILE
from dcpf.wording import extent

__all__ = ["DATA_SETS", "DataSet", "Figures", "find", "read"]

DATA_SETS: Mapping[str, DataSet] = {data.name: data for data in (TASTE_PROFILE, LASTFM, NIPS)}


def find(name: str) -> DataSet:
    """The data set of this name."""
    if name not in DATA_SETS:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(DATA_SETS)}")
    return DATA_SETS[name]


def read(
    name: str,
    path: str | os.PathLike[str],
    *,
    users: int | None = None,
    items: int | None = None,
    whole: bool = False,
    min_per_user: int | None = None,
    min_per_item: int | None = None,
    seed: Seed = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Counts:
    """A data set of the paper from its original file, reduced as the authors did it. See `DATA_SETS` for names.

    The filter drops items and then users with fewer than 20 interactions, once (of NIPS, none). The paper says "more
    than 20", but the authors' files are named for a minimum of 20, and their small one has users with just 20. Of
    Taste Profile, 20,000 users and 20,000 songs are drawn from those that pass the filter, by `filters.sample`;
    the filter is applied again, as in the program of Liang et al. (2016).

    users, items: How many to draw, instead.
    whole: Draw none of them: keep all who pass the filter.
    min_per_user, min_per_item: The least interactions, instead.
    seed: The same seed draws the same users and items.
    progress: Called now and then with the bytes done and their total.
    """
    data = find(name)
    if whole and (users is not None or items is not None):
        raise ValueError("whole=True (--whole) draws no users and items; leave it out, or their numbers")
    if not isinstance(seed, np.random.Generator):
        whole_number("seed", seed, at_least=0)
    n_users = data.drawn[0] if users is None else whole_number("users", users, at_least=1)
    n_items = data.drawn[1] if items is None else whole_number("items", items, at_least=1)
    per_user = data.least if min_per_user is None else whole_number("min_per_user", min_per_user, at_least=0)
    per_item = data.least if min_per_item is None else whole_number("min_per_item", min_per_item, at_least=0)
    counts = data.load(Path(path), progress).filter(per_user, per_item, repeat=False)
    if not whole and (n_users or n_items):
        counts = sample(counts, n_users, n_items, seed).filter(per_user, per_item, repeat=False)
    paper = data.paper
    told = f"in the paper: {extent(paper.users, paper.items, paper.entries)}"
    return replace(counts, notes=(*counts.notes, told))
