"""Rows that are too many for memory become, by way of a file, exactly what they become in memory."""

import errno
import gc
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.counts.drawn import assert_sound

from dcpf import memory
from dcpf.counts import LARGEST_COUNT, Counts, InvalidCounts
from dcpf.counts.codes import Kind
from dcpf.counts.rows import BadRows, CountsBuilder, RowRef, Rows
from dcpf.counts.tables import from_table
from dcpf.readers import parquet, read_counts

LITTLE = ["500", "3KB", "20KB"]  # 2, 15 and 104 rows are kept in memory; 1, 2 and 19 are sorted at a time
MUCH = "1TB"


@contextmanager
def memory_of(size: str) -> Iterator[list[Any]]:
    """So much memory; gives the files that rows went to."""
    files: list[Any] = []

    def make(*args: Any, **options: Any) -> Any:
        files.append(unnamed(*args, **options))
        return files[-1]

    unnamed = tempfile.TemporaryFile
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("DCPF_MEMORY", size)
        patched.setattr("dcpf.counts.spill.TemporaryFile", make)
        yield files


def collected(frame: pl.DataFrame, kind: Kind, rows_at_a_time: int) -> Counts:
    builder = CountsBuilder("plays.csv", (kind, kind), BadRows(skip=True))
    for start in range(0, frame.height, rows_at_a_time):

        def place(row: int, start: int = start) -> RowRef:
            return RowRef(start + row, f"row {start + row}")

        builder.add(Rows(frame[start : start + rows_at_a_time], place))
    return builder.finish(("a note",))


def assert_same(one: Counts, other: Counts) -> None:
    """To the last bit, types and notes included."""
    assert_sound(one)
    for name in ("data", "indices", "indptr"):
        found, expected = getattr(one.matrix, name), getattr(other.matrix, name)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    assert one.matrix.shape == other.matrix.shape
    assert one.matrix.has_canonical_format
    assert one.users == other.users
    assert one.items == other.items
    assert one.notes == other.notes
    assert (one.events is None) == (other.events is None)
    if one.events is not None and other.events is not None:
        for name in ("starts", "times", "counts"):
            np.testing.assert_array_equal(getattr(one.events, name), getattr(other.events, name))


