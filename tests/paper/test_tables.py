"""The numbers of the tables are those of the records, put together by hand here."""

import csv
import io
import math
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.paper.small import SETTINGS, lines, plays, run

from dcpf.evaluation.result_table import Cell, ResultTable, to_csv, to_latex, to_markdown
from dcpf.paper import protocol
from dcpf.paper.reproduce import Reproduction
from dcpf.paper.tables import Results, all_tables, scores

LEARNED = ["Log", "ZTP", "Geo", "Sh. NB"]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return run(tmp_path_factory.mktemp("searched"), settings=replace(SETTINGS, grid=True))


def named(done: Reproduction, name: str) -> ResultTable:
    return next(table for table in done.tables if table.name == name)


def ndcg(done: Reproduction, model: str, threshold: int, p: float | None = None) -> list[float]:
    """From the journal."""
    return [
        one["metrics"]["ndcg"][str(threshold)]
        for one in lines(done.folder)
        if (one["job"]["model"], one["job"]["p"]) == (model, p)
    ]


def changed(results: Results, change: Callable[[str, int], dict[str, float]]) -> Results:
    """The same with other NDCG, by model and start."""
    records = {
        job: replace(record, metrics=record.metrics | {"ndcg": change(job.model, job.start)})
        for job, record in results.records.items()
    }
    return replace(results, records=records)


def test_table_2_is_about_the_data(done: Reproduction) -> None:
    matrix = plays().matrix
    assert [row[1].value for row in named(done, "structure").rows] == [60, 40, matrix.nnz, matrix.nnz / 2400]


def test_table_3_has_means_and_spreads_over_starts(done: Reproduction) -> None:
    table = named(done, "scores")
    assert table.columns == ("Model", "Est.", "p", "kappa", "NDCG0", "NDCG1", "NDCG2", "NDCG5")
    assert [row[0].value for row in table.rows] == [*LEARNED, "PFraw", "PFbin"]
    for row in table.rows:
        for cell, s in zip(row[4:], (0, 1, 2, 5), strict=True):
            values = ndcg(done, str(row[0].value), s)
            assert len(values) == 2
            assert cell.value == pytest.approx(sum(values) / 2)
            assert cell.spread == pytest.approx(abs(values[0] - values[1]) / math.sqrt(2))


def test_learned_parameters_are_means_over_starts(done: Reproduction) -> None:
    learned = {model: [one["parameters"] for one in lines(done.folder) if one["job"]["model"] == model]
               for model in LEARNED}  # fmt: skip
    rows = named(done, "scores").rows
    for row in rows[:4]:
        assert row[2].value == pytest.approx(statistics.fmean(one["p"] for one in learned[str(row[0].value)]))
    shape = statistics.fmean(one["a"] for one in learned["Sh. NB"])
    assert [row[3].value for row in rows] == ["1", "1", "1", f"(1, {shape:.3f})", ".", "."]
    appendix = {row[0].value: row[1] for row in named(done, "dispersion").rows}
    assert appendix["Sh. NB - kappa_2"].value == pytest.approx(shape)
    assert appendix["Geo - p"].spread == pytest.approx(statistics.stdev(one["p"] for one in learned["Geo"]))
    values = plays().matrix.data
    assert appendix["mean of non-zeros"].value == pytest.approx(values.mean())
    assert appendix["ratio var/mean"].value == pytest.approx(values.var() / values.mean())


def test_the_two_best_means_as_displayed_are_bold(done: Reproduction) -> None:
    means = {"Log": 0.2004, "ZTP": 0.1996, "Geo": 0.1994, "Sh. NB": 0.1, "PFraw": 0.3, "PFbin": 0.0}
    table = scores(changed(done.results, lambda model, _: dict.fromkeys("0125", means[model])))
    assert [row[4].bold for row in table.rows] == [True, True, False, False, True, False]
    assert not any(cell.bold for row in table.rows for cell in row[:4])


def test_where_nobody_has_a_relevant_item_there_is_no_number(done: Reproduction) -> None:
    table = scores(changed(done.results, lambda *_: {"0": 0.5, "1": 0.5, "2": 0.5, "5": math.nan}))
    assert [(row[7].value, row[7].bold) for row in table.rows] == [(None, False)] * 6
    assert table.rows[0][7].texts() == ("-", "")


