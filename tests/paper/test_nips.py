"""NIPS 1987-2015: a table of words by papers becomes counts of papers by words."""

from pathlib import Path

import numpy as np
import pytest
from tests.paper import originals
from tests.paper.originals import WORDS, words

from dcpf.counts import Counts, InvalidCounts
from dcpf.paper.originals import load_nips


def read(folder: Path, content: str | bytes) -> Counts:
    return load_nips(originals.write(folder, WORDS, content))


def table(rows: int = 40, columns: int = 12) -> np.ndarray:
    rng = np.random.default_rng(0)
    made = rng.geometric(0.1, (rows, columns)) * (rng.random((rows, columns)) < 0.3)
    made[0, 0] = 999_999_999
    return made


def test_papers_are_users_and_words_are_items(tmp_path: Path) -> None:
    made = table()
    counts = read(tmp_path, words(made))
    assert originals.sums(counts) == {
        (f"{1987 + j // 2}_{j}", f"word{i}"): made[i, j] for i, j in zip(*np.nonzero(made), strict=True)
    }
    assert counts.shape == (12, 40)
    assert list(counts.users) == sorted(counts.users) and list(counts.items) == sorted(counts.items)
    assert counts.users.are_ascending and counts.items.are_ascending
    assert counts.matrix.has_canonical_format and counts.matrix.data.dtype == np.int64


def test_quotes_and_windows_line_ends_make_no_difference(tmp_path: Path) -> None:
    text = words(table())
    expected = originals.sums(read(tmp_path, text))
    for same in (text.replace('"', ""), text.replace("\n", "\r\n")):
        assert originals.sums(read(tmp_path, same)) == expected


def test_empty_papers_and_words_stay_and_are_told(tmp_path: Path) -> None:
    made = np.array([[1, 0, 2], [0, 0, 0]])
    counts = read(tmp_path, words(made))
    assert counts.shape == (3, 2)
    np.testing.assert_array_equal(counts.matrix.toarray(), made.T)
    assert counts.notes[0] == "3 lines; the original has 11,464"
    assert "1 papers without a word and 1 words in no paper" in counts.notes[1]


GOOD = words([[1, 0, 2], [0, 3, 0]])
BAD = {
    "a short line": (GOOD + '"x",1,2\n', ":4: 2 counts where the header has 3 papers"),
    "a long line": (GOOD + '"x",1,2,3,4\n', ":4: 4 counts where the header has 3 papers"),
    "a blank line": (GOOD + "\n" + GOOD.partition("\n")[2], ":4: the word is ''"),
    "a fraction": (GOOD + '"x",1,2.5,3\n', ":4: the count of 'x' in paper 1987_1 is '2.5'"),
    "negative": (GOOD + '"x",1,2,-3\n', ":4: the count of 'x' in paper 1988_2 is '-3'"),
    "a text": (GOOD + '"x",NA,2,3\n', ":4: the count of 'x' in paper 1987_0 is 'NA'"),
    "a tab": (GOOD + '"x",1,2\t,3\n', r":4: the count of 'x' in paper 1987_1 is '2\t'"),
    "missing": (GOOD + '"x",1,,3\n', ":4: the count of 'x' in paper 1987_1 is ''"),
    "missing at the start": (GOOD + '"x",,2,3\n', ":4: the count of 'x' in paper 1987_0 is ''"),
    "missing at the end": (GOOD + '"x",1,2,\n', ":4: the count of 'x' in paper 1988_2 is ''"),
    "too large": (GOOD + '"x",1,99999999999999999999999,3\n', ":4: the count of 'x' in paper 1987_1 is '9999999999"),
    "no word": (GOOD + ",1,2,3\n", ":4: the word is ''"),
    "not UTF-8": (GOOD.encode() + b"caf\xe9,1,2,3\n", ":4: the word is 'caf\ufffd'"),
    "no header": (GOOD.partition("\n")[2], ":1: '1' in the header, which has papers such as 1987_1"),
    "titles": (words([[1, 2]], ["1987_1", "On Nets"]), ":1: 'On Nets' in the header, which has papers"),
    "one column": ("word\nx\n", ":1: 'word' in the header, which has papers"),
    "header only": (GOOD.partition("\n")[0] + "\n", ":2: no words below the header"),
}


@pytest.mark.parametrize(("content", "why"), BAD.values(), ids=BAD)
def test_a_line_that_is_wrong_is_named_with_what_was_expected(tmp_path: Path, content: str | bytes, why: str) -> None:
    with pytest.raises(InvalidCounts) as error:
        read(tmp_path, content)
    told = str(error.value)
    assert told.startswith(f"{tmp_path / WORDS}{why}")
    assert "; wanted a word and its count in each paper" in told
    assert "https://archive.ics.uci.edu/dataset/371/" in told
    assert "\n" not in told


def test_a_word_or_paper_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidCounts, match="item 'word0' is there twice, at 0 and at 2"):
        read(tmp_path, GOOD + '"word0",1,2,3\n')
    with pytest.raises(InvalidCounts, match="user '1987_1' is there twice"):
        read(tmp_path, words([[1, 2]], ["1987_1", "1987_1"]))


def test_a_file_is_refused_wherever_within_a_line_it_is_cut_off(tmp_path: Path) -> None:
    text = GOOD + '"last",11,12,13\n'
    for size in range(len(GOOD) + 1, len(text)):
        with pytest.raises(InvalidCounts, match=f"{WORDS}:4: "):
            read(tmp_path, text[:size])
