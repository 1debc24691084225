"""Timing on a noisy machine: contenders take turns, and the median of many times counts."""

import itertools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence


def median_seconds(
    contenders: Mapping[str, Callable[[], object]], rounds: int, in_a_row: int = 1
) -> dict[str, float]:
    """The median time of each contender over several rounds, in which each runs so many times in a row."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in itertools.chain.from_iterable([item] * in_a_row for item in contenders.items()):
            began = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - began)
    return {name: statistics.median(found) for name, found in times.items()}


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows of text as aligned columns, the first row a heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