@st.composite
def tables(draw: st.DrawFn) -> tuple[pl.DataFrame, Kind]:
    """Up to 200 rows: few users with most of them, many repeated pairs, zeros, bad counts and missing ids."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, n_users, n_items = draw(st.integers(1, 200)), draw(st.integers(1, 60)), draw(st.integers(1, 20))
    skew = draw(st.sampled_from([1, 4]))
    users = (n_users * rng.random(n) ** skew).astype(int) * 7 - 50
    items = rng.permutation(n_items)[(n_items * rng.random(n)).astype(int)]
    counts = rng.integers(draw(st.sampled_from([-2, 0, 1])), 9, n)
    counts[rng.integers(n)] = 1  # at least one is positive
    kind = draw(st.sampled_from(["integer", "string", "spelt"]))
    columns = pl.DataFrame({"user": users, "item": items, "count": counts})
    if kind != "integer":
        columns = columns.with_columns(pl.col("user", "item").cast(pl.String))
    if kind == "spelt" and draw(st.booleans()):  # all become strings on the way
        columns[int(rng.integers(n)), "item"] = "é"
    if n > 2 and draw(st.booleans()):
        columns[int(np.argmin(counts)), "user"] = None
    return columns, kind


@settings(max_examples=100, deadline=None)
@given(tables(), st.integers(1, 70), st.sampled_from(LITTLE))
def test_the_same_counts_by_way_of_a_file(table: tuple[pl.DataFrame, Kind], rows_at_a_time: int, size: str) -> None:
    frame, kind = table
    with memory_of(MUCH) as files:
        expected = collected(frame, kind, rows_at_a_time)
    assert not files
    with memory_of(size) as files:
        found = collected(frame, kind, rows_at_a_time)
    assert_same(found, expected)
    kept = frame.filter(pl.col("user").is_not_null() & pl.col("count").gt(0)).height
    assert len(files) == (kept * 12 > int(size.replace("KB", "000")) // 16)
    assert all(file.closed for file in files)


@pytest.mark.parametrize("size", LITTLE)
def test_a_user_with_more_rows_than_are_sorted_at_a_time(size: str) -> None:
    rng = np.random.default_rng(0)
    users = np.where(rng.random(3000) < 0.9, 5, rng.integers(0, 10, 3000))
    table = pl.DataFrame({"user": users, "item": rng.integers(0, 300, 3000), "count": rng.integers(1, 9, 3000)})
    with memory_of(MUCH):
        expected = from_table(table)
    with memory_of(size) as files:
        assert_same(from_table(table), expected)
    assert len(files) == 1


def test_what_is_large_lies_in_mapped_files() -> None:
    table = pl.DataFrame({"user": np.arange(2000) // 3, "item": np.arange(2000) % 7})
    with memory_of("20KB"):
        matrix = from_table(table).matrix
    for array in (matrix.data, matrix.indices, matrix.indptr):
        while isinstance(array.base, np.ndarray):
            array = array.base
        assert array.base is not None  # not numpy's own memory


@pytest.mark.parametrize("size", LITTLE)
@pytest.mark.parametrize("user", [0, 17, 59])
def test_sums_that_are_too_large_are_the_same_error(size: str, user: int) -> None:
    users = np.append(np.arange(600) % 60, [user, 59, user, 59])
    counts = np.append(np.ones(600, dtype=int), [LARGEST_COUNT] * 4)
    table = pl.DataFrame({"user": users, "item": np.append(np.arange(600) % 11, [20, 21, 20, 21]), "count": counts})
    told = []
    for given_size in (MUCH, size):
        with memory_of(given_size), pytest.raises(InvalidCounts, match="which is too large; the limit is") as error:
            from_table(table)
        told.append(str(error.value))
    assert told[0] == told[1]
    assert f"the counts of user {user}, item 20 sum to {2 * LARGEST_COUNT}" in told[0]


def test_a_sum_that_is_just_small_enough() -> None:
    rows = pl.DataFrame({"user": [1] * 300, "item": [1] * 300, "count": [1] * 299 + [LARGEST_COUNT - 299]})
    with memory_of("500"):
        assert from_table(rows).matrix.data.tolist() == [LARGEST_COUNT]


def test_events_are_the_same() -> None:
    rng = np.random.default_rng(0)
    columns = {"user": rng.integers(0, 40, 500), "item": rng.integers(0, 9, 500), "time": rng.integers(0, 99, 500)}
    with memory_of(MUCH):
        expected = from_table(pl.DataFrame(columns))
    with memory_of("3KB"):
        assert_same(from_table(pl.DataFrame(columns)), expected)


def test_a_folder_of_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS_AT_A_TIME", 64)
    rng = np.random.default_rng(0)
    for part in range(4):
        users, items, counts = (rng.integers(0, size, 300) for size in (90, 9, 4))
        table = pl.DataFrame({"user": users, "item": items, "count": counts})
        table.write_parquet(tmp_path / f"{part}.parquet")
    with memory_of(MUCH):
        expected = read_counts(tmp_path)
    with memory_of("20KB") as files:
        assert_same(read_counts(tmp_path), expected)
    assert len(files) == 1


# Files


def test_no_name_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    table = pl.DataFrame({"user": np.arange(2000) // 3, "item": np.arange(2000) % 7})
    with memory_of("20KB") as files:
        counts = from_table(table)
    assert len(files) == 1
    assert list(tmp_path.iterdir()) == []
    assert counts.nnz == 2000


def test_a_file_is_closed_before_the_matrix_takes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    zeros = memory.zeros
    monkeypatch.setattr(memory, "zeros", lambda *size: (asked.append(files[0].closed), zeros(*size))[1])
    with memory_of("3KB") as files:
        from_table(pl.DataFrame({"user": np.arange(500), "item": np.arange(500) % 3}))
    assert asked == [True]


def test_a_file_is_closed_when_a_bad_row_ends_the_reading() -> None:
    frame = pl.DataFrame({"user": range(500), "item": [1] * 500, "count": [1] * 499 + [-1]})
    with memory_of("3KB") as files:
        builder = CountsBuilder("plays.csv", ("integer", "integer"), BadRows())
        with pytest.raises(InvalidCounts, match="row 0"):
            for start in range(500):
                builder.add(Rows(frame[start : start + 1], lambda row: RowRef(row, f"row {row}")))
        assert not files[0].closed
        del builder
        gc.collect()
    assert files[0].closed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_an_error_that_tells_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DCPF_MEMORY", "3KB")
    monkeypatch.setattr("dcpf.counts.spill.TemporaryFile", partial(Path("/dev/full").open, "r+b"))
    with pytest.raises(OSError, match=r"do not fit into memory, nor into .*: set TMPDIR .* DCPF_MEMORY") as caught:
        from_table(pl.DataFrame({"user": np.arange(500), "item": 1}))
    assert caught.value.errno == errno.ENOSPC


def test_a_disk_that_is_full_later_is_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setenv("DCPF_MEMORY", "3KB")
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"do not fit into memory, nor into .*: set TMPDIR .* DCPF_MEMORY"):
        from_table(pl.DataFrame({"user": np.arange(500), "item": 1}))
