"""A fit on a cluster of processes against one process with two threads, at the size of the full Taste Profile.

    python -m benchmarks.cluster [--fraction 0.1] [--iterations 20] [--workers 1 2 4]

Both fit the same counts, drawn as for benchmarks.full_size, for the same number of iterations, factors alone. A
worker has one thread. The answer is the ratio of the times. docs/scale.md compares them with a formula.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.full_size import write

FILES = 8


def seconds_of(starts: list[float]) -> float:
    """The median iteration, after the first few."""
    return statistics.median(later - earlier for earlier, later in itertools.pairwise(starts[3:]))


def fit(folder: Path, workers: int, components: int, iterations: int) -> dict[str, Any]:
    """Fit with so many workers, or with two threads of one process; what took how long."""
    import dcpf

    told: list[float] = []
    model = dcpf.DCPF(
        components,
        n_neighbors=0,
        random_state=0,
        max_iter=iterations,
        tol=0.0,
        callback=lambda one: told.append(one.seconds),
    )
    began = time.perf_counter()
    if not workers:
        counts = dcpf.read_counts(folder)
        read = time.perf_counter() - began
        model.set_params(n_jobs=2).fit(counts)
        found: dict[str, Any] = {"read": read}
    else:
        from dcpf import distributed

        times: list[distributed.RoundTimes] = []
        with distributed.local_cluster(workers, 1) as client:
            started = time.perf_counter() - began
            distributed.fit(model, folder, client, watch=times.append)
        found = {"started": started} | {
            name: statistics.median(getattr(one, name) for one in times[3:])
            for name in ("compute", "transfer", "waiting")
        }
    whole = time.perf_counter() - began
    return found | {
        "iteration": seconds_of(told), "iterations": told[-1], "whole": whole, "bound": float(model.bounds_[-1]),
        "users": len(model.users_), "items": len(model.items_), "entries": model.fitted_.facts.data["entries"],
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fraction", type=float, default=1.0, help="of users, items and entries")
    parser.add_argument("--components", type=int, default=50)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--fit", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit:
        folder, workers = Path(arguments.fit[0]), int(arguments.fit[1])
        print(json.dumps(fit(folder, workers, arguments.components, arguments.iterations)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "plays"
        folder.mkdir()
        write(folder / "all.parquet", arguments.fraction)
        split(folder)
        alone: dict[str, Any] = {}
        for workers in (0, *arguments.workers):
            command = [sys.executable, "-m", "benchmarks.cluster", "--fit", str(folder), str(workers)]
            command += ["--components", str(arguments.components), "--iterations", str(arguments.iterations)]
            found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
            if not workers:
                alone = found
                print(
                    f"{found['users']:,} users x {found['items']:,} items, {found['entries']:,} counts, "
                    f"K = {arguments.components}, {arguments.iterations} iterations"
                )
            else:
                assert found["bound"] == alone["bound"], (found["bound"], alone["bound"])
            print(line(workers, found, alone), flush=True)


def line(workers: int, found: dict[str, Any], alone: dict[str, Any]) -> str:
    """What there is to say of one fit."""
    ratios = [f"{found[name]:.1f} s ({found[name] / alone[name]:.2f})" for name in ("iterations", "whole")]
    times = f"an iteration {found['iteration']:.2f} s ({found['iteration'] / alone['iteration']:.2f})"
    if not workers:
        return f"one process, two threads: {times}, all {ratios[0]}, with reading {ratios[1]}"
    spent = ", ".join(f"{name} {found[name]:.2f}" for name in ("compute", "transfer", "waiting"))
    start = f"with the start of the cluster in {found['started']:.1f} s, and with preparing, if it is the first,"
    return f"{workers} workers of one thread: {times}: {spent}; all {ratios[0]}, {start} {ratios[1]}"


def split(folder: Path) -> None:
    """One file as several, as others would have them."""
    import polars as pl

    table = pl.read_parquet(folder / "all.parquet")
    (folder / "all.parquet").unlink()
    size = -(-len(table) // FILES)
    for number in range(FILES):
        table[number * size : (number + 1) * size].write_parquet(folder / f"part-{number}.parquet")


if __name__ == "__main__":
    main()
