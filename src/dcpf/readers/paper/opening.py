"""An original file as it was downloaded: plain, packed, or in an archive with others."""

import gzip
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, cast

from dcpf.counts import InvalidCounts
from dcpf.readers.paper.dataset import DataSet, Progress
from dcpf.readers.source import PEEKED, Source

_WEB_PAGE = re.compile(rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype|html|head|\?xml)", re.IGNORECASE | re.DOTALL)
_TAR_AT, _TAR = 257, b"ustar"
_MOST_NAMED = 5  # members of an archive that an error lists


class Original:
    """The bytes of the file, unpacked. Remembers how they end."""

    def __init__(self, stream: IO[bytes], below: IO[bytes], size: int, shown: str) -> None:
        self._stream = stream
        self._below = below
        self._size = size
        self.shown = shown  # how errors call the file
        self.disguise: bytes | None = None  # a table for bytes.translate
        self.ended = True  # whether the last byte that was read ends a line

    def read(self, size: int) -> bytes:
        """The next bytes."""
        block = self._stream.read(size)
        if block:
            self.ended = block.endswith(b"\n")
        return block if self.disguise is None else block.translate(self.disguise)

    def tell(self, progress: Progress | None) -> None:
        """Say how much of the file was read."""
        if progress is not None:
            progress(min(self._below.tell(), self._size), self._size)


@contextmanager
def opened(path: Path, data: DataSet) -> Iterator[Original]:
    """The data set's file at this path: itself, packed by gzip or zstd, or in a zip or tar archive."""
    _check_there(path, data)
    with _unpacked(path, data) as original:
        start = original.read(PEEKED)
    if _WEB_PAGE.match(start):
        raise InvalidCounts(f"{original.shown} is a web page, not the data; download {data.source}")
    if not start:
        raise InvalidCounts(f"{original.shown} is empty; copy it again, or download {data.source}")
    if b"\0" in start:
        raise InvalidCounts(f"{original.shown} is a binary file of another kind; download {data.source}")
    with _unpacked(path, data) as original:
        yield original


def _check_there(path: Path, data: DataSet) -> None:
    if path.is_dir():
        raise InvalidCounts(f"{path} is a folder; name the file {data.file} in it")
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file; download {data.source}")


@contextmanager
def _unpacked(path: Path, data: DataSet) -> Iterator[Original]:
    size = path.stat().st_size
    with _errors(path, data):
        if _is_zip(path):
            with path.open("rb") as file, zipfile.ZipFile(file) as archive:
                names = [one.filename for one in archive.infolist() if not one.is_dir()]
                member = _member(names, path, data)
                with _member_opened(archive, member, path) as unzipped:
                    yield Original(unzipped, file, size, f"{path}: {member}")
        elif _is_tar(path):
            with path.open("rb") as file, _gunzipped(file) as inner, tarfile.open(fileobj=inner, mode="r|") as tar:
                info, stream = _find_in_tar(tar, path, data)
                yield Original(stream, file, size, f"{path}: {info.name}")
        else:
            source = _text(path, data)
            with source.open() as (stream, below):
                yield Original(stream, below, size, str(path))


def _text(path: Path, data: DataSet) -> Source:
    try:
        source = Source(path)
    except InvalidCounts as error:
        raise InvalidCounts(f"{error}; the original is {data.source}") from None
    if source.content != "text":
        raise InvalidCounts(f"{path} holds {source.content} data; the original is {data.source}")
    return source


def _is_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def _is_tar(path: Path) -> bool:
    with path.open("rb") as file, _gunzipped(file) as stream:
        return stream.read(PEEKED)[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR


@contextmanager
def _gunzipped(file: IO[bytes]) -> Iterator[IO[bytes]]:
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    if not packed:
        yield file
        return
    with gzip.open(file, "rb") as stream:
        yield cast(IO[bytes], stream)


def _find_in_tar(tar: tarfile.TarFile, path: Path, data: DataSet) -> tuple[tarfile.TarInfo, IO[bytes]]:
    names = []
    for info in tar:
        if not info.isfile():
            continue
        names.append(info.name)
        stream = tar.extractfile(info) if PurePosixPath(info.name).name == data.file else None
        if stream is not None:
            return info, stream
    raise _not_in(path, names, data)


def _member(names: list[str], path: Path, data: DataSet) -> str:
    found = next((name for name in names if PurePosixPath(name).name == data.file), None)
    if found is None:
        raise _not_in(path, names, data)
    return found


def _member_opened(archive: zipfile.ZipFile, member: str, path: Path) -> IO[bytes]:
    try:
        return archive.open(member)
    except (NotImplementedError, RuntimeError) as error:  # a packing that Python does not know, or a password
        raise InvalidCounts(f"{path}: the archive cannot be read ({error}); unpack it first") from None


def _not_in(path: Path, names: list[str], data: DataSet) -> InvalidCounts:
    listed = ", ".join(names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")
    return InvalidCounts(f"{path}: no {data.file} in this archive, but {listed or 'nothing'}; download {data.source}")


@contextmanager
def _errors(path: Path, data: DataSet) -> Iterator[None]:
    """Say what is wrong with an archive in one way for all kinds."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, tarfile.TarError) as error:
        why = str(error) or type(error).__name__
        raise InvalidCounts(
            f"{path}: the archive is broken or cut off ({why}); copy it again, or download {data.source}"
        ) from None
