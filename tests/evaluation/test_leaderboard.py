"""Competitors on the same counts: chosen parameters, kept results, plain words."""

import importlib.metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dcpf
from dcpf import Counts
from dcpf.baselines.ease import Ease
from dcpf.evaluation import leaderboard as module
from dcpf.evaluation.leaderboard import (
    COMPETITORS,
    Attempt,
    Board,
    BoardRules,
    Entry,
    Round,
    fit_and_judge,
    leaderboard,
    standings,
    verdict,
)
from dcpf.evaluation.result_table import to_markdown
from dcpf.evaluation.runs import Worker
from dcpf.simulation import listening_data

NAMES = ("popularity", "ease")


@pytest.fixture(scope="module")
def counts() -> Counts:
    truth = listening_data(np.random.default_rng(0), n_users=80, n_songs=40)
    return Counts.from_matrix(truth.counts, truth.users, truth.songs)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("boards")


@pytest.fixture(scope="module")
def board(counts: Counts, folder: Path) -> Board:
    return leaderboard(counts, folder, "songs", BoardRules(k=10, names=NAMES))


def entry(name: str, values: list[list[float | None]], parameters: dict[str, Any] | None = None) -> Entry:
    final = Attempt(parameters or {}, True, 0.5, 1.0, 0.1, 2_000_000, tuple(map(tuple, values)))
    return Entry(name, final=final)


def test_scores_are_those_of_the_chosen_settings_on_all_training_counts(board: Board, counts: Counts) -> None:
    train, test = counts.split(0.2, 0)
    ease = board.entries[1]
    expected = dcpf.evaluate(Ease(**ease.parameters).fit(train), test, 10)
    assert ease.means == pytest.approx([expected.mean("ndcg", one) for one in (0, 1, 2, 5)])


def test_settings_are_chosen_without_the_test_counts(board: Board, counts: Counts) -> None:
    part, aside = counts.split(0.2, 0)[0].split(0.2, 1)
    ease = board.entries[1]
    assert [one.parameters for one in ease.attempts] == list(COMPETITORS["ease"].grid)
    for one in ease.attempts[:2]:
        found = dcpf.evaluate(Ease(**one.parameters).fit(part), aside, 10)
        assert one.score == pytest.approx(np.mean([found.mean("ndcg", s) for s in (0, 1, 2, 5)]))
    assert ease.parameters == max(ease.attempts, key=lambda one: one.score).parameters


