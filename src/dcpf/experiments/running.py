"""Does one job: a fit, the ranking of the test set, and what is worth keeping of both."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from dcpf.counts import Counts
from dcpf.evaluation import evaluate, log_likelihood
from dcpf.evaluation.metrics import METRICS
from dcpf.experiments.journal import Record
from dcpf.inference.vbem import converged
from dcpf.model import DCPF
from dcpf.paper.protocol import MODELS, Job, Protocol
from dcpf.progress import Iteration

Watch = Callable[[Iteration], object]


@dataclass(frozen=True)
class Bench:
    """What all jobs of a run share."""

    train: Counts
    test: Counts
    protocol: Protocol
    models: Path  # a folder for the models of the first start
    threads: int | None = None

    def model_of(self, job: Job) -> Path | None:
        """The file of a job's model, if it is kept: for the figures, from the first start."""
        if job.start > 0 or job.p is not None:
            return None
        name = job.model.lower().replace(". ", "-")
        return self.models / f"{name}-k{job.components}-alpha{job.alpha:g}.safetensors"

    def is_done(self, job: Job, records: "dict[Job, Record]") -> bool:
        """Whether nothing is left to do for a job."""
        path = self.model_of(job)
        return job in records and (path is None or path.exists())

    def warm_up(self) -> None:
        """Let the kernels be compiled, so that the times of the first fits are theirs alone."""
        for model in MODELS:
            DCPF.paper(1, model.element, max_iter=1, tol=0.0, n_jobs=self.threads, random_state=0).fit(self.train)

    def run(self, job: Job, watch: Watch | None = None) -> Record:
        """Fit, evaluate, and save the model if it is kept. `watch` is told of each iteration."""
        trace: list[tuple[float, float]] = []
        began = time.perf_counter()
        model = self._fit(job, trace, watch)
        fitted = time.perf_counter()
        metrics = self._judge(model)
        judged = time.perf_counter()
        bounds = model.bounds_.tolist()
        sessions = float(model.sessions().data.sum())
        path = self.model_of(job)
        if path is not None:
            model.set_params(n_jobs=None).save(path)  # threads are of this run, not of the model
        return Record(
            job=job,
            parameters=model.element_.parameters,
            iterations=model.n_iter_,
            converged=len(bounds) > 1 and converged(bounds[-2], bounds[-1], self.protocol.tol),
            bound=bounds[-1],
            sessions_share=sessions / int(self.train.matrix.data.sum()),
            metrics=metrics,
            fit_seconds=fitted - began,
            judge_seconds=judged - fitted,
            trace=() if path is None else tuple(trace),
        )

    def _fit(self, job: Job, trace: list[tuple[float, float]], watch: Watch | None) -> DCPF:
        def told(iteration: Iteration) -> None:
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
            callback=told,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the tables mark it
            model.fit(self.train)
        model.callback = None
        return model

    def _judge(self, model: DCPF) -> dict[str, dict[str, float]]:
        found = evaluate(model, self.test, self.protocol.k, self.protocol.thresholds)
        by_threshold = {
            name: {str(s): float(found.mean(name, s)) for s in self.protocol.thresholds} for name in METRICS
        }
        likelihood = log_likelihood(model, self.test)
        return by_threshold | {
            "coverage": {"": float(found.mean("coverage"))},
            "novelty": {"": float(found.mean("novelty"))},
            "log_likelihood": {"counts": likelihood.counts_per_entry, "occurrence": likelihood.occurrence_per_entry},
        }
