"""One metric is one small file: from lists whose hits are known to one number for each user."""

from collections.abc import Callable

from dcpf.evaluation.metrics.auc import auc
from dcpf.evaluation.metrics.average_precision import average_precision
from dcpf.evaluation.metrics.coverage import coverage
from dcpf.evaluation.metrics.hit_rate import hit_rate
from dcpf.evaluation.metrics.judged import Floats, Judged
from dcpf.evaluation.metrics.ndcg import ndcg
from dcpf.evaluation.metrics.novelty import novelty
from dcpf.evaluation.metrics.precision import precision
from dcpf.evaluation.metrics.recall import recall
from dcpf.evaluation.metrics.reciprocal_rank import reciprocal_rank

METRICS: dict[str, Callable[[Judged], Floats]] = {
    "ndcg": ndcg,
    "precision": precision,
    "recall": recall,
    "map": average_precision,
    "mrr": reciprocal_rank,
    "hit_rate": hit_rate,
    "auc": auc,
}
"""The metrics that depend on what is relevant, by the names under which they are reported."""

__all__ = ["METRICS", "Floats", "Judged", "coverage", "novelty"]
