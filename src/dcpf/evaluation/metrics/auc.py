"""Area under the ROC curve."""

import numpy as np

from dcpf.evaluation.metrics.judged import Floats, Judged


def auc(lists: Judged) -> Floats:
    """The chance that a relevant item stands above one that is not.

    Of what is not in the list nothing is known, so that half of it counts; a relevant item that the model does not
    know stands below all. With lists of all items this is the exact area. NaN where there is no irrelevant item.
    """
    hits, misses = lists.found, lists.misses.sum(axis=1)
    listed = (lists.hits_so_far * lists.misses).sum(axis=1)
    unlisted = (lists.irrelevant - misses) * (hits + (lists.reachable - hits) / 2.0)
    pairs = lists.relevant * lists.irrelevant
    return np.where(pairs > 0, (listed + unlisted) / np.maximum(pairs, 1), np.nan)
