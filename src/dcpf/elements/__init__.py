"""Element distributions, one file each. May import kernels and nothing else of dcpf.

Every module of this folder is imported, which registers each class that derives from `Element` under its name. So a
new element is one new file. Kernels are imported by the calls that need them, since numba takes long to import.
"""

import importlib
import pkgutil

from dcpf.elements.combinatorics import log_lah, log_stirling1, log_stirling2
from dcpf.elements.element import Element, Totals, get, names
from dcpf.elements.geometric import Geometric
from dcpf.elements.limits import Binary, Raw
from dcpf.elements.logarithmic import Logarithmic
from dcpf.elements.shifted_negative_binomial import ShiftedNegativeBinomial
from dcpf.elements.zero_truncated_poisson import ZeroTruncatedPoisson

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = [
    "Binary",
    "Element",
    "Geometric",
    "Logarithmic",
    "Raw",
    "ShiftedNegativeBinomial",
    "Totals",
    "ZeroTruncatedPoisson",
    "get",
    "log_lah",
    "log_stirling1",
    "log_stirling2",
    "names",
]
