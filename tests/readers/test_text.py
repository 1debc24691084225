"""Text files of any make become Counts; a line that is wrong is named with its place and its text."""

import csv
import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dcpf.counts import Counts, InvalidCounts
from dcpf.readers import read_counts, text_rows

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Read = Callable[..., Counts]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(content: str | bytes, **options: Any) -> Counts:
        path = tmp_path / "plays.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_counts(path, **options)

    return read


def sums(counts: Counts) -> dict[tuple[Any, Any], int]:
    coo = counts.matrix.tocoo()
    users, items = counts.users.at(coo.row), counts.items.at(coo.col)
    return dict(zip(zip(users, items, strict=True), coo.data.tolist(), strict=True))


def bits(counts: Counts) -> list[bytes]:
    matrix = counts.matrix
    return [
        matrix.data.tobytes(),
        matrix.indices.tobytes(),
        matrix.indptr.tobytes(),
        repr(list(counts.users)).encode(),
    ]


PLAIN = "user,song,plays\na,x,3\nb,y,4\na,x,1\n"
SUMS = {("a", "x"): 4, ("b", "y"): 4}

SAME = {  # what makes no difference
    "plain": PLAIN,
    "no header": PLAIN.partition("\n")[2],
    "no line end at the end": PLAIN.rstrip(),
    "CRLF": PLAIN.replace("\n", "\r\n"),
    "CRLF, no line end at the end": PLAIN.replace("\n", "\r\n").rstrip(),
    "mixed line ends": PLAIN.replace("3\n", "3\r\n"),
    "BOM": "\ufeff" + PLAIN,
    "BOM, no header": "\ufeff" + PLAIN.partition("\n")[2],
    "blank lines": "\n" + PLAIN.replace("\n", "\n\n") + "\n\n",
    "blank lines with CRLF": PLAIN.replace("\n", "\r\n\r\n"),
    "tabs": PLAIN.replace(",", "\t"),
    "semicolons": PLAIN.replace(",", ";"),
    "bars": PLAIN.replace(",", "|"),
    "blanks": PLAIN.replace(",", " "),
    "quoted": "\n".join(",".join(f'"{one}"' for one in line.split(",")) for line in PLAIN.split()),
    "quoted with CRLF": "\r\n".join(",".join(f'"{one}"' for one in line.split(",")) for line in PLAIN.split()),
    "some quoted": PLAIN.replace("x", '"x"'),
    "blanks about names and counts": "user, song, plays\na,x, 3\nb,y,4 \na,x,1\n",
    "3.0 and 1e0": PLAIN.replace(",3", ",3.0").replace(",1\n", ",1e0\n"),
    "zeros, row 16": PLAIN + "c,z,0\n",
    "another order of columns": "plays,city,song,user\n3,k,x,a\n4,k,y,b\n1,k,x,a\n",
    "unknown header": "x1,x2,x3\n" + PLAIN.partition("\n")[2],
}


@pytest.mark.parametrize("content", SAME.values(), ids=SAME)
def test_same_counts_however_they_are_written(read: Read, content: str) -> None:
    choice = {"user_column": 0, "item_column": 1, "count_column": 2} if content.startswith("x1") else {}
    assert sums(read(content, **choice)) == SUMS


@pytest.mark.parametrize(
    "pack", [gzip.compress, zstd.compress, lambda data: gzip.compress(data) + gzip.compress(b"")]
)
def test_packed_files_are_known_by_their_content(read: Read, pack: Callable[[bytes], bytes]) -> None:
    assert sums(read(pack(PLAIN.encode()))) == SUMS


def test_thousand_is_fine(read: Read) -> None:
    assert sums(read("u,i,1e3\n")) == {("u", "i"): 1000}


def test_without_counts_lines_are_events(read: Read) -> None:
    assert sums(read("a,x\na,x\nb,y\n")) == {("a", "x"): 2, ("b", "y"): 1}
    assert sums(read("user,item\na,x\na,x\n")) == {("a", "x"): 2}


def test_fourth_column_without_header_is_the_time(read: Read) -> None:
    counts = read("a,x,1,2020-01-02\nb,x,5,2020-01-03\na,x,2,2020-01-01\n")
    assert counts.events is not None
    assert counts.events.times.astype("datetime64[D]").astype(str).tolist() == [
        "2020-01-01",
        "2020-01-02",
        "2020-01-03",
    ]
    assert counts.events.counts.tolist() == [2, 1, 5]


