"""How long until something happens: the import, the help of the command, a question, and the first fit in a process.

    python -m benchmarks.startup [--rounds 5] [--model MODEL]

Each in a process of its own. Questions are about the first user and the most popular item of a model file. The first
fit is that of a tiny matrix, timed once everything is imported: with an empty cache of compiled code, then in another
process with the cache that the first has left. A third process fits with other parameters: it must find there all
that it needs.

A second table has each kernel that the first fit and the first list compile, with its seconds of processor time.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.timing import table

_FIT = """
import time
import numpy as np
import dcpf
X = np.random.default_rng(0).poisson(1.0, (20, 15))
model = dcpf.DCPF({parameters})
began = time.perf_counter()
model.fit(X)
print(time.perf_counter() - began)
"""
_COMPILED = """
import json
import time
import numpy as np
import dcpf
from numba.core import event

class Kernels(event.Listener):
    def __init__(self):
        self.began, self.seconds = [], {}
    def on_start(self, event):
        self.began.append(time.thread_time())
    def on_end(self, event):
        seconds = time.thread_time() - self.began.pop()
        if not self.began:  # not a step of a kernel that is being compiled
            kernel = event.data["dispatcher"].py_func
            self.seconds[f"{kernel.__module__.rpartition('.')[2]}.{kernel.__name__}"] = seconds

X = np.random.default_rng(0).poisson(1.0, (20, 15))
model = dcpf.DCPF(3, max_iter=20, tol=0, random_state=0, n_jobs=1)
compiled = {}
for name, call in {"fit": lambda: model.fit(X), "list": lambda: model.recommend([0], n=5)}.items():
    with event.install_listener("numba:compile", Kernels()) as kernels:
        began = time.thread_time()
        call()
        compiled[name] = {"in all": time.thread_time() - began} | kernels.seconds
print(json.dumps(compiled))
"""
FIRST = "3, max_iter=20, tol=0, random_state=0"
OTHER = "7, dcpf.elements.ShiftedNegativeBinomial(p=0.3, a=2.0), max_iter=500, tol=1e-3, random_state=5"


def process_seconds(command: list[str], rounds: int) -> float:
    """The quickest of several runs of a process."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - began)
    return min(times)


def questions(model: str) -> dict[str, list[str]]:
    """A question of each kind to a model file."""
    import dcpf

    fitted = dcpf.load(model)
    user, item = f"--user={fitted.users[0]}", f"--item={fitted.describe(1, 1).most_popular[0].id}"
    arguments = {"recommend": [user], "similar": [item], "explain": [user, item], "inspect": []}
    return {f"dcpf {name}": [name, model, *more] for name, more in arguments.items()}


def fit_seconds(parameters: str, cache: Path) -> float:
    """The time of `fit` alone, in a process that has its compiled code in this folder."""
    command = [sys.executable, "-c", _FIT.format(parameters=parameters)]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout)


def compile_seconds() -> dict[str, dict[str, float]]:
    """The seconds of a first fit and of a first list with an empty cache, in all and by kernel that is compiled."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-c", _COMPILED]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    seconds: dict[str, dict[str, float]] = json.loads(done.stdout)
    return seconds


def files(folder: Path) -> int:
    """How many files of compiled code there are."""
    return sum(path.is_file() for path in folder.rglob("*"))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="of the processes that only start")
    parser.add_argument("--skip-fits", action="store_true", help="which take some seconds to compile")
    parser.add_argument("--model", help="a model file to ask")
    arguments = parser.parse_args()
    command = str(Path(sys.executable).with_name("dcpf"))
    starts = {
        "python, nothing else": [sys.executable, "-c", ""],
        "import dcpf": [sys.executable, "-c", "import dcpf"],
        "dcpf --help": [command, "--help"],
    }
    if arguments.model is not None:
        starts |= {name: [command, *words] for name, words in questions(arguments.model).items()}
    rows = [("", "seconds", "target")]
    for name, started in starts.items():
        target = "" if "dcpf" not in name else "0.5" if "import" in name or "help" in name else "0.6"
        rows.append((name, f"{process_seconds(started, arguments.rounds):.3f}", target))
    if arguments.skip_fits:
        print(table(rows))
        return
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        rows.append(("first fit, cold cache", f"{fit_seconds(FIRST, cache):.3f}", "10"))
        before = files(cache)
        rows.append(("first fit, warm cache", f"{fit_seconds(FIRST, cache):.3f}", "1"))
        rows.append(("with other parameters, warm cache", f"{fit_seconds(OTHER, cache):.3f}", "1"))
        after = files(cache)
    print(table(rows))
    kernels = [("first", "kernel that is compiled", "seconds", "target")]
    compiled = compile_seconds()
    for name, target in {"fit": "5", "list": "2"}.items():
        for kernel, seconds in compiled[name].items():
            kernels.append((name, kernel, f"{seconds:.2f}", target if kernel == "in all" else ""))
    print(f"\n{table(kernels)}")
    print(f"\nfiles of compiled code after the first fit: {before}; after the others: {after} (must be the same)")


if __name__ == "__main__":
    main()
