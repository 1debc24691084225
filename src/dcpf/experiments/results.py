"""All that a run has found, to be asked by model."""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from dcpf.experiments import protocol
from dcpf.experiments.fitting import FitRecord
from dcpf.experiments.protocol import Job, PaperModel, Protocol
from dcpf.readers.paper import DATA_SETS, Figures


@dataclass(frozen=True)
class Results:
    """All records of a run, to be asked by model. `protocol` has the alpha and K that were chosen."""

    name: str  # of the data
    data: Figures  # before the split
    dataset: str | None  # of the paper's, by its name there
    protocol: Protocol
    records: Mapping[Job, FitRecord]

    @property
    def theirs(self) -> Figures | None:
        """What the paper says of the data, if it is one of its sets."""
        return None if self.dataset is None else DATA_SETS[self.dataset].paper

    def of(self, model: PaperModel, p: float | None = None, at: Protocol | None = None) -> list[FitRecord]:
        """One record for each start."""
        at = at or self.protocol
        return [self.records[protocol.job(at, model, start, p)] for start in range(at.starts)]

    def ndcg(self, model: PaperModel, threshold: int, p: float | None = None) -> list[float]:
        """Mean NDCG of each start."""
        return [record.ndcg(threshold) for record in self.of(model, p)]

    @property
    def deciding(self) -> int:
        """The largest threshold at which there is anything to find: by its NDCG the p of a grid search is chosen."""
        found = (s for s in reversed(self.protocol.thresholds) if math.isfinite(self.ndcg(protocol.BINARY, s)[0]))
        return next(found, self.protocol.thresholds[0])

    def best_p(self, model: PaperModel) -> float:
        """The p of the grid with the highest mean NDCG, the smallest of them if several have it."""
        means = {p: statistics.fmean(self.ndcg(model, self.deciding, p)) for p in model.grid}
        return max(means, key=lambda p: (means[p], -p))
