"""Area under the ROC curve."""

import numpy as np

from dcpf.evaluation.metrics.judged import Floats, Judged


def auc(lists: Judged) -> Floats:
    """The chance that a relevant item stands above one that is not.

    Of what is not in the list nothing is known, so that half of it counts; a relevant item that the model does not
    know stands below all. With lists of all items this is the exact area. NaN where all items are relevant.
    """
    hits = lists.hits.sum(axis=1)
    to_the_end = (lists.hits * np.arange(lists.k, 0, -1)).sum(axis=1) - hits * (lists.k - lists.lengths)
    listed_pairs = to_the_end - hits * (hits + 1) // 2  # places from each hit to the end, without those of hits
    irrelevant = lists.candidates - lists.reachable
    unlisted = irrelevant - (lists.lengths - hits)
    above = listed_pairs + unlisted * (hits + (lists.reachable - hits) / 2.0)
    with np.errstate(invalid="ignore"):
        return np.where(irrelevant > 0, above / (lists.relevant * irrelevant), np.nan)
