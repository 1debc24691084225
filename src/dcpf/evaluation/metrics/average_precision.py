"""Average precision, whose mean over users is MAP."""

import numpy as np

from dcpf.evaluation.metrics.judged import Floats, Judged


def average_precision(lists: Judged) -> Floats:
    """The precision at the place of each hit, summed, over the hits of a perfect list."""
    so_far = np.cumsum(lists.hits, axis=1, dtype=np.int32) * lists.hits
    return np.asarray((so_far / np.arange(1.0, lists.k + 1.0)).sum(axis=1) / lists.attainable)
