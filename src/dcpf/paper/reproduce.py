"""The paper's experiments on any counts: run what is missing, then write tables and figures."""

import dataclasses
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dcpf
from dcpf.counts import Counts
from dcpf.evaluation.result_table import Cell, ResultTable, to_csv, to_latex, to_markdown
from dcpf.evaluation.runs import Journal
from dcpf.model.fitted import describe_data
from dcpf.paper import protocol
from dcpf.paper.data_sets import DataSummary, find
from dcpf.paper.fitting import FitRecord, JobRunner, TimeLeft
from dcpf.paper.protocol import Job, Protocol
from dcpf.paper.tables import OPTIONAL, Results, all_tables
from dcpf.progress import Iteration
from dcpf.store import replacing

JOURNAL = "runs.jsonl"


@dataclass(frozen=True)
class Standing:
    """The progress of a run."""

    done: int  # jobs, including those of an earlier run
    total: int
    job: Job
    iteration: int
    seconds: float  # since this run began
    left: float | None  # seconds, if they can be estimated
    record: FitRecord | None = None  # of the job, once it is finished


@dataclass(frozen=True)
class Reproduction:
    """The results of a run, and the files that they were written to."""

    folder: Path
    results: Results
    tables: tuple[ResultTable, ...]
    files: tuple[Path, ...]
    notes: tuple[str, ...]  # on what was left out, and how to get it

    def to_dict(self) -> dict[str, Any]:
        """The same as plain numbers, strings, lists and dicts."""
        return {
            "folder": str(self.folder),
            "protocol": dataclasses.asdict(self.results.protocol),
            "data": {"name": self.results.name, **dataclasses.asdict(self.results.data)},
            "tables": {table.name: _plain(table) for table in self.tables},
            "files": [str(path) for path in self.files],
            "notes": list(self.notes),
        }


def reproduce(
    counts: Any,
    folder: str | Path,
    settings: Protocol | None = None,
    *,
    name: str = "counts",
    dataset: str | None = None,
    threads: int | None = None,
    restart: bool = False,
    figures: bool = True,
    watch: Callable[[Standing], object] | None = None,
) -> Reproduction:
    """Compare PF and dcPF on these counts as the paper does, and write tables and figures into a folder.

    Each finished fit is kept in the folder at once, so you can stop a run and resume it later. The same counts,
    settings and seed give the same tables, byte for byte; times are in a file of their own.

    Parameters
    ----------
    counts : Counts, table or matrix
        All counts; this function splits them.
    folder : path
        Where results go: a new or empty folder, or that of an earlier run with the same counts and settings.
    settings : Protocol
        By default the paper's with K = 50. The paper has K = 100 for Taste Profile: `Protocol(components=100)`.
    name : str
        Name of the data in the tables.
    dataset : "taste-profile", "nips", "lastfm" or None
        If it is a data set of the paper, the tables show the paper's numbers as well.
    threads : int or None
        Threads; None for all cores.
    restart : bool
        Delete the results of an earlier run in the folder.
    figures : bool
        Draw figures as well, if matplotlib is installed.
    watch : callable
        Called with a `Standing` after each iteration and each job.
    """
    if dataset is not None:
        find(dataset)  # or an error, before any work
    settings = settings or Protocol()
    whole = Counts.of(counts)
    train, test = whole.split(settings.test_fraction, settings.seed)
    folder = _made(Path(folder))
    about = {"version": dcpf.__version__, **settings.fixed(), "data": describe_data(whole.matrix)["checksum"]}
    runner = JobRunner(train, test, settings, folder / "models", threads)
    way_out = "choose another folder, or start over with restart=True"
    with Journal(folder / JOURNAL, FitRecord, about, way_out=way_out, restart=restart) as journal:
        run, choosing = _Run(runner, journal, watch), list[Job]()
        if settings.choose:
            choosing = protocol.choice_jobs(settings)
            run.do(choosing, beside=protocol.jobs(_largest(settings)))
            settings = chosen(settings, journal.records)
        run.do(protocol.jobs(settings), beside=choosing)
    results = Results(name, DataSummary.of(whole), dataset, settings, journal.records)
    tables = tuple(all_tables(results))
    files, notes = _write_tables(folder, tables, results), list[str]()
    if figures:
        from dcpf.paper.drawing import draw_all

        drawn, notes = draw_all(folder / "figures", results, runner)
        files += drawn
    return Reproduction(folder, results, tables, tuple(files), tuple(notes))


