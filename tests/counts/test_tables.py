"""Tables in memory become Counts; what cannot is refused with the row, the value and the way out."""

import datetime
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import dcpf
from dcpf.counts import Counts, tables
from dcpf.counts.checks import is_table
from dcpf.counts.tables import from_table

LIBRARIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "pyarrow": pa.table,
}


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Callable[[dict[str, Any]], Any]:
    return LIBRARIES[request.param]


def sums(counts: Counts) -> dict[tuple[Any, Any], int]:
    coo = counts.matrix.tocoo()
    users, items = counts.users.at(coo.row), counts.items.at(coo.col)
    return dict(zip(zip(users, items, strict=True), coo.data.tolist(), strict=True))


PLAYS = {"user": ["b", "a", "b", "b"], "song": [3, 1, 3, 2], "plays": [1, 2, 3, 7]}


def test_rows_become_counts_with_ascending_ids(library: Callable[..., Any]) -> None:
    counts = from_table(library(PLAYS))
    assert sums(counts) == {("a", 1): 2, ("b", 2): 7, ("b", 3): 4}
    assert list(counts.users) == ["a", "b"]
    assert list(counts.items) == [1, 2, 3]
    assert counts.matrix.has_canonical_format
    assert counts.matrix.data.dtype == np.int64
    assert counts.events is None
    assert counts.notes == ("columns user, song (item), plays (count)", "1 repeated pair summed")


BAD_COUNTS = {
    "negative": (-4, ["-4", "negative", "clip"]),
    "NaN": (float("nan"), ["", "remove"]),
    "infinite": (float("inf"), ["inf", "infinite", "cap"]),
    "fractional": (1.5, ["1.5", "no whole number", "round_counts=True"]),
    "too large": (2.0**31, ["2147483648", "too large", "2^31-1"]),
    "missing": (None, ["missing"]),
}


@pytest.mark.parametrize(("value", "words"), BAD_COUNTS.values(), ids=BAD_COUNTS)
def test_bad_counts_are_named_with_row_user_and_item(
    library: Callable[..., Any], value: Any, words: list[str]
) -> None:
    with pytest.raises(dcpf.InvalidCounts) as error:
        from_table(library(PLAYS | {"plays": [1.0, 2.0, value, 4.0]}))
    for word in ["row 2 of the table: ", "user 'b', item 3 is ", *words]:
        assert word in str(error.value)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.uint64, np.float32], ids=lambda one: f"{one}")
def test_small_types_of_counts_do_not_overflow(dtype: type) -> None:
    value = True if dtype is bool else 100
    table = pd.DataFrame({"user": [1] * 5, "item": [2] * 5, "n": np.full(5, value, dtype=dtype)})
    assert sums(from_table(table)) == {(1, 2): 5 * int(value)}


def test_sum_of_repeated_pairs_may_be_too_large() -> None:
    table = pl.DataFrame({"user": ["a", "a", "b"], "item": ["x", "x", "y"], "count": [2**31 - 1, 1, 1]})
    with pytest.raises(dcpf.InvalidCounts, match=r"user 'a', item 'x' sum to 2147483648.*2\^31-1"):
        from_table(table)
    assert sums(from_table(table[1:]))["a", "x"] == 1


@pytest.mark.parametrize("counts", [[0, 0], []], ids=["all 0", "no rows"])
def test_no_interactions_is_an_error(counts: list[int]) -> None:
    with pytest.raises(dcpf.InvalidCounts, match="no interactions"):
        from_table(
            pl.DataFrame({"user": counts, "item": counts, "count": counts}, schema_overrides={"user": pl.Int64})
        )


def test_zeros_are_absent(library: Callable[..., Any]) -> None:
    counts = from_table(library(PLAYS | {"plays": [1, 0, 3, 0]}))
    assert sums(counts) == {("b", 3): 4}
    assert "2 zero counts left out" in counts.notes


def test_rounding_is_half_to_even_and_what_becomes_zero_is_absent() -> None:
    table = pl.DataFrame({"user": [1, 2, 3, 4], "item": [1] * 4, "count": [0.5, 1.5, 2.5, 2.7]})
    assert sums(from_table(table, round_counts=True)) == {(2, 1): 2, (3, 1): 2, (4, 1): 3}


