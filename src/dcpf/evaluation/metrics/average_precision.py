"""Average precision, whose mean over users is MAP."""

import numpy as np

from dcpf.evaluation.metrics.judged import Floats, Judged


def average_precision(lists: Judged) -> Floats:
    """The precision at the place of each hit, summed, over the hits of a perfect list."""
    places = np.arange(1.0, lists.hits.shape[1] + 1.0)
    return np.asarray((lists.hits_so_far * lists.hits / places).sum(axis=1) / lists.attainable)
