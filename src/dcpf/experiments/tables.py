"""From records to the tables of the paper."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dcpf.evaluation.result_table import Cell, ResultTable
from dcpf.experiments import paper, protocol
from dcpf.experiments.protocol import MODELS, PaperModel
from dcpf.experiments.results import Results
from dcpf.readers.paper import Figures

OPTIONAL = ("grid", "choice")  # tables that only a run with a search has

_BOLD = "Bold: the two best means of a column, as displayed."


def all_tables(results: Results) -> list[ResultTable]:
    """Every table that these results are for."""
    tables = [structure(results), scores(results)]
    if results.dataset in paper.TABLE_4:
        tables.append(scores_of_small_data(results))
    tables.append(dispersion(results))
    if results.protocol.grid:
        tables.append(grid(results))
    if results.protocol.choose:
        tables.append(choice(results))
    return [*tables, fits(results)]


def structure(results: Results) -> ResultTable:
    """Table 2 of the paper: how large the data are."""
    ours, theirs = results.data, results.theirs
    rows = (
        (Cell("# rows"), Cell(ours.users, paper=_of(theirs, "users"))),
        (Cell("# columns"), Cell(ours.items, paper=_of(theirs, "items"))),
        (Cell("# non-zeros"), Cell(ours.entries, paper=_of(theirs, "entries"))),
        (Cell("% non-zeros"), Cell(ours.share, 2, percent=True, paper=_of(theirs, "share"))),
    )
    return ResultTable(
        "structure", "Table 2. Structure of the data", ("", results.name), rows, _brackets(results, theirs)
    )


def scores(results: Results) -> ResultTable:
    """Table 3 of the paper: NDCG by model and threshold."""
    thresholds = results.protocol.thresholds
    theirs = paper.TABLE_3 if results.dataset == "taste-profile" else {}
    rows = []
    for model in MODELS:
        estimates: list[tuple[str, float | None]] = [("", None)] if model.is_limit else [("VBEM", None)]
        if results.protocol.grid and model.grid:
            estimates.append(("Grid", results.best_p(model)))
        for estimate, p in estimates:
            beside = theirs.get((model.label, estimate))
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
        *_brackets(results, theirs),
        *_unfinished(results, rows),
    )
    title = f"Table 3. NDCG@{results.protocol.k} of dcPF and PF, {results.name}"
    return ResultTable("scores", title, columns, _with_best(rows, first=4), notes)


def scores_of_small_data(results: Results) -> ResultTable:
    """Table 4, for NIPS and Last.fm."""
    theirs = paper.TABLE_4[results.dataset or ""]
    rows = []
    for model in MODELS:
        cells = [
            replace(_over_starts(results.ndcg(model, s)), paper=mean)
            for s, mean in zip((0, 1), theirs[model.label], strict=True)
            if s in results.protocol.thresholds
        ]
        rows.append([Cell(_marked(results, model)), *cells])
    columns = ("Model", *(f"NDCG{s}" for s in (0, 1) if s in results.protocol.thresholds))
    notes = (*_of_means(results), _BOLD, *_brackets(results, theirs))
    title = f"Table 4. NDCG@{results.protocol.k}, {results.name}"
    return ResultTable(
        "scores_short", title, columns, _with_best(rows, first=1), (*notes, *_unfinished(results, rows))
    )


def dispersion(results: Results) -> ResultTable:
    """The appendix's table: the non-zero values, and the learned parameters."""
    ours, theirs, learned_there = results.data, results.theirs, paper.APPENDIX.get(results.dataset or "", {})
    rows = [
        (Cell("mean of non-zeros"), Cell(ours.mean, 2, paper=_of(theirs, "mean"))),
        (Cell("var of non-zeros"), Cell(ours.variance, 2, paper=_of(theirs, "variance"))),
        (Cell("ratio var/mean"), Cell(ours.ratio, 1, paper=_of(theirs, "ratio"))),
    ]
    for model in MODELS:
        records = results.of(model)
        for name in records[0].parameters:
            learned = _over_starts([record.parameters[name] for record in records])
            symbol = {"a": "kappa_2"}.get(name, name)
            beside = learned_there.get((model.label, name))
            rows.append((Cell(f"{model.label} - {symbol}"), replace(learned, paper=beside, paper_digits=2)))
    notes = (*_of_means(results), *_brackets(results, theirs), *_unfinished(results, rows))
    title = "Appendix. Dispersion of the non-zero values, and learned parameters"
    return ResultTable("dispersion", title, ("", results.name), tuple(rows), notes)


