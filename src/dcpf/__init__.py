"""dcpf: recommendations from raw counts by discrete compound Poisson factorization.

>>> import dcpf
>>> model = dcpf.DCPF(n_components=50, element="shifted-nb").fit(counts)   # users x items  # doctest: +SKIP
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dcpf import elements
    from dcpf.counts import InvalidCounts
    from dcpf.model import DCPF
    from dcpf.progress import Iteration

__version__ = "0.1.0"
__all__ = ["DCPF", "InvalidCounts", "Iteration", "__version__", "elements"]

# Names are imported when they are first asked for: `import dcpf` and `dcpf --help` answer at once.
_HOME = {"DCPF": "dcpf.model", "InvalidCounts": "dcpf.counts", "Iteration": "dcpf.progress"}


def __getattr__(name: str) -> object:
    if name == "elements":
        return importlib.import_module("dcpf.elements")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'dcpf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
