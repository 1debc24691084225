"""A run does each fit once, goes on where it was stopped, refuses other data, and gives the same tables each time."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.paper.small import SETTINGS, lines, plays, run, tables

import dcpf
from dcpf.evaluation import evaluate, log_likelihood
from dcpf.paper import figures, fitting, protocol
from dcpf.paper.fitting import FitRecord, TimeLeft
from dcpf.paper.protocol import Job
from dcpf.paper.reproduce import Reproduction, Standing


class StopError(Exception):
    """What stands for a run that ends in the middle."""


def test_a_record_is_what_the_library_gives_for_the_same_split_and_start(done: Reproduction) -> None:
    train, test = plays().split(0.2, seed=4)
    model = dcpf.DCPF.paper(3, "log", random_state=5, max_iter=300, tol=1e-3).fit(train)
    found = next(one for one in lines(done.folder) if one["job"]["model"] == "Log" and one["job"]["start"] == 1)
    expected = evaluate(model, test, 10, (0, 1, 2, 5))
    assert found["parameters"] == {"p": model.element_.p}
    assert (found["iterations"], found["bound"]) == (model.n_iter_, model.bounds_[-1])
    for metric in ("ndcg", "precision", "recall", "map", "mrr", "hit_rate", "auc"):
        assert found["metrics"][metric] == {str(s): expected.mean(metric, s) for s in (0, 1, 2, 5)}
    assert found["metrics"]["coverage"] == {"": expected.coverage}
    assert found["metrics"]["log_likelihood"]["counts"] == log_likelihood(model, test).counts_per_entry
    assert found["sessions_share"] == pytest.approx(model.sessions().sum() / train.matrix.sum())


def test_every_model_is_fitted_once_from_every_start(done: Reproduction) -> None:
    jobs = [(one["job"]["model"], one["job"]["start"]) for one in lines(done.folder)]
    models = ["Log", "ZTP", "Geo", "Sh. NB", "PFraw", "PFbin"]
    assert jobs == [(model, start) for start in (0, 1) for model in models]


def test_first_starts_leave_their_model_and_the_course_of_the_bound(done: Reproduction) -> None:
    assert len(list((done.folder / "models").iterdir())) == 6
    model = dcpf.load(done.folder / "models" / "geo-k3-alpha0.3.safetensors")
    record = next(one for one in lines(done.folder) if one["job"]["model"] == "Geo")
    assert record["parameters"] == model.element.parameters
    assert [bound for _, bound in record["trace"]] == model.facts.bounds.tolist()
    assert all(one["trace"] == [] for one in lines(done.folder) if one["job"]["start"] == 1)


def test_the_same_again_gives_the_same_bytes(done: Reproduction, tmp_path: Path) -> None:
    run(tmp_path / "again", threads=2)
    assert tables(tmp_path / "again") == tables(done.folder)


@pytest.mark.parametrize("at_job", [1, 5, 12])
def test_a_run_that_fails_within_a_fit_goes_on_where_it_was(done: Reproduction, tmp_path: Path, at_job: int) -> None:
    def stop(now: Standing) -> None:
        if now.done == at_job - 1 and now.record is None and now.iteration == 2:
            raise StopError

    with pytest.raises(StopError):
        run(tmp_path / "stopped", watch=stop)
    assert len(lines(tmp_path / "stopped")) == at_job - 1
    second: list[Standing] = []
    run(tmp_path / "stopped", watch=second.append)
    assert [now.done for now in second if now.record is not None] == list(range(at_job, 13))
    assert tables(tmp_path / "stopped") == tables(done.folder)


@pytest.mark.parametrize("cut", [1, 40, 2000])
def test_a_line_that_was_cut_off_is_dropped_and_done_again(done: Reproduction, tmp_path: Path, cut: int) -> None:
    torn = _copied(done, tmp_path)
    whole = (torn / "runs.jsonl").read_bytes()
    (torn / "runs.jsonl").write_bytes(whole[:-cut])
    kept = whole[:-cut].count(b"\n")
    ran: list[Standing] = []
    run(torn, watch=ran.append)
    assert sum(now.record is not None for now in ran) == 13 - kept
    assert (torn / "runs.jsonl").read_bytes().startswith(b"".join(whole.splitlines(keepends=True)[:kept]))
    assert tables(torn) == tables(done.folder)


def test_a_finished_run_fits_nothing_more(
    done: Reproduction, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        pytest.fail("a model was fitted")

    monkeypatch.setattr(fitting.DCPF, "fit", fail)
    run(_copied(done, tmp_path))


def test_a_model_that_is_missing_is_fitted_again(done: Reproduction, tmp_path: Path) -> None:
    folder = _copied(done, tmp_path)
    lost = folder / "models" / "pfraw-k3-alpha0.3.safetensors"
    before = lost.read_bytes()
    lost.unlink()
    ran: list[Standing] = []
    run(folder, watch=ran.append)
    assert {now.job.model for now in ran} == {"PFraw"}
    assert lost.read_bytes() == before
    assert tables(folder) == tables(done.folder)


def test_other_data_settings_and_versions_are_refused_by_name(
    done: Reproduction, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _copied(done, tmp_path)
    before = (folder / "runs.jsonl").read_bytes()
    with pytest.raises(
        ValueError, match=r"another run: data '\w+' there, '\w+' here; .*another folder.*restart=True"
    ):
        run(folder, plays(seed=1))
    with pytest.raises(ValueError, match="seed 4 there, 7 here; k 10 there, 20 here; choose"):
        run(folder, settings=replace(SETTINGS, seed=7, k=20))
    monkeypatch.setattr(dcpf, "__version__", "99.0")
    with pytest.raises(ValueError, match=r"version '.*' there, '99\.0' here"):
        run(folder)
    assert (folder / "runs.jsonl").read_bytes() == before


def test_restart_throws_away_what_was_there(done: Reproduction, tmp_path: Path) -> None:
    folder = _copied(done, tmp_path)
    run(folder, plays(seed=1), restart=True)
    assert len(lines(folder)) == 12
    assert tables(folder) != tables(done.folder)


def test_more_starts_are_added_to_those_that_are_there(done: Reproduction, tmp_path: Path) -> None:
    run(tmp_path / "one", settings=replace(SETTINGS, starts=1))
    first = (tmp_path / "one" / "runs.jsonl").read_bytes()
    run(tmp_path / "one")
    assert (tmp_path / "one" / "runs.jsonl").read_bytes().startswith(first)
    assert tables(tmp_path / "one") == tables(done.folder)


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match="is not empty and holds no run"):
        run(tmp_path)
    with pytest.raises(ValueError, match="is a file"):
        run(tmp_path / "thesis.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_unknown_data_sets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'spotify'.*taste-profile"):
        run(tmp_path / "x", dataset="spotify")
    assert not (tmp_path / "x").exists()


def test_alpha_and_k_are_chosen_by_pfbin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "SIZES", (2, 5))
    monkeypatch.setattr(protocol, "ALPHAS", (0.2, 0.9))
    seen: list[Standing] = []
    found = run(tmp_path / "chosen", settings=replace(SETTINGS, choose=True), watch=seen.append)
    records = [one for one in lines(tmp_path / "chosen") if one["job"]["model"] == "PFbin"]
    means = {
        (K, alpha): np.mean(
            [
                one["metrics"]["ndcg"]["0"]
                for one in records
                if (one["job"]["components"], one["job"]["alpha"]) == (K, alpha)
            ]
        )
        for K in (2, 5)
        for alpha in (0.2, 0.9)
    }
    assert (found.results.protocol.components, found.results.protocol.alpha) == max(means, key=means.__getitem__)
    choice = next(table for table in found.tables if table.name == "choice")
    assert [row[2].value for row in choice.rows] == pytest.approx(list(means.values()))
    assert [row[3].value for row in choice.rows].count("chosen") == 1
    assert len(lines(tmp_path / "chosen")) == 8 + 12 - 2  # PFbin need not be fitted again
    assert {now.total for now in seen} == {18}
    assert [now.done for now in seen if now.record is not None] == list(range(1, 19))


def test_figures_are_drawn_from_the_models_of_the_first_start(done: Reproduction, tmp_path: Path) -> None:
    found = run(_copied(done, tmp_path), figures=True)
    names = {path.name for path in (tmp_path / "copy" / "figures").iterdir()}
    stems = ("predictive_check", "distortion", "elements", "bound_against_time")
    assert names == {f"{stem}{ending}" for stem in stems for ending in (".png", ".svg")}
    assert {path.name for path in found.files if path.parent.name == "figures"} == names
    assert found.notes == ()


def test_without_matplotlib_the_tables_are_there_and_the_way_to_figures_is_told(
    done: Reproduction, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise ImportError("figures are drawn by matplotlib: pip install 'dcpf[plots]'")

    monkeypatch.setattr(figures, "need_matplotlib", missing)
    found = run(_copied(done, tmp_path), figures=True)
    assert "pip install 'dcpf[plots]'" in found.notes[0]
    assert not (tmp_path / "copy" / "figures").exists()
    assert tables(found.folder) == tables(done.folder)


def test_the_result_is_plain_values_as_well(done: Reproduction) -> None:
    plain = json.loads(json.dumps(done.to_dict()))
    assert plain["data"]["users"] == 60
    assert plain["protocol"]["components"] == 3
    assert set(plain["tables"]) == {"structure", "scores", "dispersion", "fits"}


def record(model: str = "Log", *, iterations: int = 7) -> FitRecord:
    return FitRecord(
        job=Job(model, 10, 0.3, 0),
        parameters={"p": 0.5},
        iterations=iterations,
        converged=True,
        bound=-1.0,
        sessions_share=0.5,
        metrics={},
        fit_seconds=0.02 * iterations * 10,
        judge_seconds=3.0,
    )


def test_nothing_is_known_of_the_time_before_the_first_iteration() -> None:
    assert TimeLeft().of([record().job]) is None


def test_the_first_fit_is_reckoned_from_its_own_iterations() -> None:
    assert TimeLeft().of([record().job], iteration=50, seconds=10.0) == pytest.approx(150 * 0.2)


def test_time_left_grows_with_components_and_with_iterations_of_the_same_model() -> None:
    left = TimeLeft([record("Log", iterations=10), record("Geo", iterations=30)])
    each = 3.0  # of judging
    assert left.of([Job("Log", 10, 0.3, 1)]) == pytest.approx(10 * 10 * 0.02 + each)
    assert left.of([Job("Geo", 20, 0.3, 1)]) == pytest.approx(30 * 20 * 0.02 + each)
    assert left.of([Job("ZTP", 10, 0.3, 1)]) == pytest.approx(20 * 10 * 0.02 + each)
    assert left.of([Job("Log", 10, 0.3, 1)], iteration=4, seconds=9.0) == pytest.approx(6 * 10 * 0.02 + each)
    assert left.of([]) == 0.0


def _copied(done: Reproduction, tmp_path: Path) -> Path:
    return Path(shutil.copytree(done.folder, tmp_path / "copy"))