def test_what_is_done_is_kept_and_not_done_again(
    board: Board, counts: Counts, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_again(*_: object) -> None:
        raise AssertionError("run again")

    monkeypatch.setattr(module, "Worker", not_again)
    assert leaderboard(counts, folder, "songs", BoardRules(k=10, names=NAMES)) == board


def test_results_of_other_data_or_rules_are_refused(board: Board, counts: Counts, folder: Path) -> None:
    with pytest.raises(
        ValueError, match=r"popularity.jsonl holds results of another run: k 10 there, 5 here; choose another folder"
    ):
        leaderboard(counts, folder, "songs", BoardRules(k=5, names=NAMES))
    with pytest.raises(ValueError, match="results of another run: other data; choose"):
        leaderboard(counts.cap(1), folder, "songs", BoardRules(k=10, names=NAMES))


def test_results_depend_on_the_version_of_their_own_package(
    board: Board, counts: Counts, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda one: "9.9" if one == "implicit" else version(one))
    assert leaderboard(counts, folder, "songs", BoardRules(k=10, names=NAMES)) == board
    monkeypatch.setattr(importlib.metadata, "version", lambda one: "9.9")
    with pytest.raises(ValueError, match=r"results of another run: versions .*'9.9'.* here; choose"):
        leaderboard(counts, folder, "songs", BoardRules(k=10, names=NAMES))


def test_every_competitor_can_be_made_with_each_of_its_settings() -> None:
    for competitor in COMPETITORS.values():
        assert competitor.grid
        for settings in competitor.grid:
            made = competitor.new(settings, 7).get_params()
            assert made.items() >= settings.items()
            assert made.get("random_state", 7) == 7
    assert next(iter(COMPETITORS.values())).make is dcpf.DCPF


class Broken:
    """A worker in which nothing works but popularity, and EASE with one setting."""

    def __init__(self, given: Round) -> None:
        self._real = Worker(given)

    def __enter__(self) -> "Broken":
        return self

    def __exit__(self, *_: object) -> None:
        self._real.__exit__(None, None, None)

    def call(self, function: Any, name: str, parameters: dict[str, Any], final: bool) -> Attempt:
        if name == "popularity" or parameters == COMPETITORS["ease"].grid[2]:
            return self._real.call(function, name, parameters, final)
        if name == "ease":
            raise RuntimeError("NaN in factors")
        raise ImportError("no such package; pip install it")


def test_a_peer_that_cannot_take_part_says_why_and_may_try_again(
    counts: Counts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = BoardRules(k=10, names=("popularity", "item-knn"))
    with monkeypatch.context() as patched:
        patched.setattr(module, "Worker", Broken)
        found = leaderboard(counts, tmp_path, "songs", rules)
        with pytest.raises(ImportError):
            leaderboard(counts, tmp_path, "songs", BoardRules(k=10, names=("raw",)))  # ours must run
    assert found.entries[1].refused == "no such package; pip install it"
    assert "item-kNN was not run: no such package; pip install it" in verdict(found)
    assert leaderboard(counts, tmp_path, "songs", rules).entries[1].refused == ""


def test_a_setting_that_fails_is_not_chosen_and_not_the_end(
    counts: Counts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "Worker", Broken)
    ease = leaderboard(counts, tmp_path, "songs", BoardRules(k=10, names=("ease",))).entries[0]
    assert ease.parameters == COMPETITORS["ease"].grid[2]
    assert [one.failed for one in ease.attempts].count("NaN in factors") == len(COMPETITORS["ease"].grid) - 1


def test_settings_that_were_tried_are_kept_when_a_run_is_stopped(
    counts: Counts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(label: str, tried: int, settings: int) -> None:
        if tried == 3:
            raise KeyboardInterrupt

    rules = BoardRules(k=10, names=("ease",))
    with pytest.raises(KeyboardInterrupt):
        leaderboard(counts, tmp_path, "songs", rules, watch=stop)
    begun: list[int] = []
    leaderboard(counts, tmp_path, "songs", rules, watch=lambda label, tried, settings: begun.append(tried))
    assert begun == [3, 4, 5, 6, 7, 8]


def test_a_score_without_relevant_items_comes_back_and_is_never_the_best(counts: Counts, tmp_path: Path) -> None:
    rules = BoardRules(k=10, thresholds=(10**6,), names=("ease",))
    first = leaderboard(counts, tmp_path, "songs", rules).entries[0]
    again = leaderboard(counts, tmp_path, "songs", rules).entries[0]
    assert np.isnan([one.score for one in (*first.attempts, *again.attempts)]).all()
    assert first.parameters == again.parameters == COMPETITORS["ease"].grid[0]


def test_a_damaged_file_is_named(counts: Counts, tmp_path: Path) -> None:
    (tmp_path / "songs").mkdir()
    (tmp_path / "songs" / "popularity.jsonl").write_text("{\n")
    with pytest.raises(ValueError, match=r"popularity.jsonl, line 1: not what a run writes .*, or remove it"):
        leaderboard(counts, tmp_path, "songs", BoardRules(k=10, names=("popularity",)))


def test_an_unknown_method_is_named(counts: Counts, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"unknown method 'esae': choose one of dcpf, shifted-nb, .*ease"):
        leaderboard(counts, tmp_path, "songs", BoardRules(names=("esae",)))


def test_a_worker_measures_memory_that_a_fit_takes() -> None:
    rng = np.random.default_rng(0)
    wide = Counts.from_matrix(rng.poisson(0.05, size=(60, 1500)) + np.eye(60, 1500, dtype=np.int64))
    train, test = wide.split(0.2, 0)
    with Worker(Round(train, test, BoardRules(k=10, thresholds=(0,)))) as worker:
        attempt = worker.call(fit_and_judge, "ease", {"regularization": 10.0}, False)
    assert attempt.memory > 0.8 * 8 * 1500**2  # the inverse
    assert attempt.fit_seconds > 0.0


def test_the_verdict_says_plainly_who_loses() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((200, 3))
    ours = entry("shifted-nb", np.column_stack([values[:, 0] * 0.5, values[:, 1], values[:, 2]]).tolist())
    theirs = entry(
        "ease", np.column_stack([values[:, 0], values[:, 1] * 0.5, rng.permutation(values[:, 2])]).tolist()
    )
    third = entry("item-knn", np.column_stack([values[:, 0] * 0.9, values[:, 1:] * 0.1]).tolist())
    data = {"users": 200, "items": 9, "entries": 999}
    found = verdict(Board("songs", data, 10, (0, 1, 2), (ours, theirs, third)))
    assert found[0].startswith("NDCG0: dcPF factors, shifted NB loses to EASE")
    assert found[0].endswith("2 methods are ahead of it.")
    assert found[1].startswith("NDCG1: dcPF factors, shifted NB is ahead of EASE")
    assert "cannot be told apart" in found[2]


def test_the_table_marks_the_best_and_shows_what_did_not_run() -> None:
    ours = entry("shifted-nb", [[0.1, None], [0.3, 0.5]], parameters={"element": "shifted-nb", "n_components": 50})
    theirs = entry("popularity", [[0.2, None], [0.1, 0.6]])
    away = Entry("hpf", refused="not installed")
    data = {"users": 2, "items": 9, "entries": 99}
    table = standings(Board("songs", data, 10, (0, 5), (ours, theirs, away)))
    assert [cell.bold for cell in table.rows[0][1:3]] == [True, False]
    assert [cell.bold for cell in table.rows[1][1:3]] == [False, True]
    assert table.rows[0][-1].value == "K 50"
    assert any("dcpf fit ... --element shifted-nb --components 50" in note for note in table.notes)
    assert table.rows[2][1].value is None
    assert "| hpfrec HPF | - |" in to_markdown(table)
    assert "hpfrec HPF was not run: not installed" in table.notes
    assert "| dcPF factors, shifted NB | **0.200** | 0.500 |" in to_markdown(table)


def test_a_threshold_that_nobody_reaches_is_left_out_of_the_verdict() -> None:
    ours, theirs = entry("shifted-nb", [[0.1, None]]), entry("popularity", [[0.2, None]])
    found = Board("songs", {"users": 1, "items": 9, "entries": 9}, 10, (0, 5), (ours, theirs))
    assert np.isnan(ours.means[1])
    assert len(verdict(found)) == 1
    assert standings(found).rows[0][2].value is None
