"""Parquet, MatrixMarket and npz become Counts, known by their content; what is broken or unknown is refused."""

import gzip
import io
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import io as scipy_io
from scipy import sparse

from dcpf.counts import Counts, InvalidCounts
from dcpf.counts.tables import from_table
from dcpf.readers import parquet, read_counts

PLAYS = pl.DataFrame(
    {"user": ["b", "a", "b", "b"], "song": [3, 1, 3, 2], "plays": [1, 2, 3, 7], "city": [0, 0, 0, 0]}
)
MATRIX = np.array([[0, 2, 1], [3, 0, 0]])


def same(one: Counts, other: Counts) -> bool:
    return (
        one.users == other.users
        and one.items == other.items
        and one.matrix.shape == other.matrix.shape
        and (one.matrix != other.matrix).nnz == 0
    )


# Parquet


@pytest.mark.parametrize("piece", [1, 3, 10**6])
def test_parquet_gives_what_the_table_gives(tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS_AT_A_TIME", piece)
    PLAYS.write_parquet(tmp_path / "plays.csv")  # the content decides, not the name
    counts = read_counts(tmp_path / "plays.csv")
    assert same(counts, from_table(PLAYS))
    assert counts.notes == ("columns user, song (item), plays (count); ignored: city", "1 repeated pair summed")


def test_a_folder_of_parquet_is_one_table(tmp_path: Path) -> None:
    PLAYS[:1].write_parquet(tmp_path / "part-0.parquet")
    PLAYS[1:].select("city", "plays", "user", "song").write_parquet(tmp_path / "part-1.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part-0.parquet.crc").touch()
    told: list[tuple[int, int]] = []
    assert same(read_counts(tmp_path, progress=lambda *one: told.append(one)), from_table(PLAYS))
    assert told[-1][0] == told[-1][1] > 0


def test_parts_that_do_not_match_are_errors(tmp_path: Path) -> None:
    PLAYS.write_parquet(tmp_path / "0.parquet")
    PLAYS.rename({"song": "thing"}).write_parquet(tmp_path / "1.parquet")
    with pytest.raises(InvalidCounts, match=r"1\.parquet: no column 'song', which 0\.parquet has; found user, thing"):
        read_counts(tmp_path)
    PLAYS.with_columns(pl.col("song").cast(pl.String)).write_parquet(tmp_path / "1.parquet")
    with pytest.raises(InvalidCounts, match="holds String after integers"):
        read_counts(tmp_path)


def test_a_folder_without_parquet_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidCounts, match="no Parquet file in this folder"):
        read_counts(tmp_path)


def test_bad_values_of_parquet_are_named_with_file_and_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS_AT_A_TIME", 2)
    path = tmp_path / "plays.parquet"
    PLAYS.with_columns(plays=pl.Series([1.0, 2.0, 3.0, 1.5])).write_parquet(path)
    with pytest.raises(InvalidCounts, match=r"plays\.parquet, row 3: the count of user 'b', item 2 is 1\.5"):
        read_counts(path)
    PLAYS.with_columns(user=pl.Series(["a", "b", None, "c"])).write_parquet(path)
    with pytest.raises(InvalidCounts, match=r"plays\.parquet, row 2: the user id is missing"):
        read_counts(path)
    PLAYS.with_columns(user=pl.Series([1.0, 2.0, 3.0, 4.0])).write_parquet(path)
    with pytest.raises(InvalidCounts, match=r"plays\.parquet: column 'user' holds floats"):
        read_counts(path)


def test_parquet_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "plays.parquet"
    PLAYS.write_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InvalidCounts, match="broken Parquet file"):
        read_counts(path)


# Matrices


def save_mtx(path: Path, matrix: Any) -> None:
    scipy_io.mmwrite(path.with_suffix(".mtx"), sparse.coo_array(matrix))
    path.with_suffix(".mtx").rename(path)


def save_mtx_gz(path: Path, matrix: Any) -> None:
    save_mtx(path, matrix)
    path.write_bytes(gzip.compress(path.read_bytes()))


def save_npz(path: Path, matrix: Any) -> None:
    sparse.save_npz(path.with_suffix(".npz"), sparse.csr_array(matrix))
    path.with_suffix(".npz").rename(path)


SAVERS = {"mtx": save_mtx, "mtx.gz": save_mtx_gz, "npz": save_npz}


@pytest.fixture(params=SAVERS)
def save(request: pytest.FixtureRequest) -> Callable[[Path, Any], None]:
    return SAVERS[request.param]


def test_matrices_are_numbered_from_0(tmp_path: Path, save: Callable[[Path, Any], None]) -> None:
    save(tmp_path / "counts.txt", MATRIX)
    counts = read_counts(tmp_path / "counts.txt")
    np.testing.assert_array_equal(counts.matrix.toarray(), MATRIX)
    assert list(counts.users) == [0, 1]
    assert list(counts.items) == [0, 1, 2]
    assert "numbered from 0" in counts.notes[0]


