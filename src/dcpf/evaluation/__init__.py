"""How well a model ranks and predicts what it has not seen. Takes anything that can recommend.

May import model and the rooms below it.
"""

from dcpf.evaluation.judging import evaluate
from dcpf.evaluation.likelihood import Likelihood, log_likelihood
from dcpf.evaluation.result import Evaluation

__all__ = ["Evaluation", "Likelihood", "evaluate", "log_likelihood"]
