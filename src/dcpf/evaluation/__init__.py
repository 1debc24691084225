"""How well a model ranks and predicts held-out counts, and lists of fits by which models and settings are chosen.

`evaluate` takes anything that can recommend. Imports baselines, model and the rooms below.
"""

from dcpf.evaluation.judging import evaluate
from dcpf.evaluation.likelihood import Likelihood, log_likelihood
from dcpf.evaluation.result import Evaluation

__all__ = ["Evaluation", "Likelihood", "evaluate", "log_likelihood"]
