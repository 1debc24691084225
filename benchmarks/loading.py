"""How long it takes to load a model of a million users, and to ask it.

    python -m benchmarks.loading [--users 1000000] [--components 100]

The model is drawn, not fitted: ids of 40 characters, 20 counts a user. It is loaded in a process of its own.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from dcpf import DCPF, Counts, FittedModel
from dcpf.inference.gammas import GammaPosterior

_ASK = """
import sys, time
import dcpf
dcpf.FittedModel  # imported before the clock starts
clock = time.perf_counter
began = clock(); model = dcpf.load(sys.argv[1]); print(f"load                        {clock() - began:6.3f} s")
user = model.users[len(model.users) // 2]
began = clock(); model.recommend(user); print(f"first list (reads the file) {clock() - began:6.3f} s")
began = clock(); model.recommend(user); print(f"next list                   {clock() - began:6.3f} s")
"""


def main() -> None:
    """Draw, save, load, ask."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--components", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model = drawn_model(options.users, options.items, options.components)
        began = time.perf_counter()
        model.save(path)
        size = path.stat().st_size / 1e6
        print(f"save                        {time.perf_counter() - began:6.3f} s, {size:,.0f} MB", flush=True)
        subprocess.run([sys.executable, "-c", _ASK, path], check=True)


def drawn_model(users: int, items: int, components: int) -> FittedModel:
    """A model of this size whose factors are drawn."""
    rng = np.random.default_rng(0)
    small = (
        DCPF(components, n_neighbors=0, max_iter=1, tol=0.0, random_state=0)
        .fit(rng.poisson(1.0, (components, components)) + 1)
        .fitted_
    )
    n = 20 * users
    entries = (np.ones(n, dtype=np.int64), (np.repeat(np.arange(users), 20), rng.integers(0, items, n)))
    ids = [[f"{what}-{j:035}" for j in range(size)] for what, size in (("user", users), ("item", items))]
    counts = Counts.from_matrix(sparse.csr_array(entries, shape=(users, items)), *ids)
    W, H = (
        GammaPosterior(rng.random((size, components), dtype=np.float32), np.ones(size), np.ones(components))
        for size in (users, items)
    )
    factors = replace(small.part("factors"), W=W, H=H)
    return replace(small, users=counts.users, items=counts.items, history=counts.matrix, parts=(factors,))


if __name__ == "__main__":
    main()