@pytest.mark.parametrize(("value", "words"), [(-1, "Negative"), (1.5, "Fractions"), (2.0**31, "Counts too large")])
def test_bad_values_of_matrices_are_named(
    tmp_path: Path, save: Callable[[Path, Any], None], value: float, words: str
) -> None:
    matrix = MATRIX.astype(float)
    matrix[1, 2] = value
    save(tmp_path / "counts", matrix)
    with pytest.raises(InvalidCounts, match=f"counts: {words}.*user 1, item 2"):
        read_counts(tmp_path / "counts")


def test_fractions_in_matrices_are_rounded_on_request(tmp_path: Path, save: Callable[[Path, Any], None]) -> None:
    save(tmp_path / "counts", np.array([[0.5, 1.5], [2.5, 3.0]]))
    np.testing.assert_array_equal(
        read_counts(tmp_path / "counts", round_counts=True).matrix.toarray(), [[0, 2], [2, 3]]
    )


def test_a_matrix_has_no_columns_to_choose(tmp_path: Path, save: Callable[[Path, Any], None]) -> None:
    save(tmp_path / "counts", MATRIX)
    with pytest.raises(ValueError, match="leave out user_column"):
        read_counts(tmp_path / "counts", user_column="user")


def test_repeated_entries_are_summed(tmp_path: Path) -> None:
    (tmp_path / "counts").write_text("%%MatrixMarket matrix coordinate integer general\n2 2 3\n2 1 5\n1 2 1\n2 1 1\n")
    np.testing.assert_array_equal(read_counts(tmp_path / "counts").matrix.toarray(), [[0, 1], [6, 0]])


BANNER = "%%MatrixMarket matrix coordinate integer general\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (BANNER + "2 2 3\n1 1 1\n", "MatrixMarket"),
        (BANNER + "2 2 1\n3 1 1\n", "counts: broken MatrixMarket file .Line 3"),
        (BANNER + "2 2 1\n1 1 x\n", "counts: broken MatrixMarket file .Line 3"),
        (BANNER + "2 2 999999999999\n1 1 1\n", "broken MatrixMarket"),
        (BANNER + "999999999999 2 1\n1 1 1\n", "counts: Unable to allocate"),
        ("%%MatrixMarket matrix array integer general\n1000000 1000000\n1\n", "broken MatrixMarket"),
        (BANNER, "MatrixMarket"),
        ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 2\n", "[Cc]omplex"),
        (gzip.compress((BANNER + "2 2 1\n1 1 1\n").encode(), mtime=0)[:-9], "cut off"),
    ],
)
def test_broken_matrix_market_is_an_error(tmp_path: Path, content: str | bytes, words: str) -> None:
    (tmp_path / "counts").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidCounts, match=words) as error:
        read_counts(tmp_path / "counts")
    assert "\n" not in str(error.value)


def npz_of(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def zip_of(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "user,item\n1,2\n")
    return file.getvalue()


REFUSED = {
    "npz without a matrix": (npz_of(a=np.ones(3)), "no sparse matrix"),
    "npz with objects": (npz_of(a=np.array([{}], dtype=object)), "no sparse matrix"),
    "npz cut off": (npz_of(a=np.ones(30))[:-30], "broken npz"),
    "zip": (zip_of("plays.csv"), "zip file with 'plays.csv' in it.*unpack"),
    "pickle": (pickle.dumps({"user": [1]}), "is a pickle.*never read"),
    "packed pickle": (gzip.compress(pickle.dumps([1])), "is a pickle"),
    "npy": (b"\x93NUMPY\x01\x00v\x00{'descr'", "save_npz"),
    "HDF5": (b"\x89HDF\r\n\x1a\n", "HDF5"),
    "UTF-16": ("user,item\n1,2\n".encode("utf-16"), "UTF-16"),
    "binary": (b"abc\0\0\1\2", "binary file of an unknown kind"),
    "xz": (b"\xfd7zXZ\0abc", "xz; unpack"),
    "packed Parquet": (gzip.compress(b"PAR1abc"), "parquet file packed by gzip; unpack"),
    "packed twice": (gzip.compress(gzip.compress(b"a,b,1\n")), "packed twice"),
}


@pytest.mark.parametrize(("content", "words"), REFUSED.values(), ids=REFUSED)
def test_other_kinds_of_files_are_refused_by_their_content(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "plays.csv").write_bytes(content)
    with pytest.raises(InvalidCounts, match=words) as error:
        read_counts(tmp_path / "plays.csv")
    assert "plays.csv" in str(error.value)
    assert "\n" not in str(error.value)


def test_no_file_is_a_file_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_counts(tmp_path / "plays.csv")


def test_the_library_loads_without_the_readers() -> None:
    program = "import sys, dcpf; assert not {'polars', 'narwhals', 'dcpf.readers'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
