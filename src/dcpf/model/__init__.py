"""DCPF: the estimator and all it can do once it is fitted. May import everything but cli, readers and __main__."""

from dcpf.model.estimator import DCPF
from dcpf.model.saving import load

__all__ = ["DCPF", "load"]
