"""How long a run will still take, from how long its fits took so far."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from dcpf.experiments.journal import Record
from dcpf.paper.protocol import Job

_ITERATIONS = 200  # of a fit, as long as none was seen; with tol 1e-5 it is 150 to 300 on many data


class Pace:
    """Seconds to come. An iteration takes as long as K is large, and a model as many as it took from other starts.

    Of what was seen the medians count: the first fit may have compiled, and a machine has other things to do.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._iterations: dict[str, list[int]] = defaultdict(list)
        self._paces: list[float] = []  # seconds of an iteration and component
        self._judging: list[float] = []
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Learn from a finished job."""
        self._iterations[record.job.model].append(record.iterations)
        self._paces.append(record.fit_seconds / (record.iterations * record.job.components))
        self._judging.append(record.judge_seconds)

    def left(self, jobs: Iterable[Job], iteration: int = 0, seconds: float = 0.0) -> float | None:
        """Seconds for these jobs, the first of which is under way. None as long as nothing is known."""
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
