"""Taste Profile: every line of train_triplets.txt is a user, a song and a number of plays."""

from pathlib import Path

import pytest
from tests.paper import originals
from tests.paper.originals import TRIPLETS, song, user

from dcpf.counts import Counts, InvalidCounts
from dcpf.paper import original_file
from dcpf.paper.originals import load_taste_profile


def read(folder: Path, content: str | bytes) -> Counts:
    return load_taste_profile(originals.write(folder, TRIPLETS, content))


def test_all_plays_are_there_and_ids_ascend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, sums = originals.triplets()
    monkeypatch.setattr(original_file, "BLOCK", 500)  # many blocks
    counts = read(tmp_path, text)
    assert originals.sums(counts) == sums
    assert list(counts.users) == sorted({u for u, _ in sums})
    assert list(counts.items) == sorted({i for _, i in sums})
    assert counts.notes == (f"{len(sums)} lines; the original has 48,373,586",)


def test_a_user_of_digits_only_stays_a_string(tmp_path: Path) -> None:
    digits = "1234567890" * 4
    assert list(read(tmp_path, f"{digits}\t{song(0)}\t1\n").users) == [digits]


def test_windows_line_ends_are_fine(tmp_path: Path) -> None:
    text, sums = originals.triplets(3, 4)
    assert originals.sums(read(tmp_path, text.replace("\n", "\r\n"))) == sums


GOOD = originals.triplets(12, 8)[0]  # more than the bytes at the start that tell a text from a binary file
N = GOOD.count("\n")
BAD = {
    "two columns": f"{user(0)}\t{song(0)}",
    "four columns": f"{user(0)}\t{song(0)}\t1\t2",
    "commas": f"{user(0)},{song(0)},1",
    "header": "user\tsong\tplays",
    "short user": f"{user(0)[:-1]}\t{song(0)}\t1",
    "no hex": f"{user(0)[:-1]}g\t{song(0)}\t1",
    "track, not song": f"{user(0)}\tTR{song(0)[2:]}\t1",
    "no user": f"\t{song(0)}\t1",
    "no song": f"{user(0)}\t\t1",
    "a fraction": f"{user(0)}\t{song(0)}\t1.5",
    "negative": f"{user(0)}\t{song(0)}\t-1",
    "no count": f"{user(0)}\t{song(0)}\t",
    "a quote": f'{user(0)}\t"{song(0)}\t1',
    "a byte 0": f"{user(0)}\t{song(0)}\t1\0",
    "blank": "",
}


def error_of(folder: Path, line: bytes) -> str:
    with pytest.raises(InvalidCounts) as error:
        read(folder, GOOD.encode() + line + b"\n" + GOOD.encode())
    text = str(error.value)
    assert text.startswith(f"{folder / TRIPLETS}:{N + 1}: ")
    assert "; wanted a user of 40 hexadecimal digits, a song such as SO" in text
    assert "http://millionsongdataset.com/tasteprofile/" in text
    assert "\n" not in text
    return text


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
def test_a_line_that_is_wrong_is_shown_with_what_was_expected(tmp_path: Path, line: str) -> None:
    assert f"the line is {line!r}" in error_of(tmp_path, line.encode())


def test_a_line_that_is_not_utf8_or_has_too_large_a_count_is_refused(tmp_path: Path) -> None:
    assert "\ufffd" in error_of(tmp_path, f"{user(0)}\t{song(0)}\t\xe9".encode("latin1"))
    assert "is '2147483648', which is too large" in error_of(tmp_path, f"{user(0)}\t{song(0)}\t2147483648".encode())


def test_a_file_is_refused_wherever_within_a_line_it_is_cut_off(tmp_path: Path) -> None:
    text = GOOD + f"{user(9)}\t{song(9)}\t123\n"
    for size in range(len(GOOD) + 1, len(text)):
        with pytest.raises(InvalidCounts, match=f"{TRIPLETS}:{N + 1}: "):
            read(tmp_path, text[:size])
    assert originals.sums(read(tmp_path, text))[user(9), song(9)] == 123