def test_one_start_has_no_spread(tmp_path: Path) -> None:
    found = run(tmp_path / "one", settings=replace(SETTINGS, starts=1))
    assert all(row[4].spread is None for row in named(found, "scores").rows)
    assert "One random start." in named(found, "scores").notes


def test_fits_that_did_not_converge_are_marked(done: Reproduction, tmp_path: Path) -> None:
    assert not any("*" in str(row[0].value) for row in named(done, "scores").rows)
    found = run(tmp_path / "short", settings=replace(SETTINGS, max_iter=2, starts=1))
    assert [row[0].value for row in named(found, "scores").rows] == [
        f"{one}*" for one in (*LEARNED, "PFraw", "PFbin")
    ]
    assert named(found, "scores").notes[-1].startswith("* Not all starts converged within 2 iterations")
    assert {row[2].value for row in named(found, "fits").rows} == {"0 of 1"}


def test_grid_search_takes_the_p_with_the_best_ndcg_at_the_largest_threshold(searched: Reproduction) -> None:
    rows = {(row[0].value, row[1].value): row for row in named(searched, "scores").rows}
    assert list(rows) == [(m, e) for m in LEARNED[:3] for e in ("VBEM", "Grid")] + [
        ("Sh. NB", "VBEM"), ("PFraw", "."), ("PFbin", "."),
    ]  # fmt: skip
    tenths = [j / 10 for j in range(11)]
    for model, tried in (("Log", tenths), ("Geo", tenths), ("ZTP", [0.0, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0, math.inf])):
        ends = {tried[0]: "PFraw", tried[-1]: "PFbin"}
        found = {p: _tried(searched, model, p, ends) for p in tried}
        best = max(found, key=lambda p: statistics.fmean(found[p]))
        row = rows[model, "Grid"]
        assert row[2].value == (best if math.isfinite(best) else "inf")
        assert row[7].value == pytest.approx(statistics.fmean(found[best]))
        assert all(cell.italic and not cell.bold for cell in row)


def _tried(done: Reproduction, model: str, p: float, ends: dict[float, str]) -> list[float]:
    return ndcg(done, ends[p], 5) if p in ends else ndcg(done, model, 5, p)


def test_grid_search_never_repeats_poisson_factorization(searched: Reproduction) -> None:
    jobs = [(one["job"]["model"], one["job"]["p"], one["job"]["start"]) for one in lines(searched.folder)]
    assert len(jobs) == len(set(jobs)) == 2 * (6 + 9 + 9 + 6)
    assert {p for model, p, _ in jobs if model == "ZTP"} == {None, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0}


def test_all_that_was_tried_is_in_a_table_with_one_choice_for_each_model(searched: Reproduction) -> None:
    table = named(searched, "grid")
    assert len(table.rows) == 11 + 8 + 11
    for model in ("Log", "ZTP", "Geo"):
        rows = [row for row in table.rows if row[0].value == model]
        (chosen,) = (row for row in rows if row[-1].value == "chosen")
        assert chosen[-2].value == max(row[-2].value for row in rows)  # type: ignore[type-var]
    raw = ndcg(searched, "PFraw", 1)
    assert table.rows[0][3].value == pytest.approx(statistics.fmean(raw))


def test_a_given_p_is_not_learned(searched: Reproduction) -> None:
    for one in lines(searched.folder):
        if one["job"]["p"] is not None:
            assert one["parameters"] == {"p": one["job"]["p"]}


@pytest.mark.parametrize("dataset", ["nips", "lastfm"])
def test_table_4_is_for_the_small_data_sets_with_the_papers_numbers(done: Reproduction, dataset: str) -> None:
    tables = {table.name: table for table in all_tables(replace(done.results, dataset=dataset))}
    short = tables["scores_short"]
    assert short.columns == ("Model", "NDCG0", "NDCG1")
    assert short.rows[3][1].paper == {"nips": 0.396, "lastfm": 0.143}[dataset]
    assert [row[1].value for row in short.rows] == [row[4].value for row in tables["scores"].rows]
    assert not any(cell.paper for row in tables["scores"].rows for cell in row)
    assert tables["structure"].rows[1][1].paper == {"nips": 11_463, "lastfm": 11_172}[dataset]
    assert any("which is of other data" in note for note in tables["structure"].notes)


