"""The files of the page. They come with the package, and are read once: no request leads to the disk."""

from importlib.resources import files
from typing import NamedTuple

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}


class File(NamedTuple):
    """The bytes of a file, and of what kind they are."""

    content: bytes
    kind: str


def read_files() -> dict[str, File]:
    """All files of the page by name."""
    found = {}
    for one in files("dcpf.serve").joinpath("static").iterdir():
        kind = TYPES.get(f".{one.name.rpartition('.')[2]}")
        if one.is_file() and kind is not None:
            found[one.name] = File(one.read_bytes(), kind)
    return found
