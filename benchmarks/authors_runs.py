"""The authors' own runs on their Taste Profile subset, and five starts of ours beside them.

    python -m benchmarks.authors_runs COUNTS.parquet RUNS.json

RUNS.json tells, for seeds of numpy's RandomState, where the authors' program arrived: iterations, bound, parameters
and NDCG. Of all runs it has n_components, shape_prior, list_length and runs; of each, seed, element, limit (if it is
one), p_initial, learn_element, iters, elbo, p, a, ndcg0, ndcg1, ndcg2, ndcg5. First the same starts are run again,
in float64 and for as many iterations: every figure must agree. Then the mean of theirs is compared with that of five
starts, with our stopping rule and in float32: drawn as they draw them, from their seeds and then from 0, 1, ..., and
drawn as DCPF does.

    python -m benchmarks.authors_runs COUNTS.parquet RUNS.json --starts 40 --others

leaves their seeds out: how far means of other starts of their own procedure are from the mean of those three.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import dcpf
from benchmarks.datasets import read
from benchmarks.timing import table

THRESHOLDS = (0, 1, 2, 5)
Groups = dict[str, list[dict[str, Any]]]  # the authors' runs with each element


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


def their_start(seed: int, settings: dict[str, Any], train: Any) -> tuple[Any, Any]:
    """E[W] and E[H] drawn from the prior, as the authors' program draws them."""
    rng, shape, K = np.random.RandomState(seed), settings["shape_prior"], settings["n_components"]
    W, H = (np.maximum(rng.gamma(shape, 1.0, (n, K)), 1e-30) for n in train.shape)
    return W, H


def fit(run: dict[str, Any], settings: dict[str, Any], train: Any, **parameters: Any) -> dcpf.DCPF:
    """By plain iterations, with the model of this run."""
    given = {"shape_prior": settings["shape_prior"], "learn_element": run["learn_element"], "max_iter": 2000}
    return dcpf.DCPF.paper(settings["n_components"], element_of(run), **given | parameters).fit(train)


def figures(model: dcpf.DCPF, settings: dict[str, Any], test: Any) -> list[float]:
    """p, a, NDCG at all thresholds, bound and iterations."""
    a = model.element_.parameters.get("a", 1.0)
    return [model.element_.p, a, *ndcg(model, test, settings["list_length"]), model.bounds_[-1], model.n_iter_]


def their_figures(run: dict[str, Any]) -> list[float]:
    """The same of a run of the authors' program."""
    return [run["p"], run["a"], *(run[f"ndcg{s}"] for s in THRESHOLDS), run["elbo"], run["iters"]]


def same_starts(groups: Groups, settings: dict[str, Any], train: Any, test: Any) -> None:
    """Run the authors' starts again and print the largest differences."""
    rows = [("element", "seeds", "bound, relative", "p", "a", *(f"NDCG{s}" for s in THRESHOLDS))]
    for name, group in groups.items():
        worst = []
        for run in group:
            start = their_start(run["seed"], settings, train)
            model = fit(run, settings, train, init=start, max_iter=run["iters"], tol=0, dtype="float64")
            p, a, *scores, bound, _ = np.subtract(figures(model, settings, test), their_figures(run))
            worst.append(np.abs([bound / run["elbo"], 0.0 if model.element_.limit else p, a, *scores]))
        rows.append((name, str(len(group)), *(f"{difference:.1e}" for difference in np.max(worst, axis=0))))
    print("largest difference to the authors' program from its own starts\n")
    print(table(rows) + "\n")


def means(
    groups: dict[str, list[dict[str, Any]]], settings: dict[str, Any], train: Any, test: Any, seeds: Any
) -> None:
    """Fit from other starts, drawn in two ways, and print the means beside the authors'."""
    rows = [("element", "starts", "p", "a", *(f"NDCG{s}" for s in THRESHOLDS), "bound", "iterations", "farthest")]
    for name, group in groups.items():
        found = {"authors' runs": [their_figures(run) for run in group], "drawn as theirs": [], "drawn as ours": []}
        for number, seed in enumerate(seeds):
            as_theirs = fit(group[0], settings, train, init=their_start(seed, settings, train))
            found["drawn as theirs"].append(figures(as_theirs, settings, test))
            found["drawn as ours"].append(
                figures(fit(group[0], settings, train, random_state=number), settings, test)
            )
        theirs = np.mean(found["authors' runs"], axis=0)
        for way, values in found.items():
            mean, spread = np.mean(values, axis=0), np.std(values, axis=0, ddof=1)
            cells = [f"{one:.4f}" for one in mean[:2]]
            cells += [f"{one:.4f} ± {sd:.4f}" for one, sd in zip(mean[2:6], spread[2:6], strict=True)]
            cells += [f"{mean[6]:,.0f}", f"{mean[7]:.0f}", f"{np.abs(mean - theirs)[2:6].max():.4f}"]
            rows.append((name if values is found["authors' runs"] else "", f"{len(values)} {way}", *cells))
    print("means and standard deviations over starts, and how far the farthest NDCG is from the authors'\n")
    print(table(rows))


def main() -> None:
    """Read, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", type=Path)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--others", action="store_true", help="no seeds of the authors among the starts")
    arguments = parser.parse_args()
    settings = json.loads(arguments.runs.read_text())
    groups: Groups = defaultdict(list)
    for run in settings["runs"]:
        groups[label(run)].append(run)
    train, test = split(read(arguments.counts))
    if not arguments.others:
        same_starts(groups, settings, train, test)
    known = [] if arguments.others else sorted({run["seed"] for run in settings["runs"]})
    seeds = (known + [seed for seed in range(arguments.starts) if seed not in known])[: arguments.starts]
    means(groups, settings, train, test, seeds)


if __name__ == "__main__":
    main()
