"""Timing on a noisy machine: contenders take turns, and the best of several rounds counts."""

import time
from collections.abc import Callable, Mapping, Sequence


def best_seconds(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The shortest time of each contender over several rounds, in which each has its turn."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, run in contenders.items():
            began = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows of text as aligned columns, the first row a heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