class _Run:
    """Does the jobs that are not in the journal yet, and reports progress."""

    def __init__(
        self, runner: JobRunner, journal: Journal[FitRecord], watch: Callable[[Standing], object] | None
    ) -> None:
        self._runner, self._journal, self._watch = runner, journal, watch
        self._time_left = TimeLeft(journal.records.values())
        self._began, self._warm = time.perf_counter(), False

    def do(self, jobs: list[Job], beside: list[Job]) -> None:
        """Do these jobs in turn. Those in `beside` are not done now, but counted."""
        every = list(dict.fromkeys([*jobs, *beside]))
        missing = [job for job in every if not self._runner.is_done(job, self._journal.records)]
        due = [job for job in jobs if job in set(missing)]
        if due and not self._warm:
            self._runner.warm_up()
            self._warm = True
        for j, job in enumerate(due):
            left = [*due[j:], *(one for one in missing if one not in set(due))]
            report = partial(self._report, job, len(every), left)
            record = self._runner.run(job, report)
            self._journal.add(record)
            self._time_left.add(record)
            self._report(job, len(every), left[1:], record=record)

    def _report(
        self, job: Job, total: int, left: list[Job], at: Iteration | None = None, record: FitRecord | None = None
    ) -> None:
        if self._watch is None:
            return
        number, seconds = (at.number, at.seconds) if at is not None else (0, 0.0)
        expected = self._time_left.of(left, number, seconds)
        elapsed = time.perf_counter() - self._began
        iterations = record.iterations if record is not None else number
        self._watch(Standing(total - len(left), total, job, iterations, elapsed, expected, record))


def chosen(settings: Protocol, records: dict[Job, FitRecord]) -> Protocol:
    """The alpha and K with the highest mean NDCG0 of PFbin, the first of equal ones."""
    starts = range(settings.starts)

    def mean(one: Protocol) -> float:
        ndcg = statistics.fmean(records[protocol.job(one, protocol.BINARY, start)].ndcg(0) for start in starts)
        return ndcg if math.isfinite(ndcg) else -math.inf

    return max(protocol.choices(settings), key=mean)


def _largest(settings: Protocol) -> Protocol:
    """The largest alpha and K that may be chosen, so that the estimate is not too short."""
    return dataclasses.replace(settings, components=protocol.SIZES[-1], alpha=protocol.ALPHAS[-1])


def _made(folder: Path) -> Path:
    """A folder for results. One with other files in it is refused."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder for the results")
    if folder.is_dir() and not (folder / JOURNAL).exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty and holds no run ({JOURNAL}); choose another folder (-o)")
    (folder / "models").mkdir(parents=True, exist_ok=True)
    return folder


def _write_tables(folder: Path, tables: tuple[ResultTable, ...], results: Results) -> list[Path]:
    """All tables in one Markdown file, each as CSV and LaTeX, and the times of the fits in another file."""
    texts = {"tables.md": "\n".join([_about(results), *map(to_markdown, tables)])}
    for table in tables:
        texts |= {f"{table.name}.csv": to_csv(table), f"{table.name}.tex": to_latex(table)}
    texts["times.csv"] = _times(results)
    for stale in {f"{name}{end}" for name in OPTIONAL for end in (".csv", ".tex")} - set(texts):
        (folder / stale).unlink(missing_ok=True)  # of an earlier run with a search
    for name, text in texts.items():
        with replacing(folder / name) as draft:
            draft.write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in texts]


def _about(results: Results) -> str:
    """How the numbers were made."""
    used = results.protocol
    lines = [
        "# The experiments of the paper",
        "",
        f"dcpf {dcpf.__version__}: {1.0 - used.test_fraction:.0%} of the non-zeros to learn from, "
        f"{used.test_fraction:.0%} to test with (seed {used.seed}), K = {used.components}, alpha = {used.alpha:g}, "
        f"{used.starts} random starts (random_state {used.seed} to {used.seed + used.starts - 1}), stopped when the "
        f"bound rises by less than {used.tol:g} of its size, lists of {used.k}.",
    ]
    return "\n".join(lines) + "\n"


def _times(results: Results) -> str:
    rows = [("model", "p", "K", "alpha", "start", "iterations", "fit seconds", "evaluation seconds")]
    used = results.protocol
    wanted = [*(protocol.choice_jobs(used) if used.choose else ()), *protocol.jobs(used)]
    for job in dict.fromkeys(wanted):
        one, p = results.records[job], "" if job.p is None else f"{job.p:g}"
        seconds = f"{one.fit_seconds:.3f}", f"{one.judge_seconds:.3f}"
        rows.append(
            (job.model, p, str(job.components), f"{job.alpha:g}", str(job.start), str(one.iterations), *seconds)
        )
    return "".join(",".join(row) + "\n" for row in rows)


def _plain(table: ResultTable) -> dict[str, Any]:
    return {
        "title": table.title,
        "columns": list(table.columns),
        "rows": [[_plain_cell(cell) for cell in row] for row in table.rows],
        "notes": list(table.notes),
    }


def _plain_cell(cell: Cell) -> Any:
    if cell.spread is None and cell.paper is None:
        return cell.value
    return {"value": cell.value, "sd": cell.spread, "paper": cell.paper, "paper_sd": cell.paper_spread}
