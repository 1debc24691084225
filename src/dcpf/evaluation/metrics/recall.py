"""Recall."""

import numpy as np

from dcpf.evaluation.metrics.judged import Floats, Judged


def recall(lists: Judged) -> Floats:
    """The share of the relevant items that are in the list."""
    return np.asarray(lists.found / lists.relevant)