def test_a_line_that_is_skipped_does_not_cost_the_times(read: Read) -> None:
    counts = read("user,item,count,time\na,x,1,5\nb,x,?,\nb,y,2,7\n", skip_bad_lines=True)
    assert counts.events is not None
    assert counts.events.times.tolist() == [5, 7]
    counts = read("user,item,count,time\na,x,1,5\nb,x,3,\nb,y,2,7\n", skip_bad_lines=True)
    assert sums(counts) == {("a", "x"): 1, ("b", "x"): 3, ("b", "y"): 2}
    assert counts.events is None
    assert "the time column is ignored: " in counts.notes[1]
    assert "plays.csv:3: the time is ''" in counts.notes[1]


def test_a_byte_0_far_from_the_start_is_a_bad_line(read: Read) -> None:
    content = PLAIN * 500 + "b,y\0,1\n"
    with pytest.raises(InvalidCounts, match=r"plays\.csv:2001: a byte 0 in the text"):
        read(content.replace("user,song,plays\n", "c,z,1\n"))


# Ids


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["3", "12", "-5"], [-5, 3, 12]),
        (["007", "7", "12"], ["007", "12", "7"]),
        (["1.0", "2"], ["1.0", "2"]),
        ([" 1", "2"], [" 1", "2"]),
        (["12", "a"], ["12", "a"]),
        (['"a,b"', '"c""d"', '"e\nf"', "g'h"], ["a,b", 'c"d', "e\nf", "g'h"]),
        (['5" disc', "x"], ['5" disc', "x"]),
        (["é", "日本", "🎵"], ["é", "日本", "🎵"]),
        (["NA", "null", "nan"], ["NA", "nan", "null"]),
    ],
)
def test_ids_stay_as_they_are_written(read: Read, ids: list[str], expected: list[object]) -> None:
    assert list(read("user,item,count\n" + "".join(f"{one},x,1\n" for one in ids)).users) == expected


def test_ids_turn_into_strings_when_the_first_that_is_no_integer_comes_late(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_rows, "BLOCK", 64)
    counts = read("user,item,count\n" + "".join(f"{j % 50},{j},1\n" for j in range(200)) + "049,7,1\n")
    assert list(counts.users) == sorted([str(j) for j in range(50)] + ["049"])
    assert counts.items.values.tolist() == list(range(200))  # type: ignore[union-attr]


# Bad lines

BAD_LINES = {
    "negative": ("b,y,-4", ["user 'b', item 'y'", "-4", "negative"]),
    "NaN": ("b,y,NaN", ["user 'b', item 'y'", "'NaN'", "remove"]),
    "infinite": ("b,y,inf", ["user 'b', item 'y'", "'inf'", "cap"]),
    "fractional": ("b,y,1.5", ["user 'b', item 'y'", "'1.5'", "round_counts=True"]),
    "too large": ("b,y,2147483648", ["user 'b', item 'y'", "'2147483648'", "2^31-1"]),
    "much too large": ("b,y,99999999999999999999", ["user 'b', item 'y'", "2^31-1"]),
    "no number": ("b,y,abc", ["user 'b', item 'y'", "'abc'", "no number"]),
    "no count": ("b,y,", ["user 'b', item 'y'", "missing"]),
    "short": ("b,y", ["2 fields where 3 are expected", "'b,y'"]),
    "long": ("b,y,1,2", ["4 fields where 3 are expected", "'b,y,1,2'"]),
    "not UTF-8": (b"b,\xff,1", ["not UTF-8", "0xff"]),
    "decimal comma": ('b,y,"3,5"', ["user 'b', item 'y'", "'3,5'", "no number"]),
    "no user": (",y,1", ["user id is missing"]),
    "no item": ('b,"",1', ["item id is missing"]),
    "text after a quote": ('b,"y"z,1', ["expected after", "'b,\"y\"z,1'"]),
    "a return within": ("b,y\rz,1", ["new-line"]),
}


