"""Reciprocal rank, whose mean over users is MRR."""

import numpy as np

from dcpf.evaluation.metrics.judged import Floats, Judged


def reciprocal_rank(lists: Judged) -> Floats:
    """1 / the place of the first hit; 0 without any."""
    first = lists.hits.argmax(axis=1)
    return np.where(lists.found > 0, 1.0 / (first + 1.0), 0.0)