def test_without_counts_each_row_is_an_event(library: Callable[..., Any]) -> None:
    counts = from_table(library({"uid": [1, 1, 2], "sku": ["x", "x", "y"], "price": [1.5, 2.0, 9.0]}))
    assert sums(counts) == {(1, "x"): 2, (2, "y"): 1}
    assert counts.notes[0] == "columns uid (user), sku (item); no count column: each row counts 1; ignored: price"


# Columns


@pytest.mark.parametrize(
    "names",
    [
        ("user", "item", "count"),
        ("User ID", "Song-ID", "PLAYS"),
        ("userId", "movieId", "n"),
        ("uid", "artist", "play_count"),
        ("listener", "track_id", "listens"),
        ("customer", "product", "quantity"),
        ("household_key", "sku", "qty"),
        ("visitor", "venue_id", "num_visits"),
        ("session_id", "item_id", "clicks"),
        ("doc", "word", "freq"),
        ("member", "doc", "views"),
    ],
)
def test_usual_names_are_recognised_in_any_order(names: tuple[str, str, str]) -> None:
    user, item, count = names
    expected = {("a", 7): 2, ("b", 8): 3}
    assert sums(from_table(pl.DataFrame({user: ["a", "b"], item: [7, 8], count: [2, 3]}))) == expected
    assert sums(from_table(pl.DataFrame({count: [2, 3], item: [7, 8], user: ["a", "b"], "city": [0, 0]}))) == expected


def test_missing_column_names_those_found_and_wanted() -> None:
    with pytest.raises(dcpf.InvalidCounts) as error:
        from_table(pl.DataFrame({"user": [1], "thing": [2], "count": [3]}))
    for word in [
        "no item column",
        "user, thing, count",
        "wanted user, item and count",
        "Counts.from_table(table, item_column=",
        "table.to_numpy()",
    ]:
        assert word in str(error.value)
    assert sums(from_table(pl.DataFrame({"user": [1], "thing": [2], "count": [3]}), item_column="thing")) == {
        (1, 2): 3
    }


def test_several_columns_that_fit_are_an_error_and_a_choice_settles_it() -> None:
    table = pl.DataFrame({"user": [1], "artist": ["a"], "track": ["t"], "plays": [3]})
    with pytest.raises(
        dcpf.InvalidCounts, match="artist, track may be the item column; choose one with item_column="
    ):
        from_table(table)
    counts = from_table(table, item_column="track")
    assert sums(counts) == {(1, "t"): 3}
    assert counts.notes == ("columns user, track (item), plays (count); ignored: artist",)
    assert sums(from_table(table, item_column=1)) == {(1, "a"): 3}


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"user_column": "who"}, "no column 'who'"),
        ({"user_column": 9}, "there are 3 columns"),
        ({"user_column": 1, "item_column": 1}, "cannot be both"),
    ],
)
def test_choices_that_cannot_be_are_errors(choice: dict[str, Any], words: str) -> None:
    with pytest.raises(dcpf.InvalidCounts, match=words):
        from_table(pl.DataFrame(PLAYS), **choice)


def test_a_table_without_names_goes_by_position() -> None:
    assert sums(from_table(pd.DataFrame([["a", "x", 3], ["b", "y", 4]]))) == {("a", "x"): 3, ("b", "y"): 4}


# Ids


def test_missing_ids_are_named_with_their_row(library: Callable[..., Any]) -> None:
    with pytest.raises(dcpf.InvalidCounts, match="row 1 of the table: the user id is missing"):
        from_table(library(PLAYS | {"user": ["b", None, "b", "b"]}))


@pytest.mark.parametrize(
    "ids", [pd.array([1, None, 2, 3], dtype="Int64"), pd.Series([1, np.nan, 2, 3], dtype=object)], ids=["NA", "NaN"]
)
def test_missing_ids_of_pandas_are_named_with_their_row(ids: Any) -> None:
    with pytest.raises(dcpf.InvalidCounts, match="row 1 of the table: the user id is missing"):
        from_table(pd.DataFrame(PLAYS | {"user": ids}))


