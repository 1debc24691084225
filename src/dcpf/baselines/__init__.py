"""Methods to compare with: popularity, EASE, item-kNN, and thin wrappers of the packages implicit and hpfrec.

Imports model, ranking, kernels and counts. The optional packages are imported by the fits that need them.
"""

from dcpf.baselines.base import Baseline, Popularity, ScoredLists
from dcpf.baselines.ease import Ease, TooManyItems, memory_needed
from dcpf.baselines.hpf import HPF
from dcpf.baselines.implicit_models import ImplicitALS, ImplicitBPR
from dcpf.baselines.methods import METHODS, Competitor
from dcpf.baselines.neighbors import ItemKNN

__all__ = [
    "HPF",
    "METHODS",
    "Baseline",
    "Competitor",
    "Ease",
    "ImplicitALS",
    "ImplicitBPR",
    "ItemKNN",
    "Popularity",
    "ScoredLists",
    "TooManyItems",
    "memory_needed",
]
