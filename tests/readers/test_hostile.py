"""What damaged and lying files once did to the readers, each in its smallest form: now they are refused."""

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import io as scipy_io
from scipy import sparse

from dcpf.counts import InvalidCounts
from dcpf.readers import matrix_market, read_counts
from dcpf.readers.parquet_sizes import check_sizes

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
        (b"2 2 2\n1 1 1\0 1 2\n2 2 1\n", "input:3: .* where 3 numbers should be"),
        (b"2 2 1\n1 1 1\xafU", "input:3: .* where 3 numbers should be"),
        (b"2 2 2\n1 1\n1 2 2 1\n", "input:3: .*'1 1' where 3 numbers"),
        (b"2 2 1\n1 1 0x1\n", "input:3: .*'1 1 0x1' where 3 numbers"),
        (b"2 2 1\n1.5 1 1\n", "input:3: .*row 1.5, column 1 of 2 x 2"),
        (b"2 2 1\n0 1 1\n", "input:3: .*row 0, column 1 of 2 x 2"),
        (b"2 2 1\n1 1 1\n2 2 2\n", "input:4: .*more than the 1 entries"),
        (b"2 2 1\n1 1 nan\n", "NaN in data"),
        (b"2 2 1\n1 1 1e999\n", "Infinity"),
        (b"%\n" * 600_000 + b"2 2 1\n1 1 1\n", "no sizes within"),
        (b"2 2 1\n1 1 " + b"1" * 10_000_000 + b"\n", "no line end within"),
        (b"two 2 1\n1 1 1\n", "'two 2 1' where the sizes are expected"),
        (b"[" * 100_000, "where the sizes are expected"),
    ],
)
def test_broken_matrix_market_neither_ends_the_process_nor_is_misread(
    tmp_path: Path, content: bytes, words: str
) -> None:
    assert re.search(words, refusal(tmp_path / "input", BANNER + content))


@pytest.mark.parametrize("block", [3, 7, 2**22])
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
def test_matrix_market_is_what_scipy_has_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, symmetry: str, layout: str, field: str
) -> None:
    monkeypatch.setattr(matrix_market, "BLOCK", block)
    matrix = np.array([[1, 2, 0], [2, 0, 5], [0, 5, 9]])
    given: Any = sparse.coo_array(matrix) if layout == "coordinate" else matrix
    scipy_io.mmwrite(tmp_path / "m.mtx", given, comment="one\n two", symmetry=symmetry, field=field)
    if block < 9:
        (tmp_path / "m.mtx").write_bytes((tmp_path / "m.mtx").read_bytes().replace(b"\n", b" \r\n")[:-3])
        monkeypatch.setattr(matrix_market, "BLOCK", max(block, 9))  # no line is longer
    found = read_counts(tmp_path / "m.mtx").matrix.toarray()
    np.testing.assert_array_equal(found, matrix > 0 if field == "pattern" else matrix)


# npz


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **({"format": np.array(b"csr"), "shape": np.array([2, 2])} | arrays))
    return file.getvalue()


SOUND = {"data": np.array([1, 2]), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2])}


def with_header(header: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(
            zipfile.ZipInfo("format.npy"), b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
        )
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        with_header(b"{'descr': '<i8', 'shape': (" + b"(" * 90),
        with_header(b"{'descr': '<i8', 'shape': '''"),
        with_header(b"{'descr': '|S-1', 'fortran_order': False, 'shape': ()}\n"),
        with_header(b"{'descr': '<i8', 'fortran_order': False, 'shape': (0, 100000000000000000000)}\n"),
        npz(**SOUND | {"data": np.array([1.0, 2.0j])}),
        npz(**SOUND | {"indices": np.array([0.0, 1.0])}),
        npz(**SOUND | {"indptr": np.array([0, 2, 1])}),
        npz(**SOUND | {"indptr": np.array([[0, 1, 2]])}),
        npz(**SOUND, format=np.array(True)),
        npz(**SOUND, shape=np.array(["2", "2"])),
        npz(**SOUND | {"data": np.ones((2, 1, 1)), "indptr": np.array([0, 1, -(2**31)])}, format=np.array(b"bsr")),
        npz(**SOUND | {"data": np.ones((2, 1, 0))}, format=np.array(b"bsr")),
    ],
)
def test_arrays_that_make_no_matrix_are_refused(tmp_path: Path, content: bytes) -> None:
    refusal(tmp_path / "input", content)