BAD_IDS = {
    "floats": (np.array([1.0, 2.0, 3.0, 4.0]), "floats.*convert"),
    "floats for a gap": (np.array([1.0, np.nan, 3.0, 4.0]), "floats.*convert"),
    "truth values": (np.array([True, False, True, True]), "truth values"),
    "dates": (np.array(["2020-01-01"] * 4, dtype="datetime64[us]"), "dates.*convert it to strings"),
    "beyond 64 bits": (np.array([1, 2, 3, 2**64 - 1], dtype=np.uint64), "18446744073709551615.*strings"),
}


@pytest.mark.parametrize(("ids", "words"), BAD_IDS.values(), ids=BAD_IDS)
def test_what_is_no_id_is_refused(library: Callable[..., Any], ids: np.ndarray, words: str) -> None:
    with pytest.raises(dcpf.InvalidCounts, match=f"column 'user' holds .*{words}"):
        from_table(library(PLAYS | {"user": ids}))


@pytest.mark.parametrize("one", [1.5, True, datetime.date(2020, 1, 1), b"a", (1, 2), 2**64])
def test_objects_that_are_no_ids_are_refused(one: object) -> None:
    with pytest.raises(dcpf.InvalidCounts, match=r"row 2 of the table: .* in column 'user'"):
        from_table(pd.DataFrame(PLAYS | {"user": pd.Series([1, 2, one, 3], dtype=object)}))


def test_half_of_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(dcpf.InvalidCounts, match="no valid text"):
        from_table(pd.DataFrame(PLAYS | {"user": pd.Series(["a", "\ud800", "b", "c"], dtype=object)}))


def test_mixed_integers_and_strings_become_strings_and_it_is_said_once() -> None:
    table = pd.DataFrame(PLAYS | {"user": pd.Series([7, "a", 7, "b"], dtype=object)})
    with pytest.warns(UserWarning, match="column user mixes integers and strings") as told:
        counts = from_table(table)
    assert len(told) == 1
    assert list(counts.users) == ["7", "a", "b"]
    assert sum("mixes" in note for note in counts.notes) == 1


def test_mixed_ids_that_become_equal_are_an_error() -> None:
    table = pd.DataFrame(PLAYS | {"user": pd.Series([7, "7", 8, "b"], dtype=object)})
    with pytest.raises(dcpf.InvalidCounts, match="'user' mixes integers and strings, and 7 occurs as both"):
        from_table(table)


def test_leading_zeros_stay(library: Callable[..., Any]) -> None:
    assert list(from_table(library(PLAYS | {"user": ["007", "7", "07", "7"]})).users) == ["007", "07", "7"]


def test_categories_give_what_they_stand_for() -> None:
    texts, numbers = ["b", "a", "b", "b"], [3, 1, 3, 2]
    expected = sums(from_table(pl.DataFrame(PLAYS)))
    for table in (
        pd.DataFrame({"user": pd.Categorical(texts), "song": pd.Categorical(numbers), "plays": PLAYS["plays"]}),
        pl.DataFrame(PLAYS).with_columns(pl.col("user").cast(pl.Categorical)),
        pa.table(
            PLAYS | {"user": pa.array(texts).dictionary_encode(), "song": pa.array(numbers).dictionary_encode()}
        ),
    ):
        assert sums(from_table(table)) == expected


# Times


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([5, 2, 3, 9], np.array([2, 9, 3, 5])),
        ([5.5, 2, 3, 9], np.array([2, 9, 3, 5.5])),
        (
            ["2020-01-02", "2020-01-01T10:00:00Z", "2019-05-05 10:00", "2020-01-01T12:00:00.5+02:00"],
            np.array(
                ["2020-01-01T10:00", "2020-01-01T10:00:00.5", "2019-05-05T10:00", "2020-01-02"],
                dtype="datetime64[us]",
            ),
        ),
    ],
    ids=["integers", "floats", "ISO texts"],
)
def test_events_stand_by_entry_and_then_by_time(library: Callable[..., Any], times: list[Any], expected: Any) -> None:
    if isinstance(times[0], float):
        times = [float(one) for one in times]
    counts = from_table(library(PLAYS | {"time": times}))
    assert counts.events is not None
    np.testing.assert_array_equal(counts.events.times, expected)
    assert counts.events.times.dtype == expected.dtype
    assert counts.events.starts.tolist() == [0, 1, 2, 4]
    assert counts.events.counts.tolist() == ([2, 7, 3, 1])
    assert np.add.reduceat(counts.events.counts, counts.events.starts[:-1]).tolist() == counts.matrix.data.tolist()


