"""Normalized discounted cumulative gain."""

import numpy as np

from dcpf.evaluation.metrics.judged import Floats, Judged


def ndcg(lists: Judged) -> Floats:
    """DCG / ideal DCG with a hit at place j worth 1 / log2(j + 1), as in the paper."""
    most = max(int(lists.attainable.max(initial=1)), lists.hits.shape[1])
    worth = 1.0 / np.log2(np.arange(2.0, most + 2.0))
    gain = (lists.hits * worth[: lists.hits.shape[1]]).sum(axis=1)
    return np.asarray(gain / np.cumsum(worth)[lists.attainable - 1])
