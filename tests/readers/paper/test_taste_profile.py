"""Taste Profile: every line of train_triplets.txt is a user, a song and a number of plays."""

from pathlib import Path

import pytest
from tests.readers.paper import originals
from tests.readers.paper.originals import TRIPLETS, song, user

from dcpf.counts import Counts, InvalidCounts
from dcpf.readers import text_rows
from dcpf.readers.paper.taste_profile import load


def read(folder: Path, content: str | bytes) -> Counts:
    return load(originals.write(folder, TRIPLETS, content))


def test_all_plays_are_there_and_ids_ascend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, sums = originals.triplets()
    monkeypatch.setattr(text_rows, "BLOCK", 500)  # many blocks
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
    "two columns": (f"{user(0)}\t{song(0)}\n", "2 fields where 3 are expected"),
    "four columns": (f"{user(0)}\t{song(0)}\t1\t2\n", "4 fields where 3 are expected"),
    "commas": (f"{user(0)},{song(0)},1\n", "1 field where 3 are expected"),
    "header": ("user\tsong\tplays\n", "the user is 'user'"),
    "short user": (f"{user(0)[:-1]}\t{song(0)}\t1\n", f"the user is '{user(0)[:-1]}'"),
    "no hex": (f"{user(0)[:-1]}g\t{song(0)}\t1\n", f"the user is '{user(0)[:-1]}g'"),
    "track, not song": (f"{user(0)}\tTR{song(0)[2:]}\t1\n", f"the item is 'TR{song(0)[2:]}'"),
    "no user": (f"\t{song(0)}\t1\n", "the user is ''"),
    "no song": (f"{user(0)}\t\t1\n", "the item is ''"),
    "a fraction": (f"{user(0)}\t{song(0)}\t1.5\n", "the count is '1.5'"),
    "negative": (f"{user(0)}\t{song(0)}\t-1\n", "the count is '-1'"),
    "no count": (f"{user(0)}\t{song(0)}\t\n", "the count is ''"),
    "too large": (f"{user(0)}\t{song(0)}\t2147483648\n", "is '2147483648', which is too large"),
    "a quote": (f'{user(0)}\t"{song(0)}\t1\n', "a quote is opened and not closed"),
    "a byte 0": (f"{user(0)}\t{song(0)}\t1\0\n", "a byte 0 in the text"),
    "latin1": (f"{user(0)}\t{song(0)}\té\n".encode("latin1"), "not UTF-8"),
}


@pytest.mark.parametrize(("line", "why"), BAD.values(), ids=BAD)
def test_a_line_that_is_wrong_is_named_with_what_was_expected(tmp_path: Path, line: str | bytes, why: str) -> None:
    line = line.encode() if isinstance(line, str) else line
    with pytest.raises(InvalidCounts) as error:
        read(tmp_path, GOOD.encode() + line + GOOD.encode())
    told = str(error.value)
    assert told.startswith(f"{tmp_path / TRIPLETS}:{N + 1}: ")
    assert why in told
    assert "; wanted a user of 40 hexadecimal digits, a song such as SO" in told
    assert "http://millionsongdataset.com/tasteprofile/" in told
    assert "\n" not in told


def test_a_file_is_refused_wherever_within_a_line_it_is_cut_off(tmp_path: Path) -> None:
    text = GOOD + f"{user(9)}\t{song(9)}\t123\n"
    for size in range(len(GOOD) + 1, len(text)):
        with pytest.raises(InvalidCounts, match=f"{TRIPLETS}:{N + 1}: "):
            read(tmp_path, text[:size])
    assert originals.sums(read(tmp_path, text))[user(9), song(9)] == 123