def test_moments_of_any_zone_and_unit_are_told_in_utc() -> None:
    moments = pd.to_datetime(["2020-01-01 12:00"] * 4).tz_localize("Europe/Paris")
    for when in (moments, moments.tz_convert("UTC").tz_localize(None), moments.as_unit("s"), moments.as_unit("ns")):
        for table in (pd.DataFrame(PLAYS | {"when": when}), pl.DataFrame(PLAYS | {"when": list(when)})):
            events = from_table(table).events
            assert events is not None
            assert (events.times == np.datetime64("2020-01-01T11:00:00", "us")).all()


def test_a_bad_time_is_an_error_and_one_that_nobody_asked_for_is_left() -> None:
    table = pl.DataFrame(PLAYS | {"date": ["05/01/2020"] * 4})
    counts = from_table(table)
    assert counts.events is None
    assert any("time column is ignored: row 0 of the table: the time is '05/01/2020'" in one for one in counts.notes)
    with pytest.raises(dcpf.InvalidCounts, match="row 0 of the table: the time is '05/01/2020'"):
        from_table(table, time_column="date")
    table = pl.DataFrame(PLAYS | {"date": ["2020-01-01", "2020-01-02", None, "2020-01-03"]})
    counts = from_table(table)
    assert counts.events is None
    assert counts.nnz == from_table(pl.DataFrame(PLAYS)).nnz
    assert any("time column is ignored: row 2 of the table: the time is None" in note for note in counts.notes)
    with pytest.raises(dcpf.InvalidCounts, match="row 2 of the table: the time is None"):
        from_table(table, time_column="date")


def test_two_columns_that_may_be_the_time_give_none() -> None:
    counts = from_table(pl.DataFrame(PLAYS | {"date": [1] * 4, "time": [2] * 4}))
    assert counts.events is None
    assert any("date, time may be the time column" in note for note in counts.notes)


# Any table


ids = st.lists(st.integers(-5, 5), min_size=12, max_size=12) | st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3), min_size=12, max_size=12
)


@settings(max_examples=40, deadline=None)
@given(ids, ids, st.lists(st.integers(0, 5), min_size=1, max_size=12).filter(any), st.integers(1, 13), st.randoms())
def test_libraries_pieces_and_orders_of_rows_agree(
    users: list[Any], items: list[Any], plays: list[int], piece: int, random: Any
) -> None:
    rows = list(zip(users, items, plays, strict=False))
    expected: dict[tuple[Any, Any], int] = {}
    for user, item, count in rows:
        if count:
            expected[user, item] = expected.get((user, item), 0) + count
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "ROWS_AT_A_TIME", piece)
        found = []
        for make in LIBRARIES.values():
            random.shuffle(rows)
            found.append(
                from_table(
                    make(dict(zip(("user", "item", "count"), map(list, zip(*rows, strict=True)), strict=True)))
                )
            )
    for counts in found:
        assert sums(counts) == expected
        assert counts.users == found[0].users
        assert list(counts.users) == sorted(counts.users)  # type: ignore[type-var]
        for name in ("data", "indices", "indptr"):
            assert getattr(counts.matrix, name).tobytes() == getattr(found[0].matrix, name).tobytes()


def test_what_is_a_table_and_what_is_not() -> None:
    for table in (pd.DataFrame(PLAYS), pl.DataFrame(PLAYS), pa.table(PLAYS)):
        assert is_table(table)
    for other in (
        np.ones((2, 2)),
        sparse.eye_array(3),
        [[1, 2]],
        None,
        "plays.csv",
        pl.LazyFrame(PLAYS),
        {"user": [1]},
    ):
        assert not is_table(other)


def test_no_table_is_a_type_error_that_says_what_was_found() -> None:
    with pytest.raises(TypeError, match=r"pandas, polars or pyarrow, found .*LazyFrame; \.collect\(\) it first"):
        from_table(pl.LazyFrame(PLAYS))


def test_asking_whether_a_matrix_is_a_table_imports_no_table_library() -> None:
    program = (
        "import sys, numpy; from dcpf.counts.checks import is_table; assert not is_table(numpy.ones((2, 2))); "
        "assert not {'polars', 'narwhals', 'pandas', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
