"""dcpf evaluate: the same numbers as from Python, for people and for programs."""

import json
from pathlib import Path

import polars as pl
import pytest
from tests.cli.running import printed, refused, run

import dcpf

LEAN = ("--components", "3", "--threads", "1", "-k", "5")


@pytest.fixture(scope="module")
def parts(folder: Path, plays: Path) -> tuple[Path, Path]:
    """A model of a part of the plays, and the rest."""
    train, test = dcpf.read_counts(plays).split(0.3, seed=1)
    model, held_out = folder / "part.safetensors", folder / "held_out.csv"
    dcpf.DCPF(3, random_state=0, max_iter=30, tol=0).fit(train).save(model)
    test.to_frame().write_csv(held_out)
    return model, held_out


def test_counts_are_split_fitted_and_judged(plays: Path) -> None:
    found = printed("evaluate", plays, *LEAN)
    train, test = dcpf.read_counts(plays).split(0.2, seed=0)
    model = dcpf.DCPF(3, random_state=0).fit(train)
    expected = dcpf.evaluate(model, test, 5)
    ndcg = [one for one in found["metrics"] if one["metric"] == "ndcg"]
    assert [one["mean"] for one in ndcg] == [expected.mean("ndcg", s) for s in (0, 1, 2, 5)]
    assert found["log_likelihood"]["counts"] == dcpf.log_likelihood(model, test).counts


def test_counts_are_filtered_as_in_a_fit(plays: Path) -> None:
    found = printed("evaluate", plays, *LEAN, "--min-per-user", 8, "--min-per-item", 5)
    train, test = dcpf.read_counts(plays).filter(8, 5).split(0.2, seed=0)
    expected = dcpf.evaluate(dcpf.DCPF(3, random_state=0).fit(train), test, 5)
    assert found["metrics"][0]["mean"] == expected.to_dict()["metrics"][0]["mean"]


def test_what_is_said_of_counts_does_not_go_with_a_model(parts: tuple[Path, Path]) -> None:
    for option in (("--test-fraction", 0.5), ("--seed", 9), ("--min-per-user", 2), ("--min-per-item", 2)):
        assert "leave out --test-fraction" in refused("evaluate", *parts, *option)


def test_a_model_is_judged_by_test_counts(parts: tuple[Path, Path]) -> None:
    model, test = parts
    found = printed("evaluate", model, test, "-k", 5, "--thresholds", "0, 3")
    expected = dcpf.evaluate(dcpf.load(model), dcpf.read_counts(test), 5, (0, 3))
    assert found["thresholds"] == [0, 3]
    assert found["metrics"] == json.loads(json.dumps(expected.to_dict()["metrics"]).replace("NaN", "null"))


def test_the_table_shows_metrics_and_likelihood_line_by_line(parts: tuple[Path, Path]) -> None:
    result = run("evaluate", *parts, "-k", 5)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[1].split() == ["s", "=", "0", "s", "=", "1", "s", "=", "2", "s", "=", "5"]
    assert [line.split()[0] for line in lines[2:5]] == ["users", "ndcg", "precision"]
    assert any(line.startswith("counts ") for line in lines)


def test_two_models_are_compared_user_by_user(parts: tuple[Path, Path], folder: Path, plays: Path) -> None:
    first, test = parts
    train, _ = dcpf.read_counts(plays).split(0.3, seed=1)
    second = folder / "second.safetensors"
    dcpf.DCPF(1, "raw", random_state=0, max_iter=5, tol=0).fit(train).save(second)
    found = printed("evaluate", first, test, "-k", 5, "--against", second)
    counts = dcpf.read_counts(test)
    expected = dcpf.evaluate(dcpf.load(first), counts, 5).compare(dcpf.evaluate(dcpf.load(second), counts, 5))
    assert found["against"]["lines"][0]["difference"] == expected.lines[0].difference != 0.0
    assert "first: this model, second: the other" in run("evaluate", first, test, "--against", second).stdout


def test_values_by_user_go_to_a_file(parts: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "by_user.parquet"
    result = run("evaluate", *parts, "-k", 5, "-o", out)
    assert f"to {out}" in result.stderr.replace("\n", "")
    expected = dcpf.evaluate(dcpf.load(parts[0]), dcpf.read_counts(parts[1]), 5).per_user()
    assert pl.read_parquet(out).equals(expected)


def test_held_out_users_are_known_by_a_history(folder: Path, model: Path, tmp_path: Path) -> None:
    test = tmp_path / "test.csv"
    test.write_text("user,item,plays\nzoe,s3,2\n")
    found = printed("evaluate", model, test, "--history", folder / "history.csv", "-k", 5)
    assert found["users"] == 1
    assert found["notes"] == ["counts of the history of items that the model does not know, left out: 1"]


def test_what_cannot_be_done_is_one_line(parts: tuple[Path, Path], plays: Path, tmp_path: Path) -> None:
    model, test = parts
    assert "name the counts that it should find as well" in refused("evaluate", model)
    assert "--against goes with a model" in refused("evaluate", plays, "--against", model)
    assert "--history goes with a model" in refused("evaluate", plays, "--history", test)
    assert "such as 0,1,2,5; found '0;1'" in refused("evaluate", model, test, "--thresholds", "0;1")
    assert "-k must be at least 1" in refused("evaluate", model, test, "-k", 0)
    assert "must be one of .parquet" in refused("evaluate", model, test, "-o", tmp_path / "x.txt")
    assert "--test-fraction" in refused("evaluate", plays, "--test-fraction", "1.5")
