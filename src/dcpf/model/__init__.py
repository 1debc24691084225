"""The model: how it is fitted, what a fitted one answers, and its file. Imports rooms below it, and not readers."""

from typing import TYPE_CHECKING

from dcpf.model.files import load
from dcpf.model.fitted import FittedModel

if TYPE_CHECKING:
    from dcpf.model.estimator import DCPF

__all__ = ["DCPF", "FittedModel", "load"]


def __getattr__(name: str) -> object:
    if name == "DCPF":  # scikit-learn and the loop are imported for a fit, not for a question
        from dcpf.model.estimator import DCPF

        return DCPF
    raise AttributeError(f"module 'dcpf.model' has no attribute {name!r}")
