"""dcpf tune: tables for people, JSON for programs, a model on demand."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from tests.cli.running import printed, refused, run

import dcpf
from dcpf.simulation import listening_data

SMALL = ("--metric", "ndcg@5>0", "--trials", "6")


@pytest.fixture(scope="module")
def plays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough users and items for the default's components."""
    matrix = listening_data(np.random.default_rng(0), n_users=70, n_songs=55).counts.tocoo()
    path = tmp_path_factory.mktemp("plays") / "plays.csv"
    rows = [f"u{u},s{i},{y}" for u, i, y in zip(matrix.row, matrix.col, matrix.data, strict=True)]
    path.write_text("\n".join(["user,item,plays", *rows, ""]))
    return path


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tune") / "j.jsonl"


def test_prints_the_trials_what_mattered_and_a_command_that_works(plays: Path, journal: Path, tmp_path: Path) -> None:
    result = run("tune", plays, *SMALL, "--journal", journal, "--figure", tmp_path / "f.svg")
    assert result.exit_code == 0, result.stderr
    assert "6 trials by ndcg@5>0" in result.stdout
    assert "What mattered" in result.stdout
    assert "1/6 the default" in result.stderr
    assert (tmp_path / "f.svg").read_text().startswith("<?xml")
    command = re.search(r"^  dcpf (.*)$", result.stdout, re.MULTILINE)
    assert command is not None
    words = [
        str(tmp_path / "m.safetensors") if one == "model.safetensors" else one for one in shlex.split(command[1])
    ]
    assert run(*words).exit_code == 0


def test_the_model_is_that_of_the_chosen_settings(plays: Path, journal: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    found = printed("tune", plays, *SMALL, "--journal", journal, "-o", path)
    assert len(found["trials"]) == 6
    model = dcpf.load(path)
    expected = dcpf.DCPF(**found["chosen"], random_state=0).fit(dcpf.read_counts(plays))
    assert np.array_equal(model.part("factors").items.H, expected.item_factors)
    assert model.recommend("u7", 5).to_frame().equals(expected.recommend("u7", 5).to_frame())
    assert found["command"].startswith(f"dcpf fit {plays} -o {path}")
    assert found["is_default"] == (found["python"] == "DCPF(random_state=0)")


def test_the_journal_is_never_the_model(plays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for other in ("one.safetensors", tmp_path / "one.safetensors"):
        assert "would be overwritten" in refused("tune", plays, "--journal", "one.safetensors", "-o", other)


def test_one_user_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "few.csv").write_text("user,item,count\na,x,1\na,y,2\nb,x,1\nb,y,2\n")
    said = refused("tune", tmp_path / "few.csv", *SMALL, "--journal", tmp_path / "j.jsonl")
    assert "judges only one user" in said


def test_the_journal_is_named_after_the_counts(plays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("tune", plays, "--metric", "ndcg@5>0", "--trials", 1).exit_code == 0
    assert (tmp_path / "plays-tuned.jsonl").exists()
    assert "metric 'ndcg@5>0' there, 'mrr@100>0' here" in refused("tune", plays, "--metric", "mrr", "--trials", 1)


def test_what_cannot_be_done_is_one_line(plays: Path, tmp_path: Path) -> None:
    assert "unknown metric 'acc'" in refused("tune", plays, "--metric", "acc@5")
    assert "--trials must be at least 1" in refused("tune", plays, "--trials", 0)
    assert "would be overwritten" in refused("tune", plays, "--journal", plays)
    assert "(--journal names the file" in refused("tune", plays, "--journal", tmp_path / "none" / "j.jsonl")
    assert "the suffix must be one of .safetensors" in refused("tune", plays, "-o", tmp_path / "m.csv")
    (tmp_path / "m.safetensors").write_text("a letter")
    assert "is not a model" in refused("tune", plays, "-o", tmp_path / "m.safetensors")
    assert "the suffix must be one of .png" in refused("tune", plays, "--figure", tmp_path / "f.gif")


def test_the_help_names_all_metrics() -> None:
    from dcpf.evaluation.metrics import METRICS

    shown = run("tune", "--help").stdout
    assert all(name in shown for name in METRICS)
