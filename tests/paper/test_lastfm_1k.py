"""Last.fm 1K: the plays of 2008, by track, with names as they are written."""

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.paper import originals
from tests.paper.originals import PLAYS, play

from dcpf.counts import Counts, InvalidCounts
from dcpf.paper import original_file
from dcpf.paper.originals import load_lastfm

NOON = "2008-05-04T12:00:00Z"
ID = "5ca13249-26da-47bd-bba7-80c2efebe9cd"


def read(folder: Path, content: str | bytes) -> Counts:
    return load_lastfm(originals.write(folder, PLAYS, content))


def names(counts: Counts) -> dict[object, str]:
    assert counts.names is not None
    return dict(zip(counts.items, counts.names, strict=True))


def test_plays_of_2008_are_counted(tmp_path: Path) -> None:
    times = ["2007-12-31T23:59:59Z", "2008-01-01T00:00:00Z", "2008-12-31T23:59:59Z", "2009-01-01T00:00:00Z"]
    text = "".join(play(1, time, "A", "t") for time in times) + play(2, NOON, "A", "t")
    counts = read(tmp_path, text)
    assert originals.sums(counts) == {("user_000001", "A – t"): 2, ("user_000002", "A – t"): 1}
    assert counts.notes[:2] == ("5 lines; the original has 19,150,868", "3 plays of 2008")
    assert counts.events is None


def test_a_song_is_its_track_id_or_else_its_names(tmp_path: Path) -> None:
    text = (
        play(1, NOON, "A", "t", ID) + play(1, NOON, "A", "T", ID) + play(1, NOON, "A", "t") + play(1, NOON, "B", "t")
    )
    counts = read(tmp_path, text)
    assert originals.sums(counts) == {("user_000001", one): n for one, n in ((ID, 2), ("A – t", 1), ("B – t", 1))}


def test_a_song_is_called_by_its_most_frequent_name(tmp_path: Path) -> None:
    times = [play(1, NOON, "A", name, ID) for name in ("c", "b", "b", "a", "a", "d")]
    for seed in range(5):
        random.Random(seed).shuffle(times)
        assert names(read(tmp_path, "".join(times))) == {ID: "A – a"}


def test_a_play_without_id_and_name_is_left_out_and_counted(tmp_path: Path) -> None:
    counts = read(tmp_path, play(1, NOON, "A", "t") + play(1, NOON, "A", "") + play(2, NOON, "A", "", ID))
    assert names(counts) == {"A – t": "A – t", ID: ""}
    assert "1 plays without the name of a track left out" in counts.notes


letters = st.characters(exclude_characters="\t\n\r\0\x01\x02", exclude_categories=["Cs"])
text = st.text(letters, min_size=1, max_size=12)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(text, text), min_size=1, max_size=20))
def test_names_are_kept_letter_by_letter(tmp_path: Path, songs: list[tuple[str, str]]) -> None:
    content = "".join(play(1, NOON, artist, track) for artist, track in songs)
    counts = read(tmp_path, content.encode())
    assert set(counts.items) == {f"{artist} – {track}" for artist, track in songs}
    assert counts.matrix.sum() == len(songs)


@pytest.mark.parametrize(
    "track", ['"', '"""', 'The "Best" Of', '"open', 'close"', '7" Mix', "a,b;c|d", "\x85\u2028x"]
)
def test_quotes_and_other_marks_are_plain_letters(tmp_path: Path, track: str) -> None:
    counts = read(tmp_path, play(1, NOON, "A", "t") + play(1, NOON, "A", track) + play(2, NOON, "A", track))
    assert set(counts.items) == {"A – t", f"A – {track}"}
    assert counts.matrix.sum() == 3


def test_a_return_at_the_end_of_a_line_is_no_part_of_the_name(tmp_path: Path) -> None:
    assert list(read(tmp_path, play(1, NOON, "A", "t\r")).items) == ["A – t"]


def test_a_return_within_a_name_is_a_blank(tmp_path: Path) -> None:
    counts = read(tmp_path, play(1, NOON, "A", "t") + play(1, NOON, "A", "x\ry"))
    assert list(counts.items) == ["A – t", "A – x y"]
    assert "2 lines" in counts.notes[0]


FEW = {
    "a tab in a name": play(1, NOON, "A", "x\ty").encode(),
    "a line end in a name": b"rest of a name\n",
    "not UTF-8": play(1, NOON, "A", "caf\xe9").encode("latin1"),
    "a byte 0": play(1, NOON, "A", "x\0y").encode(),
    "no time": play(1, "", "A", "x").encode(),
    "another user": play(1, NOON, "A", "x").replace("user_", "").encode(),
}


@pytest.mark.parametrize("damaged", FEW.values(), ids=FEW)
@pytest.mark.parametrize("block", [64, 2**20])
def test_a_few_damaged_lines_are_passed_over_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: bytes, block: int
) -> None:
    monkeypatch.setattr(original_file, "BLOCK", block)
    good = [play(1, NOON, "A", f"t{j:02}").encode() for j in range(99)]  # a byte 0 early on would mean a binary file
    counts = read(tmp_path, b"".join([*good[:94], damaged, *good[94:], damaged]))
    assert list(counts.items) == [f"A – t{j:02}" for j in range(99)]
    assert counts.notes[0].startswith("101 lines;")
    assert f"2 bad lines skipped, the first is {tmp_path / PLAYS}:95" in counts.notes


@pytest.mark.parametrize("damaged", [line for line in FEW.values() if b"\0" not in line])
def test_a_first_line_that_is_damaged_is_an_error(tmp_path: Path, damaged: bytes) -> None:
    with pytest.raises(InvalidCounts) as error:
        read(tmp_path, damaged + play(1, NOON, "A", "t").encode())
    assert str(error.value).startswith(f"{tmp_path / PLAYS}:1: ")
    assert "; wanted a user such as user_000001, a time such as 2009-05-04T23:08:57Z" in str(error.value)
    assert "\n" not in str(error.value)


def test_many_damaged_lines_are_an_error(tmp_path: Path) -> None:
    good, bad = play(1, NOON, "A", "t"), "user_000001\tx\n"
    assert "100 bad lines skipped" in " ".join(read(tmp_path, good + 100 * bad).notes)
    with pytest.raises(InvalidCounts, match=rf"{PLAYS}:2: the line is 'user_000001\\tx'; .* \(101 bad lines\)"):
        read(tmp_path, good + 101 * bad)


def test_the_profiles_of_the_users_are_not_the_plays(tmp_path: Path) -> None:
    with pytest.raises(InvalidCounts, match=r":1: the line is '#id\\tgender"):
        read(tmp_path, "#id\tgender\tage\tcountry\tregistered\nuser_000001\tm\t\tJapan\tAug 13, 2006\n")


def test_a_file_without_plays_of_2008_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidCounts, match="no plays of 2008 in its 1 lines; wanted"):
        read(tmp_path, play(1, "2007-05-04T12:00:00Z", "A", "t"))


def test_a_file_is_refused_wherever_within_a_line_it_is_cut_off(tmp_path: Path) -> None:
    first, last = play(1, NOON, "A", "t"), play(2, NOON, "A", "track")
    for size in range(len(first) + 1, len(first + last)):
        with pytest.raises(InvalidCounts, match=rf"{PLAYS}:2: the file ends within a line"):
            read(tmp_path, (first + last)[:size])
