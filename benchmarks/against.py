"""Compare this tree with another version of dcpf: the same lists, the same quality, the same time?

    python -m benchmarks.against FOLDER [--base a858291] [--only NAME ...] [--fits 3]

FOLDER holds the data sets named in DATA as Parquet files. Each version fits its defaults to the same four fifths of
the pairs, in a process of its own, and ranks 100 items for every user. `--base` is a folder with a checkout, or a
commit, which is checked out while the program runs. This tree computes NDCG of both. The first fit may compile, the
shortest counts.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl
from scipy import sparse

from benchmarks.timing import table
from dcpf import DCPF, Counts, evaluate, read_counts

ROOT = Path(__file__).parent.parent
DATA = {  # the number of pairs that users and items must have
    "tps_gouvert_small": 1,
    "lastfm_hetrec2011": 6,
    "online_retail_invoices": 11,
    "foursquare_checkins": 11,
    "completejourney_baskets": 21,
}
LENGTH = 100
THRESHOLDS = (0, 1, 2, 5)


class Result(NamedTuple):
    """The lists of all users one after another, how long each is, and the seconds of a fit."""

    items: Any
    scores: Any
    lengths: Any
    seconds: float

    @classmethod
    def of(cls, counts: sparse.csr_array, fits: int) -> Self:
        """Fit the defaults of whatever version is imported; only its public names are used."""
        warnings.simplefilter("ignore")
        seconds = []
        for _ in range(fits):
            began = time.perf_counter()
            model = DCPF(random_state=0).fit(counts)
            seconds.append(time.perf_counter() - began)
        items, scores = model.recommend(n=LENGTH)
        return cls(np.concatenate(items), np.concatenate(scores), [len(one) for one in items], min(seconds))

    def lists(self) -> Iterator[tuple[Any, Any]]:
        """Items and scores, user by user."""
        ends = np.cumsum(self.lengths)[:-1]
        return zip(np.split(self.items, ends), np.split(self.scores, ends), strict=True)

    def ndcg(self, test: Counts) -> list[float]:
        """NDCG at each threshold."""
        users = np.repeat(np.arange(len(self.lengths)), self.lengths)
        lists = pl.DataFrame({"user": users, "item": self.items, "score": self.scores})
        found = evaluate(lists, test, LENGTH, THRESHOLDS)
        return [float(found.mean("ndcg", threshold)) for threshold in THRESHOLDS]


@contextlib.contextmanager
def checked_out(base: str) -> Iterator[Path]:
    """The folder of a checkout, or of a commit of this repository while the block lasts."""
    if Path(base).is_dir():
        yield Path(base).resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", folder, base], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run([*git, "remove", "--force", folder], check=True)


def run(tree: Path, counts: sparse.csr_array, fits: int) -> Result:
    """Fit the version of dcpf in this tree, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        sparse.save_npz(f"{folder}/counts.npz", counts)
        command = [sys.executable, "-m", "benchmarks.against", folder, "--fits", str(fits), "--one-side"]
        subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(tree / "src")}, check=True)
        with np.load(f"{folder}/result.npz") as saved:
            return Result(saved["items"], saved["scores"], saved["lengths"], float(saved["seconds"]))


def compare(base: Result, ours: Result) -> str:
    """How near two results are, in a line."""
    same, overlaps, largest = [], [], 0.0
    for (items, scores), (other_items, other_scores) in zip(base.lists(), ours.lists(), strict=True):
        same.append(np.array_equal(items, other_items))
        _, left, right = np.intersect1d(items, other_items, return_indices=True)
        overlaps.append(len(left) / max(len(items), len(other_items), 1))
        one, other = scores[left], other_scores[right]
        largest = max(largest, float((abs(one - other) / np.maximum(one, other)).max(initial=0.0)))
    return (
        f"{np.mean(same):.2%} of the lists are the same, and lists share {np.mean(overlaps):.2%} of their items;\n"
        f"scores of an item in both differ by {largest:.1e} of the larger at most;\n"
        f"a fit takes {ours.seconds / base.seconds:.2f} times as long "
        f"({base.seconds:.2f} s before, now {ours.seconds:.2f} s)"
    )


def main() -> None:
    """Fit both versions to each data set, print how they differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--base", default="a858291", help="folder or commit to compare with")
    parser.add_argument("--only", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--fits", type=int, default=3, help="number of fits, of which the shortest counts")
    parser.add_argument("--one-side", action="store_true", help=argparse.SUPPRESS)  # the process of one version
    options = parser.parse_args()
    if options.one_side:
        result = Result.of(sparse.csr_array(sparse.load_npz(options.folder / "counts.npz")), options.fits)
        np.savez(options.folder / "result.npz", **result._asdict())
        return
    with checked_out(options.base) as base:
        for name in options.only:
            counts = read_counts(options.folder / f"{name}.parquet").filter(DATA[name], DATA[name])
            train, test = (Counts.from_matrix(part.matrix) for part in counts.split(0.2, seed=0))
            theirs, ours = (run(tree, train.matrix, options.fits) for tree in (base, ROOT))
            print(f"{name}\n{compare(theirs, ours)}\n")
            before, after = theirs.ndcg(test), ours.ndcg(test)
            rows = [(f"NDCG@{LENGTH}", *(f"above {threshold}" for threshold in THRESHOLDS))]
            rows += [
                (tree, *(f"{value:.4f}" for value in values)) for tree, values in (("base", before), ("now", after))
            ]
            rows.append(("difference", *(f"{now - then:+.5f}" for then, now in zip(before, after, strict=True))))
            print(table(rows) + "\n", flush=True)


if __name__ == "__main__":
    main()