def test_the_papers_numbers_stand_beside_those_of_taste_profile(done: Reproduction) -> None:
    tables = {table.name: table for table in all_tables(replace(done.results, dataset="taste-profile"))}
    assert "scores_short" not in tables
    log = tables["scores"].rows[0]
    assert (log[2].paper, log[4].paper, log[4].paper_spread) == (0.803, 0.200, 0.003)
    beside = {row[0].value: row[1].paper for row in tables["dispersion"].rows}
    assert beside["Sh. NB - kappa_2"] == 0.21
    assert beside["var of non-zeros"] == 25.94


def test_without_a_data_set_of_the_paper_nothing_stands_beside(done: Reproduction) -> None:
    assert not any(cell.paper for table in done.tables for row in table.rows for cell in row)


def test_csv_has_all_digits_and_columns_of_their_own_for_spread_and_paper(done: Reproduction) -> None:
    table = next(one for one in all_tables(replace(done.results, dataset="taste-profile")) if one.name == "scores")
    rows = list(csv.DictReader(io.StringIO(to_csv(table))))
    for row, cells in zip(rows, table.rows, strict=True):
        assert float(row["NDCG1"]) == cells[5].value
        assert float(row["NDCG1 sd"]) == cells[5].spread
        assert float(row["NDCG1 paper"]) == cells[5].paper
        assert float(row["NDCG1 paper sd"]) == cells[5].paper_spread
    assert rows[3]["kappa paper"] == "(1, 0.2)"
    assert "Est. sd" not in rows[0]


HOSTILE = ResultTable(
    "hostile",
    "50% of A_B & C | <d> #1",
    ("x^2", "{y}\n~"),
    ((Cell("a\\b|c"), Cell(0.5, 2, spread=0.25, paper=0.75, bold=True)), (Cell("*_$"), Cell(1_234, italic=True))),
    ("E[n] ± 1",),
)


def test_markdown_escapes_what_would_be_markup() -> None:
    assert to_markdown(HOSTILE) == (
        "## 50% of A\\_B & C \\| \\<d\\> \\#1\n\n"
        "| x^2 | \\{y\\} \\~ |\n| --- | --- |\n"
        "| a\\\\b\\|c | **0.50 ± 0.250** \\[0.75\\] |\n"
        "| \\*\\_$ | *1,234* |\n\n"
        "E\\[n\\] ± 1\n"
    )


def test_latex_escapes_what_would_be_commands() -> None:
    text = to_latex(HOSTILE)
    assert r"\caption{50\% of A\_B \& C $|$ $<$d$>$ \#1. E[n] $\pm$ 1}" in text
    assert r"x\textasciicircum{}2 & \{y\} \textasciitilde{} \\" in text
    assert r"a\textbackslash{}b$|$c & \textbf{0.50 $\pm$ 0.250} [0.75] \\" in text
    assert r"*\_\$ & \textit{1,234} \\" in text
    assert text.count("{") == text.count("}")


def test_shown_numbers_have_the_digits_that_were_asked_for() -> None:
    assert Cell(0.0461, 2, percent=True, paper=0.0606).texts() == ("4.61%", "[6.06%]")
    assert Cell(0.8049, spread=0.00126, paper=0.8, paper_digits=2).texts() == ("0.805 ± 0.0013", "[0.80]")
    assert Cell("inf", paper=1.0, digits=1).texts() == ("inf", "[1.0]")


def test_a_limit_that_wins_the_grid_is_named(searched: Reproduction) -> None:
    model = protocol.MODELS[1]
    best = {"PFbin": 1.0}
    results = changed(searched.results, lambda name, _: dict.fromkeys("0125", best.get(name, 0.5)))
    assert results.best_p(model) == math.inf
    row = next(row for row in scores(results).rows if (row[0].value, row[1].value) == ("ZTP", "Grid"))
    assert (row[2].value, row[4].value) == ("inf", 1.0)
