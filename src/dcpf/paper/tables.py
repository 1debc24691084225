"""The tables of the paper, made of the records of a run."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dcpf.evaluation.result_table import Cell, ResultTable
from dcpf.paper import protocol, published
from dcpf.paper.data_sets import DATA_SETS, DataSummary
from dcpf.paper.fitting import FitRecord
from dcpf.paper.protocol import MODELS, Job, PaperModel, Protocol

OPTIONAL = ("grid", "choice")  # tables of runs with a search

_BOLD = "Bold: the two best means of a column, as displayed."


@dataclass(frozen=True)
class Results:
    """All records of a run, looked up by model. `protocol` has the alpha and K that were chosen."""

    name: str  # of the data
    data: DataSummary  # before the split
    dataset: str | None  # name of the paper's data set, if it is one
    protocol: Protocol
    records: Mapping[Job, FitRecord]

    @property
    def of_paper(self) -> DataSummary | None:
        """The paper's summary of the data, if it is one of its sets."""
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
        """The largest threshold with any relevant items: its NDCG chooses the p of a grid search."""
        finite = (s for s in reversed(self.protocol.thresholds) if math.isfinite(self.ndcg(protocol.BINARY, s)[0]))
        return next(finite, self.protocol.thresholds[0])

    def best_p(self, model: PaperModel) -> float:
        """The p of the grid with the highest mean NDCG; of equal ones, the smallest."""
        means = {p: statistics.fmean(self.ndcg(model, self.deciding, p)) for p in model.grid}
        return max(means, key=lambda p: (means[p], -p))


def all_tables(results: Results) -> list[ResultTable]:
    """Every table that these results fill."""
    tables = [structure(results), scores(results)]
    if results.dataset in published.TABLE_4:
        tables.append(scores_of_small_data(results))
    tables.append(dispersion(results))
    if results.protocol.grid:
        tables.append(grid(results))
    if results.protocol.choose:
        tables.append(choice(results))
    return [*tables, fits(results)]


def structure(results: Results) -> ResultTable:
    """Table 2 of the paper: how large the data are."""
    ours, printed = results.data, results.of_paper
    rows = (
        (Cell("# rows"), Cell(ours.users, paper=getattr(printed, "users", None))),
        (Cell("# columns"), Cell(ours.items, paper=getattr(printed, "items", None))),
        (Cell("# non-zeros"), Cell(ours.entries, paper=getattr(printed, "entries", None))),
        (Cell("% non-zeros"), Cell(ours.share, 2, percent=True, paper=getattr(printed, "share", None))),
    )
    title = "Table 2. Structure of the data"
    return ResultTable("structure", title, ("", results.name), rows, _brackets(results, printed))


def scores(results: Results) -> ResultTable:
    """Table 3 of the paper: NDCG by model and threshold."""
    thresholds = results.protocol.thresholds
    printed = published.TABLE_3 if results.dataset == "taste-profile" else {}
    rows = []
    for model in MODELS:
        estimates: list[tuple[str, float | None]] = [("", None)] if model.is_limit else [("VBEM", None)]
        if results.protocol.grid and model.grid:
            estimates.append(("Grid", results.best_p(model)))
        for estimate, p in estimates:
            beside = printed.get((model.label, estimate))
            row = [Cell(_marked(results, model, p)), Cell(estimate or "."), *_parameters(results, model, p, beside)]
            for s in thresholds:
                mean, spread = beside.ndcg.get(s, (None, None)) if beside else (None, None)
                row.append(replace(_over_starts(results.ndcg(model, s, p)), paper=mean, paper_spread=spread))
            rows.append([replace(cell, italic=estimate == "Grid") for cell in row])
    columns = ("Model", "Est.", "p", "kappa", *(f"NDCG{s}" for s in thresholds))
    chosen = f"p has the best mean NDCG{results.deciding}, on the test set as in the paper."
    notes = (
        *_of_means(results),
        f"{_BOLD[:-1]}, grid search excluded." if results.protocol.grid else _BOLD,
        *((f"Italic: grid search; {chosen}",) if results.protocol.grid else ()),
        *_brackets(results, printed),
        *_unfinished(results, rows),
    )
    title = f"Table 3. NDCG@{results.protocol.k} of dcPF and PF, {results.name}"
    return ResultTable("scores", title, columns, _with_best(rows, first=4), notes)


