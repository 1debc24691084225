"""Hit rate."""

from dcpf.evaluation.metrics.judged import Floats, Judged


def hit_rate(lists: Judged) -> Floats:
    """1 if there is any hit in the list."""
    return (lists.found > 0).astype(float)
