"""dcpf: recommendations from raw counts by discrete compound Poisson factorization.

>>> import dcpf
>>> model = dcpf.DCPF(n_components=50, element="shifted-nb").fit(counts)   # users x items  # doctest: +SKIP
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dcpf import distributed, elements
    from dcpf.counts import Counts, InvalidCounts, UnknownId
    from dcpf.evaluation import evaluate, log_likelihood
    from dcpf.model import DCPF, FittedModel, load
    from dcpf.progress import Iteration
    from dcpf.readers import read_counts
    from dcpf.store import ModelFormatError

__version__ = "0.1.0"
__all__ = [
    "DCPF",
    "Counts",
    "FittedModel",
    "InvalidCounts",
    "Iteration",
    "ModelFormatError",
    "UnknownId",
    "__version__",
    "distributed",
    "elements",
    "evaluate",
    "load",
    "log_likelihood",
    "read_counts",
]

# Names are imported when they are first asked for: `import dcpf` and `dcpf --help` answer at once.
_HOME = {
    "DCPF": "dcpf.model",
    "FittedModel": "dcpf.model",
    "Counts": "dcpf.counts",
    "InvalidCounts": "dcpf.counts",
    "Iteration": "dcpf.progress",
    "ModelFormatError": "dcpf.store",
    "UnknownId": "dcpf.counts",
    "evaluate": "dcpf.evaluation",
    "load": "dcpf.model",
    "log_likelihood": "dcpf.evaluation",
    "read_counts": "dcpf.readers",
}


def __getattr__(name: str) -> object:
    if name in ("distributed", "elements"):
        return importlib.import_module(f"dcpf.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'dcpf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