def scores_of_small_data(results: Results) -> ResultTable:
    """Table 4, for NIPS and Last.fm."""
    printed = published.TABLE_4[results.dataset or ""]
    rows = []
    for model in MODELS:
        cells = [
            replace(_over_starts(results.ndcg(model, s)), paper=mean)
            for s, mean in zip((0, 1), printed[model.label], strict=True)
            if s in results.protocol.thresholds
        ]
        rows.append([Cell(_marked(results, model)), *cells])
    columns = ("Model", *(f"NDCG{s}" for s in (0, 1) if s in results.protocol.thresholds))
    notes = (*_of_means(results), _BOLD, *_brackets(results, printed), *_unfinished(results, rows))
    title = f"Table 4. NDCG@{results.protocol.k}, {results.name}"
    return ResultTable("scores_short", title, columns, _with_best(rows, first=1), notes)


def dispersion(results: Results) -> ResultTable:
    """The table of the appendix: the non-zero values, and the learned parameters."""
    ours, printed = results.data, results.of_paper
    printed_parameters = published.APPENDIX.get(results.dataset or "", {})
    rows = [
        (Cell("mean of non-zeros"), Cell(ours.mean, 2, paper=getattr(printed, "mean", None))),
        (Cell("var of non-zeros"), Cell(ours.variance, 2, paper=getattr(printed, "variance", None))),
        (Cell("ratio var/mean"), Cell(ours.ratio, 1, paper=getattr(printed, "ratio", None))),
    ]
    for model in MODELS:
        records = results.of(model)
        for name in records[0].parameters:
            learned = _over_starts([record.parameters[name] for record in records])
            symbol = {"a": "kappa_2"}.get(name, name)
            paper = printed_parameters.get((model.label, name))
            rows.append((Cell(f"{model.label} - {symbol}"), replace(learned, paper=paper, paper_digits=2)))
    notes = (*_of_means(results), *_brackets(results, printed), *_unfinished(results, rows))
    title = "Appendix. Dispersion of the non-zero values, and learned parameters"
    return ResultTable("dispersion", title, ("", results.name), tuple(rows), notes)


def grid(results: Results) -> ResultTable:
    """Every p that the grid search tried."""
    rows = []
    for model in MODELS:
        best = results.best_p(model) if model.grid else None
        for p in model.grid:
            cells = [_over_starts(results.ndcg(model, s, p)) for s in results.protocol.thresholds]
            mark = Cell("chosen" if p == best else "")
            rows.append((Cell(_marked(results, model, p)), Cell(f"{p:g}"), *cells, mark))
    columns = ("Model", "p", *(f"NDCG{s}" for s in results.protocol.thresholds), "")
    ends = "The least p of a model is PFraw, the largest PFbin."
    notes = (*_of_means(results), ends, *_unfinished(results, rows))
    return ResultTable("grid", "Grid search over p", columns, tuple(rows), notes)


def choice(results: Results) -> ResultTable:
    """Every alpha and K that was tried."""
    rows = []
    for tried in protocol.choices(results.protocol):
        mean = _over_starts([record.ndcg(0) for record in results.of(protocol.BINARY, at=tried)])
        mark = Cell("chosen" if tried == results.protocol else "")
        rows.append((Cell(tried.components), Cell(tried.alpha, 1), mean, mark))
    notes = (*_of_means(results), "Chosen by the mean NDCG0 of PFbin, on the test set as in the paper.")
    return ResultTable("choice", "Choice of K and alpha", ("K", "alpha", "NDCG0 of PFbin", ""), tuple(rows), notes)


