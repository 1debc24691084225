"""What was found, one line of JSON for each fit, written at once: whatever ends a run, finished fits are kept."""

import dataclasses
import json
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from dcpf.experiments.protocol import Job

if sys.platform != "win32":
    import fcntl

FORMAT = 1


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


class Journal:
    """The records of a run in a file. Its first line says what the run is: data, settings, version.

    A last line that a killed run left unfinished is dropped. The file is locked while it is open.
    """

    def __init__(self, path: Path, about: Mapping[str, Any], *, restart: bool = False) -> None:
        self.path = path
        self.about = json.loads(json.dumps({"format": FORMAT, **about}, allow_nan=False))
        self.records: dict[Job, Record] = {}
        self._restart = restart
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        self._file = self.path.open("ab+")
        try:
            self._lock(self._file)
            if self._restart:
                self._file.truncate(0)
            self._file.seek(0)
            self._take_over(self._file)
        except BaseException:
            self._file.close()
            raise
        return self

    def add(self, record: Record) -> None:
        """Keep a record: it is on the disk when this returns."""
        self._append(record.to_line())
        self.records[record.job] = record

    def _append(self, line: bytes) -> None:
        assert self._file is not None
        self._file.write(line)
        self._file.flush()
        os.fsync(self._file.fileno())

    def _lock(self, file: BinaryIO) -> None:
        if sys.platform != "win32":
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(
                    f"{self.path} is being written by another run; wait for it, or choose another folder"
                ) from None

    def _take_over(self, file: BinaryIO) -> None:
        """Read what an earlier run has left, or begin."""
        whole = file.read()
        lines = whole.splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n"):
            file.truncate(len(whole) - len(lines.pop()))
        if not lines:
            self._append(json.dumps(self.about).encode() + b"\n")
            return
        self._check_same(self._parsed(lines[0], 1))
        for number, line in enumerate(lines[1:], start=2):
            try:
                record = Record.from_plain(self._parsed(line, number))
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                raise self._broken(number, error) from None
            self.records[record.job] = record

    def _parsed(self, line: bytes, number: int) -> Any:
        try:
            return json.loads(line)
        except ValueError as error:
            raise self._broken(number, error) from None

    def _broken(self, number: int, error: Exception) -> ValueError:
        return ValueError(
            f"{self.path}, line {number}: not what a run writes ({type(error).__name__}: {error}); "
            "choose another folder (-o), or start over (--restart)"
        )

    def _check_same(self, found: Any) -> None:
        """Refuse results of another run, and say in what they differ."""
        if not isinstance(found, dict):
            raise self._broken(1, ValueError("no description of a run"))
        names = [*self.about, *(name for name in found if name not in self.about)]
        differences = [
            f"{name} {found.get(name)!r} there, {self.about.get(name)!r} here"
            for name in names
            if found.get(name) != self.about.get(name)
        ]
        if differences:
            raise ValueError(
                f"{self.path} holds results of another run: {'; '.join(differences)}; choose another folder (-o), or "
                "start over (--restart)"
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