def grid(results: Results) -> ResultTable:
    """All that the grid search has tried."""
    rows = []
    for model in (one for one in MODELS if one.grid):
        best = results.best_p(model)
        for p in model.grid:
            cells = [_over_starts(results.ndcg(model, s, p)) for s in results.protocol.thresholds]
            mark = Cell("chosen" if p == best else "")
            rows.append((Cell(_marked(results, model, p)), Cell(f"{p:g}"), *cells, mark))
    columns = ("Model", "p", *(f"NDCG{s}" for s in results.protocol.thresholds), "")
    ends = "The least p of a model is PFraw, the largest PFbin."
    return ResultTable(
        "grid", "Grid search over p", columns, tuple(rows), (*_of_means(results), ends, *_unfinished(results, rows))
    )


def choice(results: Results) -> ResultTable:
    """What alpha and K were chosen from."""
    rows = []
    for one in protocol.choices(results.protocol):
        mean = _over_starts([record.ndcg(0) for record in results.of(protocol.BINARY, at=one)])
        mark = Cell("chosen" if one == results.protocol else "")
        rows.append((Cell(one.components), Cell(one.alpha, 1), mean, mark))
    notes = (*_of_means(results), "Chosen by the mean NDCG0 of PFbin, on the test set as in the paper.")
    return ResultTable("choice", "Choice of K and alpha", ("K", "alpha", "NDCG0 of PFbin", ""), tuple(rows), notes)


def fits(results: Results) -> ResultTable:
    """How the fits went: iterations, bound, what counts are read as, held-out likelihood."""
    rows = []
    for model in MODELS:
        records = results.of(model)
        heldout = [[one.metrics["log_likelihood"][of] for one in records] for of in ("counts", "occurrence")]
        rows.append(
            (
                Cell(_marked(results, model)),
                replace(_over_starts([one.iterations for one in records]), digits=0),
                Cell(f"{sum(one.converged for one in records)} of {len(records)}"),
                replace(_over_starts([one.bound for one in records]), digits=0),
                _over_starts([one.sessions_share for one in records]),
                *map(_over_starts, heldout),
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
    results: Results, model: PaperModel, p: float | None, beside: paper.Scores | None
) -> tuple[Cell, Cell]:
    """p and kappa. Of PF there are none."""
    if model.is_limit:
        return Cell("."), Cell(".")
    theirs = beside.p if beside else None
    if p is not None:
        return Cell(f"{p:g}" if math.isinf(p) else p, 1, paper=theirs), Cell("1")
    records = results.of(model)
    learned = Cell(statistics.fmean(one.parameters["p"] for one in records), paper=theirs)
    if "a" not in records[0].parameters:
        return learned, Cell("1")
    shape = statistics.fmean(one.parameters["a"] for one in records)
    return learned, Cell(f"(1, {shape:.3f})", paper=paper.TABLE_3_KAPPA if beside else None)


def _rounded(cell: Cell) -> float | None:
    """The mean as it is displayed, if it may be among the best."""
    return round(cell.value, cell.digits) if isinstance(cell.value, float) and not cell.italic else None


def _with_best(rows: list[list[Cell]], first: int) -> tuple[tuple[Cell, ...], ...]:
    """The rows with the two best means of each column from `first` on in bold; equal ones as they are displayed."""
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


def _of(figures: Figures | None, name: str) -> float | None:
    """A number of the paper, if it has one."""
    return None if figures is None else getattr(figures, name)


def _brackets(results: Results, theirs: object) -> tuple[str, ...]:
    """What brackets mean, if there are any; and if the paper's data were others."""
    if not theirs:
        return ()
    there = results.theirs
    if there is None or 0.9 < results.data.entries / there.entries < 1.1:
        return ("In brackets: the paper's number.",)
    return (
        f"In brackets: the paper's number, which is of other data: it had {there.entries:,} non-zeros, and here are "
        f"{results.data.entries:,}.",
    )


def _unfinished(results: Results, shown: Iterable[Sequence[Cell]]) -> tuple[str, ...]:
    """What a star means, if there is one."""
    if not any(str(row[0].value).endswith("*") for row in shown):
        return ()
    return (f"* Not all starts converged within {results.protocol.max_iter:,} iterations (see the table of fits).",)
