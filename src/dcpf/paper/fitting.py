"""One job of the paper's experiments: a fit, its evaluation, and the record of both; and how long jobs will take."""

import math
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Self

from sklearn.exceptions import ConvergenceWarning

from dcpf.counts import Counts
from dcpf.evaluation import evaluate, log_likelihood
from dcpf.evaluation.metrics import METRICS
from dcpf.inference.vbem import converged
from dcpf.model import DCPF
from dcpf.paper.protocol import MODELS, Job, Protocol
from dcpf.progress import Iteration

_ITERATIONS = 200  # expected of a fit before any has finished; with tol 1e-5 most data need 150 to 300


@dataclass(frozen=True)
class FitRecord:
    """The result of a job."""

    job: Job
    parameters: dict[str, float]  # of the element, learned or given
    iterations: int
    converged: bool
    bound: float
    sessions_share: float  # the sum of E[n] over the sum of the training counts
    metrics: dict[str, dict[str, float]]  # of the test set: means by metric and threshold, NaN without relevant items
    fit_seconds: float
    judge_seconds: float
    trace: tuple[tuple[float, float], ...] = ()  # seconds and bound by iteration, of the first start

    @property
    def key(self) -> Job:
        """The job."""
        return self.job

    def ndcg(self, threshold: int) -> float:
        """Mean NDCG at this threshold."""
        return self.metrics["ndcg"][str(threshold)]

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """The record that a line of a journal holds."""
        metrics = {
            name: {at: math.nan if value is None else value for at, value in means.items()}
            for name, means in plain["metrics"].items()
        }
        trace = tuple((seconds, bound) for seconds, bound in plain["trace"])
        return cls(**{**plain, "job": Job(**plain["job"]), "metrics": metrics, "trace": trace})


@dataclass(frozen=True)
class JobRunner:
    """Does the jobs of a run: what they all share."""

    train: Counts
    test: Counts
    protocol: Protocol
    models: Path  # a folder for the models of the first start
    threads: int | None = None

    def model_of(self, job: Job) -> Path | None:
        """The file of a job's model. Only models of the first start are kept, for the figures."""
        if job.start > 0 or job.p is not None:
            return None
        name = job.model.lower().replace(". ", "-")
        return self.models / f"{name}-k{job.components}-alpha{job.alpha:g}.safetensors"

    def is_done(self, job: Job, records: Mapping[Any, FitRecord]) -> bool:
        """Whether the job has a record, and its model is there if it is to be kept."""
        path = self.model_of(job)
        return job in records and (path is None or path.exists())

    def warm_up(self) -> None:
        """Compile the kernels, so that the first fits are not timed with it."""
        for model in MODELS:
            DCPF.paper(1, model.element, max_iter=1, tol=0.0, n_jobs=self.threads, random_state=0).fit(self.train)

    def run(self, job: Job, watch: Callable[[Iteration], object] | None = None) -> FitRecord:
        """Fit, evaluate, and save the model if it is to be kept. `watch` gets each iteration."""
        trace: list[tuple[float, float]] = []
        began = time.perf_counter()
        model = self._fit(job, trace, watch)
        fitted = time.perf_counter()
        metrics = self._judge(model)
        judged = time.perf_counter()
        bounds = model.bounds_.tolist()
        path = self.model_of(job)
        if path is not None:
            model.save(path)
        return FitRecord(
            job=job,
            parameters=model.element_.parameters,
            iterations=model.n_iter_,
            converged=len(bounds) > 1 and converged(bounds[-2], bounds[-1], self.protocol.tol),
            bound=bounds[-1],
            sessions_share=float(model.sessions().data.sum()) / int(self.train.matrix.data.sum()),
            metrics=metrics,
            fit_seconds=fitted - began,
            judge_seconds=judged - fitted,
            trace=() if path is None else tuple(trace),
        )

    def _fit(self, job: Job, trace: list[tuple[float, float]], watch: Callable[[Iteration], object] | None) -> DCPF:
        def note(iteration: Iteration) -> None:
            trace.append((iteration.seconds, iteration.bound))
            if watch is not None:
                watch(iteration)

        model = DCPF.paper(
            job.components,
            job.element,
            shape_prior=job.alpha,
            learn_element=job.p is None,
            max_iter=self.protocol.max_iter,
            tol=self.protocol.tol,
            n_jobs=self.threads,
            random_state=self.protocol.seed + job.start,
            callback=note,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the tables show it
            model.fit(self.train)
        model.callback = None
        return model

    def _judge(self, model: DCPF) -> dict[str, dict[str, float]]:
        thresholds = self.protocol.thresholds
        result = evaluate(model, self.test, self.protocol.k, thresholds)
        likelihood = log_likelihood(model, self.test)
        return {
            **{name: {str(s): float(result.mean(name, s)) for s in thresholds} for name in METRICS},
            "coverage": {"": float(result.mean("coverage"))},
            "novelty": {"": float(result.mean("novelty"))},
            "log_likelihood": {"counts": likelihood.counts_per_entry, "occurrence": likelihood.occurrence_per_entry},
        }


class TimeLeft:
    """Estimates the seconds for jobs to come from finished ones.

    The time of an iteration is proportional to K, and a model needs as many iterations as from its other starts. It
    uses medians, since the first fit may compile, and the machine may be busy at times.
    """

    def __init__(self, records: Iterable[FitRecord] = ()) -> None:
        self._iterations: dict[str, list[int]] = defaultdict(list)
        self._paces: list[float] = []  # seconds per iteration and component
        self._judging: list[float] = []
        for record in records:
            self.add(record)

    def add(self, record: FitRecord) -> None:
        """Learn from a finished job."""
        self._iterations[record.job.model].append(record.iterations)
        self._paces.append(record.fit_seconds / (record.iterations * record.job.components))
        self._judging.append(record.judge_seconds)

    def of(self, jobs: Iterable[Job], iteration: int = 0, seconds: float = 0.0) -> float | None:
        """Seconds for these jobs, of which the first is at this iteration. None if nothing is known yet."""
        jobs = list(jobs)
        done = iteration * jobs[0].components if jobs else 0
        paces = self._paces or ([seconds / done] if done else [])
        if not paces:
            return None
        work = sum(self._expected(job) * job.components for job in jobs)
        judging = len(jobs) * median(self._judging) if self._judging else 0.0
        return max(work - done, 0.0) * median(paces) + judging

    def _expected(self, job: Job) -> float:
        seen = self._iterations.get(job.model) or [one for many in self._iterations.values() for one in many]
        return median(seen) if seen else _ITERATIONS
