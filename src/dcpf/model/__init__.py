"""DCPF: the estimator and all it can do once it is fitted. Imports only rooms below it, and not readers."""

from dcpf.model.estimator import DCPF
from dcpf.model.saving import load

__all__ = ["DCPF", "load"]
