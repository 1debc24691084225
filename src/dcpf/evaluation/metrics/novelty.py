"""Novelty by popularity."""

import numpy as np
from numpy.typing import NDArray

from dcpf.evaluation.metrics.judged import Floats


def novelty(indptr: NDArray[np.int64], items: NDArray[np.int64], popularity: Floats) -> Floats:
    """The mean over a list of -log2 of the share of users who have the item: its surprise, in bits.

    `popularity` is that share by item. An item that nobody has counts as if one user had it, so it must not be 0.
    NaN for a list without items.
    """
    lengths = np.diff(indptr)
    lists = np.repeat(np.arange(len(lengths)), lengths)
    surprise = np.bincount(lists, weights=-np.log2(popularity[items]), minlength=len(lengths))
    return np.where(lengths > 0, surprise / np.maximum(lengths, 1), np.nan)
