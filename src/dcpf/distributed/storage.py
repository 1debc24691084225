"""Files in a folder that all machines see: on a shared disk, or wherever fsspec reaches, such as s3://bucket/folder."""

import contextlib
import io
import json
import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec
import numpy as np
from fsspec.implementations.local import LocalFileSystem
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl


def absolute(path: str | os.PathLike[str]) -> str:
    """The same path for a worker, which may run in another folder."""
    address = os.fspath(path)
    return address if "://" in address else str(Path(address).absolute())


class Folder:
    """A folder by its address. A file in it is complete or does not exist."""

    def __init__(self, address: str | os.PathLike[str]) -> None:
        self.address = os.fspath(address).rstrip("/")
        self._files, self._path = fsspec.core.url_to_fs(self.address)

    @property
    def path(self) -> str:
        """The path within its file system."""
        return str(self._path)

    @property
    def is_local(self) -> bool:
        """Whether it is on a disk of this machine, or on one that is mounted here."""
        return isinstance(self._files, LocalFileSystem)

    def __truediv__(self, name: str) -> "Folder":
        return Folder(f"{self.address}/{name}")

    def names(self) -> list[str]:
        """The names of the files and folders in it."""
        if not self._files.exists(self._path):
            return []
        return sorted(path.rstrip("/").rsplit("/", 1)[-1] for path in self._files.ls(self._path, detail=False))

    def remove(self) -> None:
        """Remove the folder with all its files, if it exists."""
        if self._files.exists(self._path):
            self._files.rm(self._path, recursive=True)

    def files(self, endings: tuple[str, ...]) -> list[tuple[str, str]]:
        """The address and version of each file with one of these endings; or of the file that this address names."""
        self._files.invalidate_cache()
        if self._files.isfile(self._path):
            files = {self._path: self._files.info(self._path)}
        else:
            files = {
                info["name"]: info
                for info in self._files.ls(self._path, detail=True)
                if info["type"] == "file" and _has_ending(info["name"].rsplit("/", 1)[-1], endings)
            }
        return [(self._files.unstrip_protocol(path), _version(files[path])) for path in sorted(files)]

    def write(self, name: str, content: bytes) -> None:
        """Write a file. Object stores do so all at once; on a disk the file is renamed when it is complete."""
        path = f"{self._path}/{name}"
        self._files.makedirs(self._path, exist_ok=True)
        if not self.is_local:
            self._files.pipe_file(path, content)
            return
        draft = f"{path}.{uuid.uuid4().hex}.draft"
        with Path(draft).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)

    def _read(self, name: str) -> bytes:
        return bytes(self._files.cat_file(f"{self._path}/{name}"))

    def write_json(self, name: str, value: Any) -> None:
        """Write plain values as JSON."""
        self.write(name, json.dumps(value, indent=1).encode())

    def read_json(self, name: str) -> Any:
        """Plain values from JSON, None if there is no such file."""
        return json.loads(self._read(name)) if self._files.exists(f"{self._path}/{name}") else None

    def write_arrays(self, name: str, arrays: dict[str, NDArray[Any]]) -> None:
        """Write arrays by name."""
        from safetensors.numpy import save

        self.write(name, save({key: np.ascontiguousarray(array) for key, array in arrays.items()}))

    def read_arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Arrays as they were written."""
        from safetensors.numpy import load

        return dict(load(self._read(name)))

    def write_table(self, name: str, table: "pl.DataFrame") -> None:
        """Write a Parquet file."""
        buffer = io.BytesIO()
        table.write_parquet(buffer, row_group_size=2**18)
        self.write(name, buffer.getvalue())

    def scan_table(self, name: str) -> "pl.LazyFrame":
        """A Parquet file. On a disk only the parts that are needed are read."""
        import polars as pl

        if self.is_local:
            return pl.scan_parquet(f"{self._path}/{name}", glob=False)
        return pl.read_parquet(io.BytesIO(self._read(name))).lazy()


@contextlib.contextmanager
def local_copy(address: str) -> Iterator[Path]:
    """The path of a file on this machine. A remote file is downloaded, and removed at the end of the block."""
    files, path = fsspec.core.url_to_fs(address)
    if isinstance(files, LocalFileSystem):
        yield Path(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / Path(path).name
        files.get_file(path, str(copy))
        yield copy


def _has_ending(name: str, endings: tuple[str, ...]) -> bool:
    return name.lower().endswith(endings) and name[0] not in "._"


def _version(info: dict[str, Any]) -> str:
    """Differs where the contents of a file differ: the size, with a tag or the time of the last change."""
    tag = next((info[key] for key in ("ETag", "etag", "mtime", "LastModified", "last_modified") if key in info), "")
    return f"{info['size']} {tag}"
