"""The data sets of the paper: how the authors reduced them, and the numbers that the paper prints of each."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dcpf.counts import Counts
from dcpf.counts.checks import Seed, whole_number
from dcpf.counts.filters import sample
from dcpf.paper.original_file import Original
from dcpf.paper.originals import LASTFM, NIPS, TASTE_PROFILE
from dcpf.readers import read_counts
from dcpf.text import shape_words

_PREPARED = (b"PAR1", b"user,item,")  # the first bytes of Parquet, and of a CSV file from `dcpf data`


@dataclass(frozen=True)
class DataSummary:
    """The size of a data set, and the mean and variance of its non-zero counts."""

    users: int
    items: int
    entries: int
    mean: float
    variance: float

    @classmethod
    def of(cls, counts: Counts) -> "DataSummary":
        """The summary of these counts."""
        data = counts.matrix.data
        return cls(*counts.shape, counts.nnz, float(data.mean()), float(data.var()))

    @property
    def share(self) -> float:
        """The share of entries that are not zero."""
        return self.entries / (self.users * self.items)

    @property
    def ratio(self) -> float:
        """Variance over mean of the non-zero counts."""
        return self.variance / self.mean


@dataclass(frozen=True)
class DataSet:
    """One data set of the paper."""

    name: str
    title: str
    description: str
    original: Original
    paper: DataSummary  # from the tables "Datasets structure" and "Mean, variance and ratio"
    drawn: tuple[int | None, int | None] = (None, None)  # users and items in the authors' subset
    least: int = 0  # minimum interactions of a user, and of an item


DATA_SETS: Mapping[str, DataSet] = {
    data.name: data
    for data in (
        DataSet(
            name="taste-profile",
            title="Taste Profile",
            description="how often users played songs",
            original=TASTE_PROFILE,
            paper=DataSummary(16_301, 12_118, 1_176_086, 2.66, 25.94),
            drawn=(20_000, 20_000),
            least=20,
        ),
        DataSet(
            name="lastfm",
            title="Last.fm 1K",
            description="how often users played tracks in 2008",
            original=LASTFM,
            paper=DataSummary(781, 11_172, 402_058, 3.86, 65.72),
            least=20,
        ),
        DataSet(
            name="nips",
            title="NIPS 1987-2015",
            description="how often papers use words",
            original=NIPS,
            paper=DataSummary(5_811, 11_463, 4_033_830, 2.74, 20.87),
        ),
    )
}


def find(name: str) -> DataSet:
    """The data set of this name."""
    if name not in DATA_SETS:
        raise ValueError(f"there is no data set {name!r}; choose one of {', '.join(DATA_SETS)}")
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
    """A data set of the paper (see `DATA_SETS`), read from its original file and reduced as the authors did it.

    The filter drops items and then users with fewer than 20 interactions, once (in NIPS, none). The paper says "more
    than 20", but the authors' files are named for a minimum of 20, and their small one has users with exactly 20.
    From Taste Profile, 20,000 users and 20,000 songs are drawn after the filter (see `counts.sampling`), and the
    filter is applied again, as in the program of Liang et al. (2016).

    users, items: Number of users and items to draw instead.
    whole: Draw none: keep all users and items that pass the filter.
    min_per_user, min_per_item: Minimum interactions instead.
    seed: The same seed draws the same users and items.
    progress: Called now and then with the bytes read so far and their total.
    """
    data = find(name)
    if whole and (users is not None or items is not None):
        raise ValueError("whole=True keeps all users and items: leave it out, or users and items")
    if not isinstance(seed, np.random.Generator):
        whole_number("seed", seed, at_least=0)
    n_users = data.drawn[0] if users is None else whole_number("users", users, at_least=1)
    n_items = data.drawn[1] if items is None else whole_number("items", items, at_least=1)
    per_user = data.least if min_per_user is None else whole_number("min_per_user", min_per_user, at_least=0)
    per_item = data.least if min_per_item is None else whole_number("min_per_item", min_per_item, at_least=0)
    counts = data.original.load(Path(path), progress).filter(per_user, per_item, repeat=False)
    if not whole and (n_users or n_items):
        counts = sample(counts, n_users, n_items, seed).filter(per_user, per_item, repeat=False)
    paper = data.paper
    note = f"in the paper: {shape_words(paper.users, paper.items, paper.entries)}"
    return replace(counts, notes=(*counts.notes, note))


def read_original_or_prepared(
    name: str, path: Path, seed: int = 0, progress: Callable[[int, int], None] | None = None
) -> Counts:
    """A data set of the paper, from its original file or from the file of counts that `dcpf data` made of it."""
    if path.is_file():
        with path.open("rb") as file:
            prepared = file.read(max(map(len, _PREPARED))).startswith(_PREPARED)
    else:
        prepared = path.is_dir()  # of Parquet files
    return read_counts(path, progress=progress) if prepared else read(name, path, seed=seed, progress=progress)
