"""What was found, one line of JSON for each fit, written at once: whatever ends a run, finished fits are kept."""

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from dcpf.experiments.lines import Lines
from dcpf.paper.protocol import Job


@dataclass(frozen=True)
class Record:
    """What came of a job."""

    job: Job
    parameters: dict[str, float]  # of the element, learned or given
    iterations: int
    converged: bool
    bound: float
    sessions_share: float  # E[n] behind the training counts, as a part of their sum
    metrics: dict[str, dict[str, float]]  # of the test set: means by metric and threshold; NaN where there is none
    fit_seconds: float
    judge_seconds: float
    trace: tuple[tuple[float, float], ...] = ()  # seconds and bound by iteration, of the first start

    def ndcg(self, threshold: int) -> float:
        """Mean NDCG at this threshold."""
        return self.metrics["ndcg"][str(threshold)]

    def to_line(self) -> bytes:
        """A line for the journal. JSON has no NaN: null stands for it."""
        plain = dataclasses.asdict(self)
        for means in plain["metrics"].values():
            means.update({at: None for at, value in means.items() if not math.isfinite(value)})
        return json.dumps(plain, allow_nan=False).encode() + b"\n"

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """The record that a line tells of."""
        metrics = {
            name: {at: math.nan if value is None else value for at, value in means.items()}
            for name, means in plain["metrics"].items()
        }
        trace = tuple((seconds, bound) for seconds, bound in plain["trace"])
        return cls(**{**plain, "job": Job(**plain["job"]), "metrics": metrics, "trace": trace})


class Journal(Lines):
    """The records of a run in a file."""

    way_out = "choose another folder (-o), or start over (--restart)"

    def __init__(self, path: Path, about: Mapping[str, Any], *, restart: bool = False) -> None:
        super().__init__(path, about, restart=restart)
        self.records: dict[Job, Record] = {}

    def add(self, record: Record) -> None:
        """Keep a record: it is on the disk when this returns."""
        self._append(record.to_line())
        self.records[record.job] = record

    def _take(self, plain: Any) -> None:
        record = Record.from_plain(plain)
        self.records[record.job] = record
