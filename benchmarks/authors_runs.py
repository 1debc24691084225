"""The authors' own runs on their Taste Profile subset, and five starts of ours beside them.

    python -m benchmarks.authors_runs COUNTS.parquet RUNS.json

RUNS.json tells, for seeds of numpy's RandomState, where the authors' program arrived: iterations, bound, parameters
and NDCG. Of all runs it has n_components, shape_prior, list_length and runs; of each, seed, element, limit (if it is
one), p_initial, learn_element, iters, elbo, p, a, ndcg0, ndcg1, ndcg2, ndcg5. First the same starts are run again,
in float64 and for as many iterations: every figure must agree. Then five random starts of our own, with our stopping
rule and in float32, against the mean of theirs.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import dcpf
from benchmarks.datasets import read
from benchmarks.timing import table

THRESHOLDS = (0, 1, 2, 5)


def split(counts: sparse.csr_array) -> tuple[sparse.csr_array, sparse.csr_array]:
    """The authors' split: a fifth of the stored entries, row by row, drawn by RandomState(1992)."""
    coo = counts.tocoo()
    test = np.zeros(counts.nnz, dtype=bool)
    test[np.random.RandomState(1992).choice(counts.nnz, int(0.2 * counts.nnz), replace=False)] = True
    train, held_out = (
        sparse.csr_array((coo.data[part], (coo.row[part], coo.col[part])), shape=counts.shape)
        for part in (~test, test)
    )
    return train, held_out


def ndcg(model: dcpf.DCPF, test: sparse.csr_array, length: int) -> list[float]:
    """NDCG of lists of this length for each threshold."""
    found = dcpf.evaluate(model, test, length, THRESHOLDS)
    return [found.mean("ndcg", threshold) for threshold in THRESHOLDS]


def element_of(run: dict[str, Any]) -> dcpf.elements.Element:
    """The element that a run starts from."""
    parameters = {"p": run["p_initial"]} | ({"a": 1.0} if "negative" in run["element"] else {})
    return type(dcpf.elements.get(run["element"]))(**parameters)


def label(run: dict[str, Any]) -> str:
    """The limit, the element, or the element with its fixed p."""
    return str(run.get("limit") or run["element"] + ("" if run["learn_element"] else f", p = {run['p_initial']:g}"))


def same_starts(runs: list[dict[str, Any]], settings: dict[str, Any], train: Any, test: Any) -> None:
    """Run the authors' starts again and print the largest differences."""
    rows = [("element", "seeds", "bound, relative", "p", "a", *(f"NDCG{s}" for s in THRESHOLDS))]
    worst: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
    for run in runs:
        rng = np.random.RandomState(run["seed"])
        a, K = settings["shape_prior"], settings["n_components"]
        W0, H0 = (np.maximum(rng.gamma(a, 1.0, (n, K)), 1e-300) for n in train.shape)
        model = dcpf.DCPF.paper(
            K, element_of(run), shape_prior=a, learn_element=run["learn_element"], max_iter=run["iters"], tol=0,
            init=(W0, H0), dtype="float64",
        ).fit(train)  # fmt: skip
        mine = ndcg(model, test, settings["list_length"])
        theirs = [run[f"ndcg{s}"] for s in THRESHOLDS]
        a_ = model.element_.parameters.get("a", run["a"])
        bound = abs(model.bounds_[-1] / run["elbo"] - 1.0)
        p = 0.0 if model.element_.limit else abs(model.element_.p - run["p"])
        worst[label(run)].append(np.abs([bound, p, a_ - run["a"], *np.subtract(mine, theirs)]))
    for name, found in worst.items():
        rows.append((name, str(len(found)), *(f"{difference:.1e}" for difference in np.max(found, axis=0))))
    print("largest difference to the authors' program from its own starts\n")
    print(table(rows) + "\n")


def own_starts(runs: list[dict[str, Any]], settings: dict[str, Any], train: Any, test: Any, starts: int) -> None:
    """Fit from random starts of our own and print the means beside the authors'."""
    rows = [("element", "whose", "p", "a", *(f"NDCG{s}" for s in THRESHOLDS), "bound", "iterations")]
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for run in runs:
        groups[label(run)].append(run)
    for name, group in groups.items():
        fits = []
        for seed in range(starts):
            model = dcpf.DCPF(
                settings["n_components"], element_of(group[0]), shape_prior=settings["shape_prior"],
                learn_element=group[0]["learn_element"], n_neighbors=0, max_iter=2000, random_state=seed,
            ).fit(train)  # fmt: skip
            scores = ndcg(model, test, settings["list_length"])
            a = model.element_.parameters.get("a", 1.0)
            fits.append([model.element_.p, a, *scores, model.bounds_[-1], model.n_iter_])
        theirs = [
            [run["p"], run["a"], *(run[f"ndcg{s}"] for s in THRESHOLDS), run["elbo"], run["iters"]] for run in group
        ]
        for whose, figures in (("authors'", theirs), ("ours", fits)):
            mean = np.mean(figures, axis=0)
            cells = [f"{value:.4f}" for value in mean[:6]] + [f"{mean[6]:,.0f}", f"{mean[7]:.0f}"]
            rows.append((name if whose != "ours" else "", f"{whose}, {len(figures)}", *cells))
    print("means over starts\n")
    print(table(rows))


def main() -> None:
    """Read, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", type=Path)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--starts", type=int, default=5)
    arguments = parser.parse_args()
    settings = json.loads(arguments.runs.read_text())
    train, test = split(read(arguments.counts))
    same_starts(settings["runs"], settings, train, test)
    own_starts(settings["runs"], settings, train, test, arguments.starts)


if __name__ == "__main__":
    main()