def fits(results: Results) -> ResultTable:
    """How the fits went: iterations, bound, sessions per count, held-out likelihood."""
    rows = []
    for model in MODELS:
        records = results.of(model)
        heldout = [record.metrics["log_likelihood"] for record in records]
        rows.append(
            (
                Cell(_marked(results, model)),
                replace(_over_starts([record.iterations for record in records]), digits=0),
                Cell(f"{sum(record.converged for record in records)} of {len(records)}"),
                replace(_over_starts([record.bound for record in records]), digits=0),
                _over_starts([record.sessions_share for record in records]),
                _over_starts([likelihood["counts"] for likelihood in heldout]),
                _over_starts([likelihood["occurrence"] for likelihood in heldout]),
            )
        )
    columns = ("Model", "iterations", "converged", "bound", "sessions per count", "log-lik. counts", "log-lik. any")
    notes = (
        *_of_means(results),
        "Sessions per count: the sum of E[n] over the sum of the training counts.",
        "Held-out log-likelihood in nats for each test count, zeros included: of the counts, and of whether there is "
        "any. PFbin has no law of counts; its bound is of 1[y > 0] and does not compare with the others.",
    )
    return ResultTable("fits", "How the fits went", columns, tuple(rows), notes)


def _over_starts(values: Sequence[float]) -> Cell:
    mean = statistics.fmean(values)
    if not math.isfinite(mean):
        return Cell(None)
    return Cell(mean, spread=statistics.stdev(values) if len(values) > 1 else None)


def _parameters(
    results: Results, model: PaperModel, p: float | None, beside: published.Scores | None
) -> tuple[Cell, Cell]:
    """p and kappa; PF has neither."""
    if model.is_limit:
        return Cell("."), Cell(".")
    printed = beside.p if beside else None
    if p is not None:
        return Cell(f"{p:g}" if math.isinf(p) else p, 1, paper=printed), Cell("1")
    records = results.of(model)
    learned = Cell(statistics.fmean(record.parameters["p"] for record in records), paper=printed)
    if "a" not in records[0].parameters:
        return learned, Cell("1")
    shape = statistics.fmean(record.parameters["a"] for record in records)
    return learned, Cell(f"(1, {shape:.3f})", paper=published.TABLE_3_KAPPA if beside else None)


def _rounded(cell: Cell) -> float | None:
    """The mean as displayed, if it can be among the best."""
    return round(cell.value, cell.digits) if isinstance(cell.value, float) and not cell.italic else None


def _with_best(rows: list[list[Cell]], first: int) -> tuple[tuple[Cell, ...], ...]:
    """The rows, with the two best means of each column from `first` on in bold, compared as displayed."""
    for j in range(first, len(rows[0])):
        best = sorted({mean for row in rows if (mean := _rounded(row[j])) is not None})[-2:]
        for row in rows:
            row[j] = replace(row[j], bold=_rounded(row[j]) in best)
    return tuple(map(tuple, rows))


def _marked(results: Results, model: PaperModel, p: float | None = None) -> str:
    """The label, with a star if a fit did not converge."""
    return model.label + ("" if all(record.converged for record in results.of(model, p)) else "*")


def _of_means(results: Results) -> tuple[str, ...]:
    if results.protocol.starts == 1:
        return ("One random start.",)
    return (f"Means over {results.protocol.starts} random starts, ± their sample standard deviation.",)


def _brackets(results: Results, printed: object) -> tuple[str, ...]:
    """What brackets mean, if there are any, and whether the paper's data were different."""
    if not printed:
        return ()
    paper = results.of_paper
    if paper is None or 0.9 < results.data.entries / paper.entries < 1.1:
        return ("In brackets: the paper's number.",)
    return (
        f"In brackets: the paper's number, which is of other data: it had {paper.entries:,} non-zeros, and here are "
        f"{results.data.entries:,}.",
    )


def _unfinished(results: Results, shown: Iterable[Sequence[Cell]]) -> tuple[str, ...]:
    """What a star means, if there is one."""
    if not any(str(row[0].value).endswith("*") for row in shown):
        return ()
    return (f"* Not all starts converged within {results.protocol.max_iter:,} iterations (see the table of fits).",)
