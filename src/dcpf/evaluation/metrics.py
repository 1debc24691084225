"""Ranking metrics. Each is a function from judged lists to one number per user, and a line in `METRICS`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class Judged:
    """One list of at most k items per user, each place marked as a hit or a miss. All users have a relevant item."""

    k: int  # the length of a full list
    hits: Marks  # users x places: the item there is relevant; False after the end of a list
    misses: Marks  # it is not, but could have been; items that the user already has are neither
    relevant: Numbers  # number of relevant items per user
    reachable: Numbers  # relevant items that the model knows
    irrelevant: Numbers  # items that the model knows, that are not relevant, and that the user does not have yet

    @property
    def attainable(self) -> Numbers:
        """The hits of a perfect list."""
        return np.minimum(self.relevant, self.k)

    @cached_property
    def found(self) -> Numbers:
        """The number of hits in each list."""
        return np.asarray(self.hits.sum(axis=1))

    @cached_property
    def hits_so_far(self) -> NDArray[np.int32]:
        """The number of hits up to and including each place."""
        return np.cumsum(self.hits, axis=1, dtype=np.int32)


def ndcg(lists: Judged) -> Floats:
    """Normalized discounted cumulative gain: DCG / ideal DCG, where a hit at place j gains 1 / log2(j + 1)."""
    longest = max(int(lists.attainable.max(initial=1)), lists.hits.shape[1])
    gains = 1.0 / np.log2(np.arange(2.0, longest + 2.0))
    dcg = (lists.hits * gains[: lists.hits.shape[1]]).sum(axis=1)
    return np.asarray(dcg / np.cumsum(gains)[lists.attainable - 1])


def precision(lists: Judged) -> Floats:
    """Hits / k, even if a list is shorter or fewer than k items are relevant."""
    return np.asarray(lists.found / lists.k)


def recall(lists: Judged) -> Floats:
    """Hits / relevant items."""
    return np.asarray(lists.found / lists.relevant)


def average_precision(lists: Judged) -> Floats:
    """The sum of the precisions at the hits / the hits of a perfect list. Its mean over users is MAP."""
    places = np.arange(1.0, lists.hits.shape[1] + 1.0)
    return np.asarray((lists.hits_so_far * lists.hits / places).sum(axis=1) / lists.attainable)


def reciprocal_rank(lists: Judged) -> Floats:
    """1 / the place of the first hit; 0 without a hit. Its mean over users is MRR."""
    first = lists.hits.argmax(axis=1)
    return np.where(lists.found > 0, 1.0 / (first + 1.0), 0.0)


def hit_rate(lists: Judged) -> Floats:
    """1 if the list has a hit, else 0."""
    return (lists.found > 0).astype(float)


def auc(lists: Judged) -> Floats:
    """Area under the ROC curve: the probability that a relevant item is ranked above an irrelevant one.

    The order of items outside the list is unknown, so pairs of these count as one half. A relevant item that the
    model does not know ranks below all. With lists of all items this is the exact area. NaN without an irrelevant
    item.
    """
    hits, misses = lists.found, lists.misses.sum(axis=1)
    listed = (lists.hits_so_far * lists.misses).sum(axis=1)
    unlisted = (lists.irrelevant - misses) * (hits + (lists.reachable - hits) / 2.0)
    pairs = lists.relevant * lists.irrelevant
    return np.where(pairs > 0, (listed + unlisted) / np.maximum(pairs, 1), np.nan)


METRICS: dict[str, Callable[[Judged], Floats]] = {
    "ndcg": ndcg,
    "precision": precision,
    "recall": recall,
    "map": average_precision,
    "mrr": reciprocal_rank,
    "hit_rate": hit_rate,
    "auc": auc,
}
"""The metrics that depend on a threshold of relevance, by the names under which they are reported."""


def coverage(listed: Marks) -> float:
    """The share of all items that are in the list of at least one user."""
    return float(listed.mean()) if len(listed) else 0.0


def novelty(indptr: Numbers, items: Numbers, popularity: Floats) -> Floats:
    """The mean self-information of the items in each list, in bits: -log2 of the share of users who have an item.

    `popularity` is that share by item, and must not be 0. NaN for an empty list.
    """
    lengths = np.diff(indptr)
    lists = np.repeat(np.arange(len(lengths)), lengths)
    information = np.bincount(lists, weights=-np.log2(popularity[items]), minlength=len(lengths))
    return np.where(lengths > 0, information / np.maximum(lengths, 1), np.nan)
