"""Area under the ROC curve."""

import numpy as np

from dcpf.evaluation.metrics.judged import Floats, Judged


def auc(lists: Judged) -> Floats:
    """The chance that a relevant item stands above one that is not.

    Of what is not in the list nothing is known, so that half of it counts; a relevant item that the model does not
    know stands below all. With lists of all items this is the exact area. NaN where all items are relevant.
    """
    hits = lists.hits.sum(axis=1)
    listed_pairs = np.where(lists.hits, np.float64(0.0), np.cumsum(lists.hits, axis=1, dtype=np.float64))
    beyond_lists = (lists.k - lists.lengths) * hits  # places after the end of a list look like misses
    irrelevant = lists.candidates - lists.reachable
    unlisted = irrelevant - (lists.lengths - hits)
    above = listed_pairs.sum(axis=1) - beyond_lists + unlisted * (hits + (lists.reachable - hits) / 2.0)
    with np.errstate(invalid="ignore"):
        return np.where(irrelevant > 0, above / (lists.relevant * irrelevant), np.nan)