@pytest.mark.parametrize("block", [10, 2**20], ids=lambda size: f"blocks of {size}")
@pytest.mark.parametrize(("line", "words"), BAD_LINES.values(), ids=BAD_LINES)
def test_bad_lines_are_named_or_skipped(
    read: Read, line: str | bytes, words: list[str], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_rows, "BLOCK", block)
    bad = line if isinstance(line, bytes) else line.encode()
    content = b'user,song,plays\na,"x\n1",3\nb,y,4\n' + bad + b'\na,"x\n1",1\n'
    with pytest.raises(InvalidCounts) as error:
        read(content)
    for word in ["plays.csv:5: ", "skip_bad_lines=True", *words]:
        assert word in str(error.value)
    assert "\n" not in str(error.value)
    counts = read(content, skip_bad_lines=True)
    assert sums(counts) == {("a", "x\n1"): 4, ("b", "y"): 4}
    assert any(note.startswith("1 bad line skipped, the first is ") and note.endswith(":5") for note in counts.notes)


def test_a_quote_that_is_never_closed_costs_its_line_only(read: Read) -> None:
    content = 'user,song,plays\na,"x,3\n' + "".join(f"u{j},y,4\n" for j in range(30_000))
    with pytest.raises(InvalidCounts, match=r"plays\.csv:2: a quote is opened and not closed: 'a,\"x,3'"):
        read(content)
    counts = read(content, skip_bad_lines=True)
    assert counts.nnz == 30_000
    assert any("1 bad line skipped" in note for note in counts.notes)


def test_sum_that_is_too_large_names_user_and_item(read: Read) -> None:
    with pytest.raises(InvalidCounts, match="user 'a', item 'x' sum to 2147483648"):
        read("a,x,2147483647\na,x,1\n")


def test_fractions_are_rounded_on_request(read: Read) -> None:
    assert sums(read("a,x,1.5\nb,x,2.5\nc,x,0.5\n", round_counts=True)) == {("a", "x"): 2, ("b", "x"): 2}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "empty"),
        ("\n\n", "blank"),
        ("user,item,count\n", "no interactions"),
        ("a,x,0\n", "no interactions: 1 count, all 0"),
        (b"\xef\xbb\xbf", "blank|empty"),
        (gzip.compress(b""), "empty"),
    ],
    ids=["empty", "blank", "header only", "all zero", "only a BOM", "empty .gz"],
)
def test_files_without_counts_are_errors(read: Read, content: str | bytes, words: str) -> None:
    with pytest.raises(InvalidCounts, match=words):
        read(content)


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
@pytest.mark.parametrize("left", [0.5, 0.99])
def test_cut_off_packed_files_are_errors(read: Read, pack: Callable[[bytes], bytes], left: float) -> None:
    rng = np.random.default_rng(0)
    text = "user,song,plays\n" + "".join(f"{u},{i},1\n" for u, i in rng.integers(0, 10**9, (50_000, 2)))
    packed = pack(text.encode())
    with pytest.raises(InvalidCounts, match="cut off"):
        read(packed[: int(len(packed) * left)], skip_bad_lines=True)


def test_broken_packed_files_are_errors(read: Read) -> None:
    packed = bytearray(gzip.compress(PLAIN.encode() * 100))
    packed[20] ^= 255
    with pytest.raises(InvalidCounts, match=r"broken gzip|cut off"):
        read(bytes(packed))


# Columns and header


def test_missing_column_names_those_found_and_wanted(read: Read) -> None:
    with pytest.raises(InvalidCounts) as error:
        read("user,thing,count\na,x,3\n")
    for word in ["plays.csv: no item column", "user, thing, count", "wanted", "name it with item_column="]:
        assert word in str(error.value)


def test_columns_are_chosen_by_name_or_number(read: Read) -> None:
    content = "wer,was,wieviel\na,x,3\n"
    assert sums(read(content, user_column="wer", item_column="was", count_column="wieviel")) == {("a", "x"): 3}
    assert sums(read(content, user_column=1, item_column=0, count_column=2)) == {("x", "a"): 3}
    assert sums(read("x,a,3\n", user_column=1, item_column=0)) == {("a", "x"): 3}
    assert sums(read("9,9,x,a,3,9\n", user_column=3, item_column=2, count_column=4)) == {("a", "x"): 3}


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("a,b,c,d,e\n", {}, "5 columns and no header.*user_column="),
        ("a\nb\n", {}, "1 column and no header"),
        ("a,x,3\n", {"user_column": "user", "header": False}, "there is no header"),
        ("a,x,3\n", {"user_column": 2}, "column 2 is taken; count_column="),
        ("user,item\n1,2\n", {"user_column": 5}, "there are 2 columns"),
        ("a,x,3\n", {"header": True}, "no user column recognised"),
        ("alice,word\nbob,thing\n", {}, "no user column recognised"),
    ],
)
def test_columns_that_cannot_be_told_are_errors(
    read: Read, content: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidCounts, match=words):
        read(content, **options)


