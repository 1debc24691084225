"""read: an original file, reduced as the authors did it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.paper import originals
from tests.paper.originals import PLAYS, TRIPLETS, WORDS

from dcpf.counts import Counts
from dcpf.counts.filters import sample
from dcpf.paper import data_sets
from dcpf.paper.data_sets import DATA_SETS, DataSummary
from dcpf.paper.originals import load_taste_profile


@pytest.fixture
def triplets(tmp_path: Path) -> Path:
    return originals.write(tmp_path, TRIPLETS, originals.triplets(60, 50)[0])


def bits(counts: Counts) -> tuple[Any, ...]:
    matrix = counts.matrix
    arrays = matrix.data.tobytes(), matrix.indices.tobytes(), matrix.indptr.tobytes()
    return (*arrays, list(counts.users), list(counts.items), counts.notes)


def per_user(counts: Counts) -> np.ndarray:
    return np.diff(counts.matrix.indptr)


def test_users_and_items_with_20_interactions_stay_and_those_with_19_go(tmp_path: Path) -> None:
    made = np.ones((40, 40), dtype=int)
    made[0, 19:] = made[1, 20:] = 0  # users with 19 and with 20 songs
    made[20:, 39] = made[2:, 38] = 0  # songs with fewer than 20
    lines = [f"{originals.user(u)}\t{originals.song(i)}\t1\n" for u, i in zip(*np.nonzero(made), strict=True)]
    counts = data_sets.read("taste-profile", originals.write(tmp_path, TRIPLETS, "".join(lines)))
    assert originals.user(0) not in counts.users and originals.user(1) in counts.users
    assert originals.song(39) not in counts.items and originals.song(38) not in counts.items
    assert counts.shape == (39, 38)
    assert per_user(counts).min() == 20


@pytest.mark.parametrize("options", [{}, {"users": 30}, {"users": 30, "items": 25, "seed": 3}, {"whole": True}])
def test_it_is_filtered_then_drawn_then_filtered(triplets: Path, options: dict[str, Any]) -> None:
    filtered = load_taste_profile(triplets).filter(20, 20, repeat=False)
    drawn = filtered
    if "users" in options:
        drawn = sample(filtered, options["users"], options.get("items"), options.get("seed", 0))
        drawn = drawn.filter(20, 20, repeat=False)
    counts = data_sets.read("taste-profile", triplets, **options)
    note = "in the paper: 16,301 users x 12,118 items, 1,176,086 counts"
    assert bits(counts) == (*bits(drawn)[:-1], (*drawn.notes, note))


def test_the_authors_numbers_are_drawn_of_taste_profile(triplets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(data_sets, "sample", lambda counts, *more: asked.append(more) or counts)
    data_sets.read("taste-profile", triplets, seed=7)
    data_sets.read("taste-profile", triplets, items=30)
    data_sets.read("taste-profile", triplets, whole=True)
    assert asked == [(20_000, 20_000, 7), (20_000, 30, 0)]


def test_the_same_seed_gives_the_same_bits(triplets: Path) -> None:
    def drawn(seed: int) -> tuple[Any, ...]:
        return bits(data_sets.read("taste-profile", triplets, users=40, items=40, seed=seed))

    assert drawn(0) == drawn(0)
    assert drawn(0) != drawn(1)


def test_the_order_of_the_lines_changes_nothing(triplets: Path) -> None:
    expected = bits(data_sets.read("taste-profile", triplets, users=40, items=40))
    lines = triplets.read_text().splitlines(keepends=True)
    triplets.write_text("".join(reversed(lines)))
    assert bits(data_sets.read("taste-profile", triplets, users=40, items=40)) == expected


def test_a_path_may_be_a_string_and_the_minimum_another_one(triplets: Path) -> None:
    counts = data_sets.read("taste-profile", str(triplets), min_per_user=45, min_per_item=0)
    assert per_user(counts).min() >= 45


def test_lastfm_is_filtered_and_keeps_its_names(tmp_path: Path) -> None:
    lines = [originals.play(u, "2008-01-01T00:00:00Z", "A", f"t{i}") for u in range(25) for i in range(22 + (u > 3))]
    lines.append(originals.play(999, "2008-01-01T00:00:00Z", "A", "t0"))
    counts = data_sets.read("lastfm", originals.write(tmp_path, PLAYS, "".join(lines)))
    assert counts.shape == (25, 23)
    assert counts.names is not None and list(counts.names) == list(counts.items)
    assert counts.notes[-1] == "in the paper: 781 users x 11,172 items, 402,058 counts"


def test_of_nips_nothing_is_dropped(tmp_path: Path) -> None:
    path = originals.write(tmp_path, WORDS, originals.words([[1, 0, 2], [0, 0, 0]]))
    assert data_sets.read("nips", path).shape == (3, 2)
    assert data_sets.read("nips", path, min_per_user=1, min_per_item=1).shape == (2, 1)


WRONG = {
    "users": ({"users": 0}, "users must be a whole number >= 1, found 0"),
    "items": ({"items": 1.5}, "items must be a whole number >= 1, found 1.5"),
    "min_per_user": ({"min_per_user": -1}, "min_per_user must be a whole number >= 0"),
    "seed": ({"seed": -1}, "seed must be a whole number >= 0"),
    "whole and users": ({"whole": True, "users": 5}, "whole=True"),
}


@pytest.mark.parametrize(("options", "why"), WRONG.values(), ids=WRONG)
def test_options_are_checked_before_the_file_is(tmp_path: Path, options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        data_sets.read("taste-profile", tmp_path / "nothing", **options)


def test_an_unknown_data_set_is_told_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="no data set 'msd'; choose one of taste-profile, lastfm, nips"):
        data_sets.read("msd", "x")


# The paper's tables as they are printed: percentage of non-zeros, and ratio of variance and mean.
PRINTED = {"taste-profile": ("0.60%", "9.8"), "nips": ("6.06%", "7.6"), "lastfm": ("4.61%", "17.0")}


@pytest.mark.parametrize("name", DATA_SETS)
def test_the_papers_figures_agree_among_themselves(name: str) -> None:
    figures = DATA_SETS[name].paper
    share = 100 * figures.share
    assert (f"{share:.2f}%", f"{figures.ratio:.1f}") == PRINTED[name]


def test_figures_are_those_of_the_stored_counts() -> None:
    counts = Counts.from_matrix([[1, 0, 3], [0, 0, 5]])
    assert DataSummary.of(counts) == DataSummary(2, 3, 3, 3.0, 8 / 3)
