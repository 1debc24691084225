"""Counts: a matrix with ids, its checks, filters and splits. Imports dcpf.memory."""

from dcpf.counts.alignment import Aligned, align
from dcpf.counts.checks import LARGEST_COUNT, InvalidCounts, count_matrix, report
from dcpf.counts.counts import Counts
from dcpf.counts.events import Events
from dcpf.counts.ids import Id, Ids, UnknownId
from dcpf.counts.strings import Strings

__all__ = [
    "LARGEST_COUNT",
    "Aligned",
    "Counts",
    "Events",
    "Id",
    "Ids",
    "InvalidCounts",
    "Strings",
    "UnknownId",
    "align",
    "count_matrix",
    "report",
]
