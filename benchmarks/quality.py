"""How good the lists are after how many seconds: dcpf and implicit's alternating least squares.

    python -m benchmarks.quality [--counts FILE.parquet] [--output docs/figures/time_to_quality.png]

A fifth of the entries is held out. Each fit has a fixed number of iterations and is timed alone, compiled code warm;
then NDCG of lists of 100 at threshold 0 is computed, outside the clock. implicit with its defaults gets 1 for each
pair that was seen; tuned, it gets log(1 + y), with alpha 10 and regularization 50.
"""

import argparse
import importlib.util
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.datasets import read, taste_profile_shaped
from benchmarks.drawing import plain_ticks
from benchmarks.timing import table
from dcpf import DCPF, Counts, evaluate
from dcpf.baselines import ImplicitALS
from dcpf.paper.figures.style import lines, panels, save, styled

OURS = (5, 10, 20, 40, 80, 160)
THEIRS = (1, 2, 4, 8, 15, 30)
LENGTH = 100
FITS = 3  # of each number of iterations: the machine is shared
LINES = {"factors alone": "--", "not accelerated": ":"}  # of what else is ours

Curve = list[tuple[int, float, float]]  # iterations, seconds, NDCG


def models(K: int, seed: int) -> dict[str, Any]:
    """Each contender as a model whose iterations are still to be set."""
    ours: dict[str, Any] = {"tol": 0.0, "random_state": seed}
    found: dict[str, Any] = {
        "dcpf": DCPF(K, **ours),
        "dcpf, factors alone": DCPF(K, n_neighbors=0, **ours),
        "dcpf, not accelerated": DCPF(K, n_neighbors=0, accelerate=False, **ours),
    }
    if importlib.util.find_spec("implicit"):
        found["implicit ALS, its defaults"] = ImplicitALS(K, random_state=seed)
        found["implicit ALS, tuned"] = ImplicitALS(K, 50.0, 10.0, weighting="log", random_state=seed)
    return found


def curve(model: Any, iterations: Sequence[int], train: Counts, test: Counts) -> Curve:
    """Fits from the start for each number of iterations, of which the quickest counts."""
    name = "max_iter" if isinstance(model, DCPF) else "iterations"
    found: Curve = []
    for number in iterations:
        setattr(model, name, number)
        taken = []
        for _ in range(FITS):
            began = time.perf_counter()
            model.fit(train)
            taken.append(time.perf_counter() - began)
        found.append((number, min(taken), float(evaluate(model, test, LENGTH, (0,)).mean("ndcg"))))
    return found


def summary(curves: dict[str, Curve]) -> None:
    """The time of each contender to come within 1% of its best, and that of dcpf to be as good."""
    rows = [("", "best NDCG", "s to 99% of it", "dcpf's s to as much", "ratio, dcpf's to its")]
    for name, found in curves.items():
        best = max(ndcg for *_, ndcg in found)
        own, ours = (
            next((taken for _, taken, ndcg in one if ndcg >= 0.99 * best), None) for one in (found, curves["dcpf"])
        )
        told = ("never", "") if ours is None or own is None else (f"{ours:.2f}", f"{ours / own:.2f}")
        rows.append((name, f"{best:.4f}", f"{own:.2f}", *told))
    print(table(rows) + "\n")


def draw(curves: dict[str, Curve], title: str, path: Path) -> None:
    """NDCG against seconds; a mark is a fit."""
    looks = lines(name.replace("dcpf", "Sh. NB", 1) for name in curves)
    with styled():
        figure, (axes,) = panels(1, 6.2, 3.8)
        for (name, found), look in zip(curves.items(), looks, strict=True):
            style = next((style for kind, style in LINES.items() if kind in name), None)
            look = look | {"label": name} | ({"linestyle": style} if style else {})
            axes.plot([taken for _, taken, _ in found], [ndcg for *_, ndcg in found], **look)
        axes.set(xscale="log", xlabel="seconds of the fit", ylabel=f"NDCG@{LENGTH}")
        axes.set_title(title)
        plain_ticks(axes.xaxis)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
        path.parent.mkdir(parents=True, exist_ok=True)
        save(figure, path)


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=Path, help="Parquet file of user, item, count")
    parser.add_argument("--users", type=int, default=16_301)
    parser.add_argument("--items", type=int, default=12_118)
    parser.add_argument("--entries", type=int, default=1_200_000)
    parser.add_argument("--components", type=int, default=100)
    parser.add_argument("--iterations", type=int, nargs="+", default=OURS, help="of dcpf")
    parser.add_argument("--als-iterations", type=int, nargs="+", default=THEIRS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("docs/figures/time_to_quality.png"))
    arguments = parser.parse_args()
    shape = (arguments.users, arguments.items, arguments.entries)
    matrix = read(arguments.counts) if arguments.counts else taste_profile_shaped(*shape)
    train, test = Counts.from_matrix(matrix).split(0.2, seed=0)
    warm = taste_profile_shaped(300, 200, 3_000)
    curves: dict[str, Curve] = {}
    rows = [("", "iterations", "seconds", f"NDCG@{LENGTH}")]
    for name, model in models(arguments.components, arguments.seed).items():
        ours = isinstance(model, DCPF)
        if ours:
            DCPF(5, max_iter=10, tol=0.0, accelerate=model.accelerate).fit(warm)  # compiles
        curves[name] = curve(model, arguments.iterations if ours else arguments.als_iterations, train, test)
        rows += [(name, str(number), f"{taken:.2f}", f"{ndcg:.4f}") for number, taken, ndcg in curves[name]]
    users, items = matrix.shape
    what = arguments.counts.stem if arguments.counts else "drawn"
    print(f"{what}: {users:,} x {items:,}, {matrix.nnz:,} entries, K = {arguments.components}\n")
    print(table(rows) + "\n")
    summary(curves)
    draw(curves, f"{what}: {users:,} x {items:,}, K = {arguments.components}", arguments.output)
    print(f"drawn: {arguments.output}")


if __name__ == "__main__":
    main()
