"""What others would use, for honest comparison: popularity, EASE, item-kNN, and thin wrappers of peers.

Imports model, ranking, kernels and counts. The peers' packages are imported by the fits that need them.
"""

from dcpf.baselines.base import Baseline, Recommended
from dcpf.baselines.ease import Ease, TooManyItems, memory_needed
from dcpf.baselines.hpf import HPF
from dcpf.baselines.implicit_als import ImplicitALS
from dcpf.baselines.implicit_bpr import ImplicitBPR
from dcpf.baselines.item_knn import ItemKNN
from dcpf.baselines.methods import METHODS, Method
from dcpf.baselines.popularity import Popularity

__all__ = [
    "HPF",
    "METHODS",
    "Baseline",
    "Ease",
    "ImplicitALS",
    "ImplicitBPR",
    "ItemKNN",
    "Method",
    "Popularity",
    "Recommended",
    "TooManyItems",
    "memory_needed",
]
