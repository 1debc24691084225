"""Matrices without ids: MatrixMarket files, plain or compressed, and files of scipy.sparse.save_npz."""

import io
import zipfile
from pathlib import Path
from typing import Any

from scipy import io as scipy_io
from scipy import sparse

from dcpf.counts import InvalidCounts
from dcpf.readers.source import Source


def read_matrix(source: Source) -> Any:
    """The matrix of the file, sparse or dense, with its values as they are. Nothing is ever unpickled."""
    is_npz = source.content == "npz"
    try:
        return _read_npz(source.path) if is_npz else _read_matrix_market(source)
    except InvalidCounts:
        raise
    except Exception as error:  # whatever the libraries make of a damaged file
        why = " ".join(str(error).split())[:200]
        raise InvalidCounts(
            f"{source.path}: broken {'npz' if is_npz else 'MatrixMarket'} file ({why}); copy or download it again"
        ) from None


def _read_matrix_market(source: Source) -> Any:
    with source.open() as (stream, _):
        text = stream.read()
    if b"\0" in text:  # scipy would read on after the end of the text, and end the process
        raise ValueError("a byte 0 in the text")
    file = io.BytesIO(text if text.endswith(b"\n") else text + b"\n")  # so it would after a blank at the end
    rows, columns, *_ = scipy_io.mminfo(file)
    if not rows or not columns:
        raise ValueError(f"a matrix of {rows} x {columns}")
    file.seek(0)
    return scipy_io.mmread(file)


def _read_npz(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        members = archive.namelist()
    if any(name.startswith(("xl/", "[Content_Types]")) for name in members):
        raise InvalidCounts(f"{path} is an Excel workbook; export the sheet as CSV")
    other = next((name for name in members if not name.endswith(".npy")), None)
    if other is not None:
        raise InvalidCounts(f"{path} is a zip file with {other[:100]!r} in it, not a matrix; unpack it first")
    if "format.npy" not in members:
        raise InvalidCounts(f"{path}: no sparse matrix in it; write one with scipy.sparse.save_npz")
    return sparse.load_npz(path)  # with allow_pickle=False
