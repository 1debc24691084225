"""From a model file to what is served."""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

import dcpf
from dcpf import store
from dcpf.serve.answers import File
from dcpf.serve.loaded import Loaded

_PIECE = 2**20


def load(path: str | os.PathLike[str]) -> Loaded:
    """The model in a file, checked to the last bit, and ready to be asked.

    It is served from a copy that has no name. Whatever becomes of the file, even if somebody writes into it where it
    lies, goes on beside the model in use. The copy is mapped, and is where Python puts temporary files.
    """
    folder = Path(tempfile.mkdtemp(prefix="dcpf-serve-"))
    try:
        copy = folder / Path(path).name
        revision = _copied(Path(path), copy)
        try:
            store.verify(copy)
            model = dcpf.load(copy)
        except store.ModelFormatError as error:
            raise store.ModelFormatError(str(error).replace(os.fspath(copy), os.fspath(path))) from None
        model.n_jobs = 1  # threads are for requests
        facts = store.facts(copy)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    file: File = {"name": copy.name, "bytes": facts["bytes"], "format": facts["format"], "dcpf": facts["dcpf"]}
    loaded = Loaded(model, revision, file)
    loaded.warm()
    return loaded


def _copied(source: Path, target: Path) -> str:
    """Copy a file, and give its revision: the start of its checksum."""
    digest = hashlib.blake2b(digest_size=6)
    with source.open("rb") as reading, target.open("wb") as writing:
        while piece := reading.read(_PIECE):
            digest.update(piece)
            writing.write(piece)
    return digest.hexdigest()
