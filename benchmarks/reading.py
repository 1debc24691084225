"""Time and memory of reading a file of counts as large as the whole Taste Profile.

    python -m benchmarks.reading [--rows 48000000] [--ids integer|string] [--format csv|parquet]

The file is drawn in a temporary folder, which needs up to 5 GB, and read in a process of its own, whose peak of
memory is told. Few users and items have most of the rows, as in real data. String ids have 40 characters.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

USERS, ITEMS = 1_020_000, 385_000
ROWS_AT_A_TIME = 2_000_000


def draw(rows: int, ids: str, rng: np.random.Generator) -> pl.DataFrame:
    """Rows of users, songs and plays."""
    users = (USERS * rng.random(rows) ** 1.5).astype(np.int64)
    songs = (ITEMS * rng.random(rows) ** 3).astype(np.int64)
    frame = pl.DataFrame({"user": users, "song": songs, "plays": rng.geometric(0.4, rows)})
    if ids == "integer":
        return frame
    return frame.with_columns(
        # spread over all digits and letters, so that neighbours are not alike
        (pl.col(name) * factor).cast(pl.String).str.zfill(18) + pl.lit(name).str.pad_start(22, "x")
        for name, factor in (("user", 982_451_653_177), ("song", 2_305_843_009_213))
    )


def write(path: Path, rows: int, ids: str) -> None:
    """Write the file, part after part: in the memory of one part if it is CSV."""
    rng = np.random.default_rng(0)
    sizes = [min(ROWS_AT_A_TIME, rows - start) for start in range(0, rows, ROWS_AT_A_TIME)]
    if path.suffix == ".csv":
        with path.open("wb") as file:
            for j, size in enumerate(sizes):
                draw(size, ids, rng).write_csv(file, include_header=j == 0)
        return
    parts = path.with_suffix(".parts")
    parts.mkdir()
    for j, size in enumerate(sizes):
        draw(size, ids, rng).write_parquet(parts / f"{j:05}.parquet")
    pl.scan_parquet(parts).sink_parquet(path)


def read(path: str) -> None:
    """Read the file and tell seconds and peak memory. Runs in a process of its own."""
    from dcpf.readers import read_counts

    begin = time.perf_counter()
    counts = read_counts(path)
    seconds = time.perf_counter() - begin
    status = Path("/proc/self/status").read_text()  # ru_maxrss would count what the parent had at the fork
    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e9
    print(f"{counts!r}: {seconds:.1f} s, {peak:.2f} GB at the peak; {'; '.join(counts.notes)}")


def main() -> None:
    """Draw, read, tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=48_000_000)
    parser.add_argument("--ids", choices=["integer", "string"], default="integer")
    parser.add_argument("--format", choices=["csv", "parquet"], default="csv")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        return read(options.read)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"plays.{options.format}")
        write(path, options.rows, options.ids)
        print(f"{options.rows:,} rows, {options.ids} ids, {options.format}: {path.stat().st_size / 1e9:.2f} GB")
        subprocess.run([sys.executable, "-m", "benchmarks.reading", "--read", str(path)], check=True)


if __name__ == "__main__":
    main()
