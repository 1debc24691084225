"""Files in a folder that all machines see: on a shared disk, or wherever fsspec reaches, such as s3://bucket/folder."""

import json
import os
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl


def absolute(path: str | os.PathLike[str]) -> str:
    """The address of a path from wherever it is read: workers may run in another folder."""
    address = os.fspath(path)
    return address if "://" in address else str(Path(address).absolute())


class Folder:
    """A folder by its address. What is written there is whole or not there at all."""

    def __init__(self, address: str | os.PathLike[str]) -> None:
        self.address = os.fspath(address).rstrip("/")
        self._files, self._path = fsspec.core.url_to_fs(self.address)

    @property
    def path(self) -> str:
        """Where it is in its file system."""
        return str(self._path)

    @property
    def is_local(self) -> bool:
        """Whether it is a path on this machine, or on a disk that is mounted here."""
        return isinstance(self._files, fsspec.implementations.local.LocalFileSystem)

    def __truediv__(self, name: str) -> "Folder":
        return Folder(f"{self.address}/{name}")

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        return bool(self._files.exists(f"{self._path}/{name}"))

    def read(self, name: str) -> bytes:
        """The content of a file."""
        return bytes(self._files.cat_file(f"{self._path}/{name}"))

    def write(self, name: str, content: bytes) -> None:
        """Put a file there. Object stores do that at once or not at all; on a disk it is renamed when it is whole."""
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

    def names(self) -> list[str]:
        """What lies in it."""
        if not self._files.exists(self._path):
            return []
        return sorted(path.rstrip("/").rsplit("/", 1)[-1] for path in self._files.ls(self._path, detail=False))

    def remove(self) -> None:
        """The whole folder, if it is there."""
        if self._files.exists(self._path):
            self._files.rm(self._path, recursive=True)

    def files(self, endings: tuple[str, ...]) -> list[tuple[str, str]]:
        """All files of these endings in it, or the one that this is: the address of each, and its version."""
        self._files.invalidate_cache()
        if self._files.isfile(self._path):
            found = {self._path: self._files.info(self._path)}
        else:
            found = {one["name"]: one for one in self._files.ls(self._path, detail=True) if one["type"] == "file"}
            names = {path: path.rsplit("/", 1)[-1] for path in found}
            found = {
                path: found[path]
                for path, name in names.items()
                if name.lower().endswith(endings) and name[0] not in "._"
            }
        return [(self._files.unstrip_protocol(path), _version(found[path])) for path in sorted(found)]

    def write_json(self, name: str, value: Any) -> None:
        """Plain values as JSON."""
        self.write(name, json.dumps(value, indent=1).encode())

    def write_arrays(self, name: str, arrays: dict[str, NDArray[Any]]) -> None:
        """Arrays by name."""
        from safetensors.numpy import save

        self.write(name, save({key: np.ascontiguousarray(array) for key, array in arrays.items()}))

    def read_arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Arrays as they were written."""
        from safetensors.numpy import load

        return dict(load(self.read(name)))

    def write_table(self, name: str, table: "pl.DataFrame") -> None:
        """A Parquet file."""
        import io

        buffer = io.BytesIO()
        table.write_parquet(buffer, row_group_size=2**18)
        self.write(name, buffer.getvalue())

    def scan_table(self, name: str) -> "pl.LazyFrame":
        """A Parquet file, of which only what is needed is read, where that is possible."""
        import io

        import polars as pl

        if self.is_local:
            return pl.scan_parquet(f"{self._path}/{name}", glob=False)
        return pl.read_parquet(io.BytesIO(self.read(name))).lazy()


class Fetched:
    """A file on this machine, brought here if it is elsewhere, as long as it is entered."""

    def __init__(self, address: str) -> None:
        self._files, self._path = fsspec.core.url_to_fs(address)
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Path:
        if isinstance(self._files, fsspec.implementations.local.LocalFileSystem):
            return Path(self._path)
        self._folder = tempfile.TemporaryDirectory()
        here = Path(self._folder.name) / Path(self._path).name
        self._files.get_file(self._path, str(here))
        return here

    def __exit__(self, *error: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()


def _version(info: dict[str, Any]) -> str:
    """What tells one content of a file from another: its size, and its tag or time."""
    tag = next((info[key] for key in ("ETag", "etag", "mtime", "LastModified", "last_modified") if key in info), "")
    return f"{info['size']} {tag}"
