"""Files that commands write: checked before any work is done, and complete or not there at all."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from dcpf.cli.output import rows_of

if TYPE_CHECKING:
    import polars as pl

TABLES = (".parquet", ".csv", ".json")  # suffixes of the files that tables are written to

_FILES = (*TABLES, ".md", ".txt", ".html", ".tex", ".pdf", ".png", ".svg", ".safetensors")  # no suffix of a folder


def check_output(path: Path, *, inputs: Sequence[Path | None] = (), endings: Sequence[str] = ()) -> None:
    """Refuse a file that cannot be written, or should not be."""
    for given in inputs:
        if given is not None and _is_same(path, given):
            raise ValueError(f"{path} is read by this command and would be overwritten; choose another name")
    if endings and path.suffix.lower() not in endings:
        wanted = ", ".join(filter(None, endings))
        raise ValueError(f"{path}: the suffix must be one of {wanted}, found {path.suffix or 'none'!r}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a regular file; choose another name")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: the folder {path.parent} does not exist; create it first")
    _check_writable(path, path.parent)


def check_folder(path: Path) -> None:
    """Refuse a folder that cannot be created or written to, or whose name looks like a file's."""
    if path.suffix.lower() in _FILES and not path.is_dir():
        raise ValueError(f"{path} must be a folder, but has the name of a {path.suffix} file; choose another name")
    there = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if not there.is_dir():
        raise ValueError(f"{path}: {there} is not a folder; choose another one")
    _check_writable(path, there)


def _is_same(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.absolute().parent.resolve() / path.name == other.absolute().parent.resolve() / other.name


def _check_writable(path: Path, folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"{path}: no permission to write to the folder {folder}; choose another one")


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to. It replaces an old one once it is complete, and is gone if writing fails."""
    from dcpf.store import replacing

    with replacing(path) as draft, draft.open("wb") as file:
        yield file


def write_frames(path: Path, frames: Iterable["pl.DataFrame"]) -> int:
    """Write tables of the same columns, one after another, to one file. Returns the number of rows."""
    rows = 0
    with whole_file(path) as file:
        if path.suffix.lower() == ".parquet":
            rows = _write_parquet(file, frames)
        elif path.suffix.lower() == ".csv":
            for j, frame in enumerate(frames):
                file.write(frame.write_csv(include_header=j == 0).encode())
                rows += frame.height
        else:
            for frame in frames:
                records = rows_of(frame.to_dict(as_series=False))
                lines = [json.dumps(record, ensure_ascii=False, allow_nan=False) for record in records]
                file.write((("[\n" if rows == 0 else ",\n") + ",\n".join(lines)).encode() if lines else b"")
                rows += len(lines)
            file.write(b"\n]\n" if rows else b"[]\n")
    return rows


def _write_parquet(file: IO[bytes], frames: Iterable["pl.DataFrame"]) -> int:
    import io

    import polars as pl

    whole = pl.concat(frames)
    packed = io.BytesIO()
    whole.write_parquet(packed)
    file.write(packed.getbuffer())  # by Python, whose errors name the cause
    return whole.height
