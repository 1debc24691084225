"""Precision."""

import numpy as np

from dcpf.evaluation.metrics.judged import Floats, Judged


def precision(lists: Judged) -> Floats:
    """The share of hits among k places, whether or not the list is that long, or that many items are relevant."""
    return np.asarray(lists.found / lists.k)
