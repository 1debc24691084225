"""Seconds of one iteration against entries, components and threads, with a figure.

    python -m benchmarks.scaling [--output docs/figures/scaling.png]

Entries over three decades at one density, users and items growing as their square root. On logarithmic axes a cost
that is linear is a line of slope 1, drawn beside the times; the slope told is that of the upper decade.
"""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.datasets import taste_profile_shaped
from benchmarks.drawing import plain_ticks
from benchmarks.iteration import dcpf_iteration
from benchmarks.timing import median_seconds, table
from dcpf.kernels.threads import Threads
from dcpf.paper.figures.style import FAINT, lines, panels, save, styled

ENTRIES = (10_000, 31_623, 100_000, 316_228, 1_000_000, 3_162_278, 10_000_000)
COMPONENTS = (1, 4, 16, 64, 256, 1024)
THREADS = (1, 2, 4)

Times = dict[int, float]


def drawn(entries: int) -> sparse.csr_array:
    """Counts at the density of the Taste Profile subset."""
    side = math.sqrt(entries / 1_200_000)
    return taste_profile_shaped(round(16_301 * side), round(12_118 * side), entries)


def seconds(matrix: sparse.csr_array, components: int, n_threads: int, rounds: int) -> float:
    """The median time of an iteration."""
    with Threads(n_threads) as threads:
        return median_seconds({"": dcpf_iteration(matrix, "shifted-nb", components, threads)}, rounds)[""]


def slope(times: Times) -> float:
    """The slope of log seconds against log size, over the sizes from a tenth of the largest on."""
    upper = {size: taken for size, taken in times.items() if size >= 0.099 * max(times)}
    if len(upper) < 2:
        return math.nan
    return float(np.polyfit(np.log(list(upper)), np.log(list(upper.values())), 1)[0])


def tell(what: str, times: Times) -> None:
    """The times of one panel as a table, and their slope."""
    first = next(iter(times.values()))
    rows = [(what, "ms", "against the first")]
    rows += [(f"{size:,}", f"{1e3 * taken:.2f}", f"{taken / first:.2f}") for size, taken in times.items()]
    print(table(rows), flush=True)
    print(f"slope of the upper decade: {slope(times):.2f}\n", flush=True)


def draw(found: Sequence[tuple[str, str, float, Times]], path: Path) -> None:
    """A panel for each: its label, title, ideal slope and times."""
    with styled():
        figure, all_axes = panels(len(found), 3.2 * len(found), 3.1)
        for axes, (what, title, ideal, times) in zip(all_axes, found, strict=True):
            sizes = np.array(list(times), dtype=np.float64)
            taken = np.array(list(times.values()))
            anchor = taken[-1] if ideal > 0.0 else taken[0]
            through = sizes[-1] if ideal > 0.0 else sizes[0]
            line = anchor * (sizes / through) ** ideal
            axes.plot(sizes, line, color=FAINT, linestyle="--", label=f"slope {ideal:+.0f}")
            axes.plot(sizes, taken, **(lines(["Sh. NB"])[0] | {"label": "one iteration"}))
            axes.set(xscale="log", yscale="log", xlabel=what, ylabel="seconds")
            axes.set_title(title)
            plain_ticks(axes.yaxis)
            if len(sizes) < 7 and sizes[-1] < 10_000.0:
                axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
                axes.minorticks_off()
            axes.legend()
        path.parent.mkdir(parents=True, exist_ok=True)
        save(figure, path)


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, nargs="+", default=ENTRIES)
    parser.add_argument("--components", type=int, nargs="+", default=COMPONENTS)
    parser.add_argument("--threads", type=int, nargs="+", default=THREADS)
    parser.add_argument("--entries-for-components", type=int, default=200_000)
    parser.add_argument("--entries-for-threads", type=int, default=1_200_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--output", type=Path, default=Path("docs/figures/scaling.png"))
    arguments = parser.parse_args()
    rounds = arguments.rounds
    with threadpool_limits(1, "blas"):
        entries = {size: seconds(drawn(size), 50, 2, rounds) for size in sorted(arguments.entries)}
        tell("entries, K = 50, 2 threads", entries)
        matrix = drawn(arguments.entries_for_components)
        components = {K: seconds(matrix, K, 2, rounds) for K in sorted(arguments.components)}
        tell(f"K, {matrix.nnz:,} entries, 2 threads", components)
        larger = drawn(arguments.entries_for_threads)
        threads = {count: seconds(larger, 100, count, rounds) for count in sorted(arguments.threads)}
        tell(f"threads, {larger.nnz:,} entries, K = 100", threads)
    found = [
        ("entries", "K = 50, 2 threads", 1.0, entries),
        ("K", f"{matrix.nnz:,} entries, 2 threads", 1.0, components),
        ("threads", f"{larger.nnz:,} entries, K = 100", -1.0, threads),
    ]
    draw(found, arguments.output)
    print(f"drawn: {arguments.output}")
    print("target: linear in entries and in K, a slope of 1")


if __name__ == "__main__":
    main()