@pytest.mark.parametrize("dtype", ["<f2", ">i4", ">f8", "?", "<u8"])
def test_values_of_any_real_type_are_read(tmp_path: Path, dtype: str) -> None:
    arrays = SOUND | {"data": np.array([1, 1]).astype(dtype), "indices": np.array([0, 1], dtype=">i8")}
    (tmp_path / "input").write_bytes(npz(**arrays))
    np.testing.assert_array_equal(read_counts(tmp_path / "input").matrix.toarray(), np.eye(2))


numbers = st.sampled_from([0, 1, 2, 3, -1, 2**31 - 1, 2**31, 2**62])
any_array = hnp.arrays(
    hnp.integer_dtypes() | hnp.floating_dtypes() | hnp.boolean_dtypes() | hnp.byte_string_dtypes(max_len=3),
    hnp.array_shapes(min_dims=0, max_dims=3, max_side=4),
) | st.lists(numbers, max_size=5).map(lambda given: np.array(given, dtype=np.int64))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([b"csr", b"csc", b"coo", b"bsr", b"dia", b"lil", b""]),
    st.fixed_dictionaries(dict.fromkeys(("data", "indices", "indptr", "row", "col", "offsets"), any_array)),
    st.just(np.array([2, 3])) | any_array,
)
def test_any_arrays_are_a_matrix_of_counts_or_refused(
    tmp_path: Path, layout: bytes, arrays: dict[str, np.ndarray], shape: np.ndarray
) -> None:
    path = tmp_path / "input"
    path.write_bytes(npz(**arrays, format=np.array(layout), shape=shape))
    try:
        counts = read_counts(path).matrix
    except InvalidCounts as error:
        assert "\n" not in str(error)
    else:
        assert counts.data.min() >= 1


# Parquet

PLAYS = pl.DataFrame({"user": [1, 2, 1, 3, 3], "item": list("abcab"), "count": [1, 2, 3, 4, 5]})


@pytest.mark.parametrize("style", ["uncompressed", "zstd", "snappy", "small", "pyarrow", "pyarrow 2", "delta"])
def test_sizes_of_sound_files_are_accepted_whoever_wrote_them(tmp_path: Path, style: str) -> None:
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
    check_sizes(path, many.columns)
    assert read_counts(path).matrix.sum() == 15 * 3000


def test_a_page_that_claims_more_values_than_there_are_rows_is_refused(tmp_path: Path) -> None:
    PLAYS.write_parquet(tmp_path / "input", compression="uncompressed", statistics=False)
    content = (tmp_path / "input").read_bytes()
    values = b"\x15\x0a"  # 5 in zigzag, first found in the header of a page
    said = refusal(tmp_path / "input", content.replace(values, b"\x15\x7e", 1))
    assert "a page claims 63 values of 5" in said


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


@pytest.mark.parametrize("first", ["[Content_Types].xml", "docProps/app.xml"])  # Excel's own, and openpyxl's
def test_a_workbook_is_told_from_a_matrix(tmp_path: Path, first: str) -> None:
    with zipfile.ZipFile(tmp_path / "plays.xlsx", "w") as archive:
        for name in (first, "xl/workbook.xml"):
            archive.writestr(name, "<xml/>")
    with pytest.raises(InvalidCounts, match="is an Excel workbook; export the sheet as CSV"):
        read_counts(tmp_path / "plays.xlsx")
