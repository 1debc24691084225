"""Requests per second and latency of `dcpf serve`, by wrk on this machine: 12k and 400k items, K = 100.

    python -m benchmarks.serving [--seconds 10] [--items 12118 400000] [--models FOLDER]

Each request asks for ten items: for a random user, or for a posted history of 20 random items. One worker; one
client and then eight. Between runs the probe /healthz is asked in the same way, which hardly does anything: its p99
is what the machine adds. Models are fitted to drawn counts, some iterations only: what they have learned does not
matter here. With --models they are kept, and used again. Needs wrk (Debian and Ubuntu: apt-get install wrk; macOS:
brew install wrk).
"""

import argparse
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.datasets import taste_profile_shaped
from benchmarks.timing import table
from dcpf import DCPF, Counts

_TOKEN = "benchmark"
_RUNS = 3  # of each measurement; the one with the middle p99 is told
_SIZES = {12_118: (16_301, 1_200_000), 400_000: (100_000, 5_000_000)}  # items: users, entries
_TARGETS = {12_118: 5.0, 400_000: 25.0}  # milliseconds, p99 with one client
_SCRIPT = """
math.randomseed(7)
wrk.headers["Authorization"] = "Bearer {token}"
local function known() return string.format("/api/recommend?n=10&user=user%07d", math.random(0, {users} - 1)) end
local function history()
  local counts = {{}}
  for j = 1, 20 do counts[j] = string.format('{{"item":"song%07d","count":%d}}', math.random(0, {items} - 1), j) end
  local headers = {{["Authorization"] = "Bearer {token}", ["Content-Type"] = "application/json"}}
  return wrk.format("POST", "/api/recommend", headers, '{{"history":[' .. table.concat(counts, ",") .. "]}}")
end
done = function(all, latency)
  local errors = all.errors.connect + all.errors.read + all.errors.write + all.errors.status + all.errors.timeout
  local times = string.format("%f %f", latency:percentile(50), latency:percentile(99))
  io.write(string.format("RESULT %d %d %d %s\\n", errors, all.requests, all.duration, times))
end
local asked = {{user = function() return wrk.format("GET", known()) end, history = history,
  probe = function() return wrk.format("GET", "/healthz") end}}
request = asked["{asked}"]
"""


def make_model(items: int, neighbors: int, path: Path) -> None:
    """Fit a model with ids of text, and write it."""
    users, entries = _SIZES.get(items, (items // 4, 12 * items))
    ids = [f"user{u:07d}" for u in range(users)], [f"song{i:07d}" for i in range(items)]
    counts = Counts.from_matrix(taste_profile_shaped(users, items, entries), *ids)
    DCPF(100, n_neighbors=neighbors, max_iter=5, tol=0.0, random_state=0).fit(counts).save(path)


@contextmanager
def serving(path: Path) -> Iterator[str]:
    """The command in a process of its own, and its address."""
    command = [sys.executable, "-m", "dcpf", "serve", str(path), "--port", "0", "--token", _TOKEN, "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(3)]
        if not told[1]:
            sys.exit(f"{path}: the service did not start")
        address = told[1].strip().partition("#")[0]
        for what in ("model", "components"):  # made after the start, beside requests
            asked = urllib.request.Request(f"{address}api/{what}", headers={"Authorization": f"Bearer {_TOKEN}"})
            with urllib.request.urlopen(asked) as answer:
                answer.read()
        yield address
    finally:
        process.terminate()
        process.wait()


def load(address: str, script: Path, clients: int, seconds: int) -> tuple[float, float, float]:
    """Requests per second, and the median and 99% of the latency in milliseconds."""
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout", "30s", "-s", str(script), address]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"^RESULT 0 (\d+) (\d+) (\S+) (\S+)$", told, re.MULTILINE)
    if found is None:
        sys.exit(f"requests failed:\n{told}")
    requests, duration, median, last = map(float, found.groups())  # times are in microseconds
    return requests / duration * 1e6, median / 1e3, last / 1e3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10, help="of each of three runs")
    parser.add_argument("--items", type=int, nargs="+", default=list(_SIZES))
    parser.add_argument("--models", type=Path, help="keep the models in this folder")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing: apt-get install wrk (Debian, Ubuntu), brew install wrk (macOS)")
    rows: list[tuple[str, ...]] = [
        ("items", "model", "asked by", "clients", "requests/s", "p50 ms", "p99 ms", "target", "probe's p99")
    ]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.models or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for items in options.items:
            for neighbors in (0, 200):
                path = folder / f"{items}-{neighbors}.safetensors"
                if not path.exists():
                    make_model(items, neighbors, path)
                rows += measured(path, items, neighbors, options.seconds, Path(temporary))
    print("K = 100, lists of 10, one worker, on loopback\n")
    print(table(rows))


def measured(path: Path, items: int, neighbors: int, seconds: int, folder: Path) -> list[tuple[str, ...]]:
    """Rows of the table for one model."""
    users = _SIZES.get(items, (items // 4, 0))[0]
    kind = "with 200 neighbours" if neighbors else "factors alone"
    scripts = {asked: folder / f"{asked}.lua" for asked in ("user", "history", "probe")}
    for asked, script in scripts.items():
        script.write_text(_SCRIPT.format(token=_TOKEN, users=users, items=items, asked=asked))
    rows: list[tuple[str, ...]] = []
    with serving(path) as address:
        for asked, clients in itertools.product(("user", "history"), (1, 8)):
            load(address, scripts[asked], clients, 2)  # warm
            runs, probes = [], []
            for _ in range(_RUNS):
                runs.append(load(address, scripts[asked], clients, seconds))
                probes.append(load(address, scripts["probe"], clients, 2))
            rate, median, last = _middle(runs)
            target = f"{_TARGETS[items]:g}" if clients == 1 and items in _TARGETS and asked == "user" else ""
            numbers = (f"{rate:,.0f}", f"{median:.2f}", f"{last:.2f}", target, f"{_middle(probes)[2]:.2f}")
            rows.append((f"{items:,}", kind, asked, str(clients), *numbers))
    return rows


def _middle(runs: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    """The run with the middle p99."""
    return sorted(runs, key=lambda run: run[2])[len(runs) // 2]


if __name__ == "__main__":
    main()
