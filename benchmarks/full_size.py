"""A whole fit at the size of the full Taste Profile: 1.02M users x 385k items, 48.4M entries, K = 50.

    python -m benchmarks.full_size [--fraction 0.01] [--memory 1GB]

The counts are drawn with skewed activity and popularity into a Parquet file that a second process reads and fits, so
that its peak memory is its own. --memory sets DCPF_MEMORY there: arrays larger than a sixteenth of it lie in files.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.datasets import taste_profile_shaped

USERS, ITEMS, ENTRIES = 1_019_318, 384_546, 48_373_586


def peak(kind: str) -> float:
    """Bytes: VmHWM is the most that was ever in memory, RssAnon what is there now and not in a file."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * int(next(line for line in lines if line.startswith(kind)).split()[1])


def write(path: Path, fraction: float) -> None:
    """Draw counts into a Parquet file, in row groups as others would write them."""
    import polars as pl

    sizes = (round(size * fraction) for size in (USERS, ITEMS, ENTRIES))
    coo = taste_profile_shaped(*sizes).tocoo()
    frame = pl.DataFrame({"user": coo.row, "item": coo.col, "count": coo.data.astype("int32")})
    frame.write_parquet(path, row_group_size=2**20)


def fit(path: Path, components: int, neighbors: int, threads: int) -> None:
    """Read, fit, save, and say how long each took and how much memory it needed."""
    import dcpf

    def told(iteration: dcpf.Iteration) -> None:
        anonymous.append(peak("RssAnon"))
        if iteration.number <= 5 or iteration.number % 5 == 0:
            parameters = " ".join(f"{name} {value:.4f}" for name, value in iteration.element.parameters.items())
            log = f"iteration {iteration.number:3}  bound {iteration.bound:,.0f}  {parameters}"
            print(f"{log}  {iteration.seconds:6.1f} s  {peak('VmHWM') / 1e9:.2f} GB", flush=True)

    anonymous: list[float] = []
    began = time.perf_counter()
    counts = dcpf.read_counts(path)
    print(
        f"{counts!r}\nread in {time.perf_counter() - began:.1f} s, {peak('VmHWM') / 1e9:.2f} GB at most", flush=True
    )
    began = time.perf_counter()
    model = dcpf.DCPF(components, n_neighbors=neighbors, random_state=0, n_jobs=threads, callback=told).fit(counts)
    seconds = time.perf_counter() - began
    print(f"fitted in {seconds / 60:.1f} minutes: {model.n_iter_} iterations, {peak('VmHWM') / 1e9:.2f} GB at most")
    print(f"of which in memory alone and not in files {max(anonymous) / 1e9:.2f} GB at most between iterations")
    began = time.perf_counter()
    model.save(path.with_suffix(".safetensors"))
    print(f"saved in {time.perf_counter() - began:.1f} s, {peak('VmHWM') / 1e9:.2f} GB at most")
    print("targets: under 20 minutes (aim: 5), under 8 GB")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fraction", type=float, default=1.0, help="of users, items and entries")
    parser.add_argument("--components", type=int, default=50)
    parser.add_argument("--neighbors", type=int, default=0, help="0 is factors alone")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", help="such as 1GB: what dcpf takes for the memory of the machine")
    parser.add_argument("--fit", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit:
        fit(arguments.fit, arguments.components, arguments.neighbors, arguments.threads)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counts.parquet"
        write(path, arguments.fraction)
        command = [sys.executable, "-m", "benchmarks.full_size", "--fit", str(path)]
        command += ["--components", str(arguments.components), "--threads", str(arguments.threads)]
        command += ["--neighbors", str(arguments.neighbors)]
        environment = os.environ | ({"DCPF_MEMORY": arguments.memory} if arguments.memory else {})
        subprocess.run(command, check=True, env=environment)


if __name__ == "__main__":
    main()
