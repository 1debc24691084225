"""Damaged files are refused in one line that names the file, and never end the process."""

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from scipy import io as scipy_io
from scipy import sparse

from dcpf.counts import InvalidCounts
from dcpf.readers import read_counts

BANNER = b"%%MatrixMarket matrix coordinate real general\n"


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InvalidCounts) as error:
        read_counts(path)
    said = str(error.value)
    assert said.startswith(str(path))
    assert "\n" not in said
    assert len(said) < 1000
    return said


# MatrixMarket


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (BANNER + b"2 2 2\n1 1 1\0 1 2\n2 2 1\n", "a byte 0 in the text"),
        (BANNER + b"2 2 1\n1 1 1\0", "a byte 0 in the text"),
        (BANNER + b"2 2 2\n1 1\n1 2 2 1\n", "Line 3"),
        (BANNER + b"2 2 1\n1.5 1 1\n", "Line 3"),
        (BANNER + b"2 2 1\n0 1 1\n", "Line 3: Row index out of bounds"),
        (BANNER + b"2 2 1\n1 1 1\n2 2 2\n", "Line 4"),
        (BANNER + b"2 2 1\n1 1 nan\n", "NaN in data"),
        (BANNER + b"2 2 1\n1 1 1e999\n", "Infinity"),
        (BANNER + b"two 2 1\n1 1 1\n", "Invalid integer"),
        (BANNER + b"[" * 100_000, "broken MatrixMarket file"),
        (b"%%MatrixMarket matrix array integer general\n0 4\n0\n", "a matrix of 0 x 4"),
    ],
)
def test_broken_matrix_market_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in refusal(tmp_path / "input", content)


@pytest.mark.parametrize("end", [b"\n", b"", b" ", b"\r", b"\r\n", b" x"])
def test_a_last_line_may_end_in_any_way(tmp_path: Path, end: bytes) -> None:
    """A blank after the last number, without a line end, has been the end of a process in scipy."""
    (tmp_path / "m.mtx").write_bytes(BANNER + b"1 2 2\n1 1 3\n1 2 4" + end)
    np.testing.assert_array_equal(read_counts(tmp_path / "m.mtx").matrix.toarray(), [[3, 4]])


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize(
    ("layout", "field"),
    [
        ("coordinate", "integer"),
        ("coordinate", "real"),
        ("coordinate", "pattern"),
        ("array", "integer"),
        ("array", "real"),
    ],
)
def test_matrix_market_is_what_scipy_has_written(tmp_path: Path, symmetry: str, layout: str, field: str) -> None:
    matrix = np.array([[1, 2, 0], [2, 0, 5], [0, 5, 9]])
    given: Any = sparse.coo_array(matrix) if layout == "coordinate" else matrix
    scipy_io.mmwrite(tmp_path / "m.mtx", given, comment="one\n two", symmetry=symmetry, field=field)
    found = read_counts(tmp_path / "m.mtx").matrix.toarray()
    np.testing.assert_array_equal(found, matrix > 0 if field == "pattern" else matrix)


# npz


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **({"format": np.array(b"csr"), "shape": np.array([2, 2])} | arrays))
    return file.getvalue()


SOUND = {"data": np.array([1, 2]), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2])}


class Trap:
    """Raises when it is unpickled."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("unpickled",)


@pytest.mark.parametrize(
    "content",
    [
        npz(**SOUND | {"data": np.array([1.0, 2.0j])}),
        npz(**SOUND | {"indices": np.array([0, 7])}),
        npz(**SOUND | {"indptr": np.array([0, 2, 1])}),
        npz(**SOUND | {"indptr": np.array([[0, 1, 2]])}),
        npz(**SOUND, format=np.array(True)),
        npz(**SOUND, shape=np.array(["2", "2"])),
        npz(**SOUND | {"data": np.ones((2, 1, 0))}, format=np.array(b"bsr")),
        npz(**SOUND | {"data": np.array([Trap(), Trap()])}),
        npz(**SOUND)[:-30],
        npz(**SOUND)[:300] + b"?" + npz(**SOUND)[301:],
    ],
)
def test_arrays_that_make_no_matrix_are_refused_and_never_unpickled(tmp_path: Path, content: bytes) -> None:
    refusal(tmp_path / "input", content)


def test_the_trap_works() -> None:
    with pytest.raises(pytest.fail.Exception, match="unpickled"):
        pickle.loads(pickle.dumps(Trap()))


@pytest.mark.parametrize("dtype", [">i4", ">f8", "?", "<u8"])
def test_values_of_any_real_type_are_read(tmp_path: Path, dtype: str) -> None:
    arrays = SOUND | {"data": np.array([1, 1]).astype(dtype), "indices": np.array([0, 1], dtype=">i8")}
    (tmp_path / "input").write_bytes(npz(**arrays))
    np.testing.assert_array_equal(read_counts(tmp_path / "input").matrix.toarray(), np.eye(2))


@pytest.mark.parametrize("first", ["[Content_Types].xml", "docProps/app.xml"])  # Excel's own, and openpyxl's
def test_a_workbook_is_told_from_a_matrix(tmp_path: Path, first: str) -> None:
    with zipfile.ZipFile(tmp_path / "plays.xlsx", "w") as archive:
        for name in (first, "xl/workbook.xml"):
            archive.writestr(name, "<xml/>")
    with pytest.raises(InvalidCounts, match="is an Excel workbook; export the sheet as CSV"):
        read_counts(tmp_path / "plays.xlsx")


# Parquet

PLAYS = pl.DataFrame({"user": [1, 2, 1, 3, 3], "item": list("abcab"), "count": [1, 2, 3, 4, 5]})


@pytest.mark.parametrize("style", ["uncompressed", "zstd", "snappy", "small", "pyarrow", "pyarrow 2", "delta"])
def test_parquet_is_read_whoever_wrote_it(tmp_path: Path, style: str) -> None:
    path, many = tmp_path / "plays", pl.concat([PLAYS] * 3000)
    ways: dict[str, Any] = {
        "small": lambda: many.write_parquet(path, row_group_size=700, data_page_size=64),
        "pyarrow": lambda: pq.write_table(many.to_arrow(), path),
        "pyarrow 2": lambda: pq.write_table(many.to_arrow(), path, data_page_version="2.0", row_group_size=999),
        "delta": lambda: pq.write_table(
            many.to_arrow(), path, use_dictionary=False, column_encoding={"user": "DELTA_BINARY_PACKED"}
        ),
    }
    ways.get(style, lambda: many.write_parquet(path, compression=style))()
    assert read_counts(path).matrix.sum() == 15 * 3000


@pytest.mark.parametrize("cut", [1, 4, 8, 12, 100, 400])
def test_a_parquet_file_without_its_end_is_refused(tmp_path: Path, cut: int) -> None:
    PLAYS.write_parquet(tmp_path / "input")
    refusal(tmp_path / "input", (tmp_path / "input").read_bytes()[:-cut])


# Text


def test_an_error_does_not_show_all_of_what_is_long(tmp_path: Path) -> None:
    long = b"x" * 100_000
    said = refusal(tmp_path / "input", b"user,item,count\n" + long + b",b," + long + b"\n")
    assert "input:2: the count of user 'xxx" in said
    said = refusal(tmp_path / "input", b'item,count,"x\n' + long + b'"\na,1,b\n')
    assert "no user column recognised; found the columns item, count, x\\nxxx" in said