def test_header_is_as_the_caller_says(read: Read) -> None:
    assert sums(read("user,item\na,x\n", header=False)) == {("user", "item"): 1, ("a", "x"): 1}
    assert sums(read("user,item,1\na,x,3\n", header=True)) == {("a", "x"): 1}
    assert sums(read("alice,word,2\nbob,word,1\n")) == {("alice", "word"): 2, ("bob", "word"): 1}


@pytest.mark.parametrize("told", ["sep=;\r\n", '"SEP=;"\n', "\ufeffsep=;\n"])
def test_a_first_line_that_tells_the_delimiter_is_no_row(read: Read, told: str) -> None:
    assert sums(read(f"{told}user;song;plays\na,1;x;3\n")) == {("a,1", "x"): 3}
    assert sums(read(f"{told}a,1;x;3\n")) == {("a,1", "x"): 3}
    with pytest.raises(InvalidCounts, match=r"plays\.csv:3: .*a comma for decimals, or between thousands\?"):
        read(f"{told}user;song;plays\na;x;1,0\n")
    assert sums(read("sep=;,y,2\na,x,3\n")) == {("sep=;", "y"): 2, ("a", "x"): 3}


def test_delimiter_is_as_the_caller_says(read: Read) -> None:
    assert sums(read("a#x#3\n", delimiter="#")) == {("a", "x"): 3}
    with pytest.raises(ValueError, match="delimiter must be one character"):
        read("a::x::3\n", delimiter="::")


def test_progress_ends_with_the_whole_file(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_rows, "BLOCK", 8)
    told: list[tuple[int, int]] = []
    read(PLAIN, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (len(PLAIN), len(PLAIN))
    assert told == sorted(told)


# Any counts, any ids, any blocks

nasty = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5) | st.text(
    "ab,\"'\t;| \n\r07-+", min_size=1, max_size=6
)
triplets = st.lists(st.tuples(nasty, nasty, st.integers(1, 2**26)), min_size=1, max_size=25)


def by_rule(texts: list[str]) -> dict[str, object]:
    plain = all(
        one.removeprefix("-").isascii() and one.removeprefix("-").isdecimal() and str(int(one)) == one
        for one in texts
    )
    return {one: int(one) if plain else one for one in texts}


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    triplets,
    st.sampled_from(",\t;|"),
    st.integers(1, 80),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.randoms(),
)
def test_what_is_written_is_read_in_any_order_and_in_any_blocks(
    read: Read, rows: list[tuple[str, str, int]], delimiter: str, block: int, quoting: Any, random: Any
) -> None:
    users, items = by_rule([row[0] for row in rows]), by_rule([row[1] for row in rows])
    expected: dict[tuple[Any, Any], int] = {}
    for user, item, count in rows:
        pair = users[user], items[item]
        expected[pair] = expected.get(pair, 0) + count
    found = []
    for size in (block, 2**20):
        random.shuffle(rows)
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=delimiter, quoting=quoting).writerows([("user", "item", "count"), *rows])
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(text_rows, "BLOCK", size)
            found.append(read(text.getvalue(), delimiter=delimiter))
    assert sums(found[0]) == expected
    assert bits(found[0]) == bits(found[1])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text('ab1,\n\r" 3', max_size=40).map(str.encode), st.integers(1, 50))
def test_any_bytes_give_counts_or_an_error_of_ours_whatever_the_blocks(
    read: Read, content: bytes, block: int
) -> None:
    told = []
    for size in (block, 2**20):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(text_rows, "BLOCK", size)
            try:
                told.append(repr(bits(read(content))))
            except InvalidCounts as error:
                assert "\n" not in str(error)
                told.append("an error")  # of several faults, which one is told depends on the blocks
    assert told[0] == told[1]


def test_integers_beside_strings_are_kept_as_strings_and_it_is_said_once(read: Read) -> None:
    counts = read("user,item,count\n12,7,1\n13,x,2\n12,8,3\n")
    assert list(counts.users) == [12, 13]
    assert list(counts.items) == ["7", "8", "x"]
    said = [note for note in counts.notes if "kept as strings" in note]
    assert said == ["item ids are kept as strings: '7' is an integer, 'x' is not"]
