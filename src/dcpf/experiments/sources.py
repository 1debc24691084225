"""Where the counts of an experiment come from: an original file, or counts that were prepared from one."""

from collections.abc import Callable
from pathlib import Path

from dcpf.counts import Counts
from dcpf.readers import paper, read_counts

_PREPARED = (b"PAR1", b"user,item,")  # how Parquet begins, and a CSV file that dcpf data has written


def read_dataset(
    dataset: str, path: Path, seed: int = 0, progress: Callable[[int, int], None] | None = None
) -> Counts:
    """One of the paper's data sets, from the file as it is published or as `dcpf data` has prepared it."""
    if is_prepared(path):
        return read_counts(path, progress=progress)
    return paper.read(dataset, path, seed=seed, progress=progress)


def is_prepared(path: Path) -> bool:
    """Whether a file holds counts already. None of the original files begins as these do."""
    if not path.is_file():
        return path.is_dir()
    with path.open("rb") as file:
        return file.read(max(map(len, _PREPARED))).startswith(_PREPARED)
