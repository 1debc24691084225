"""Normalized discounted cumulative gain."""

import numpy as np

from dcpf.evaluation.metrics.judged import Floats, Judged


def ndcg(lists: Judged) -> Floats:
    """DCG / ideal DCG with a hit at place j worth 1 / log2(j + 1), as in the paper."""
    worth = 1.0 / np.log2(np.arange(2.0, lists.k + 2.0))
    return np.asarray((lists.hits * worth).sum(axis=1) / np.cumsum(worth)[lists.attainable - 1])
