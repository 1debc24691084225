"""The options of how counts are read, which are the same in every command that reads counts."""

from pathlib import Path

import pytest
import typer
from tests.cli.conftest import LEAN
from tests.cli.running import refused, run

from dcpf.cli.main import app
from dcpf.cli.options import ReadingOptions, TrainingData

TAKERS = ("fit", "recommend", "explain", "evaluate", "check", "tune", "leaderboard", "reproduce")


@pytest.fixture
def broken(folder: Path, tmp_path: Path) -> Path:
    """The plays with semicolons, a fraction, and a line that is none."""
    path = tmp_path / "broken.csv"
    text = (folder / "plays.csv").read_text().replace(",", ";")
    path.write_text(text + "hello\nalice;s1;1.2\n")
    return path


@pytest.mark.parametrize("name", TAKERS)
def test_every_command_that_reads_counts_has_all_options(name: str) -> None:
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    taken = {one.name for one in command.params}
    assert taken >= set(ReadingOptions.__annotations__)
    assert "reading" not in taken


def test_no_other_command_has_them() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert {name for name, one in commands.items() if "user_column" in {p.name for p in one.params}} == set(TAKERS)


def test_a_command_that_offers_to_skip_lines_can(broken: Path, model: Path, tmp_path: Path) -> None:
    skipping = ("--skip-bad-lines", "--round-counts", "--cap", 9, "--delimiter", ";")
    for asked in (
        ("evaluate", broken, "--components", 2, "--neighbors", 0),
        ("recommend", model, "--user", "alice", "--history", broken),
        ("explain", model, "--user", "alice", "--item", "s1", "--history", broken),
        ("check", model, broken, "--draws", 1),
        ("leaderboard", broken, "--method", "popularity", "-k", 5, "-o", tmp_path / "board"),
    ):
        line = refused(*asked)
        assert "--skip-bad-lines" in line
        result = run(*asked, *skipping)
        assert result.exit_code == 0, result.stderr
        assert "1 bad line skipped" in result.stderr
        assert "above 9 cut to it" in result.stderr


def test_a_cap_of_nothing_is_refused_by_all(plays: Path, model: Path) -> None:
    assert "--cap must be at least 1" in refused("evaluate", plays, "--cap", 0)
    assert "--cap must be at least 1" in refused("check", model, plays, "--cap", 0)


def test_what_tune_chooses_can_be_evaluated(plays: Path, model: Path) -> None:
    from dcpf.evaluation.trials import as_options

    chosen = as_options(
        {"n_components": 2, "n_neighbors": 5, "neighbor_prior": 20.0, "element": "binary", "shape_prior": 0.5}
    )
    result = run("evaluate", plays, *chosen, "-k", 5)
    assert result.exit_code == 0, result.stderr
    assert "--neighbor-prior must be a positive number" in refused("evaluate", plays, "--neighbor-prior", -1)
    assert "unknown element 'gauss'" in refused("evaluate", plays, "--element", "gauss")
    assert "leave out --components" in refused("evaluate", model, plays, "--shape-prior", 1)


def test_options_are_typed_again_as_they_were() -> None:
    assert TrainingData().typed() == []
    given = TrainingData(user_column="who", header=False, skip_bad_lines=True, cap=3, min_per_item=2)
    words = ["--user-column", "who", "--no-header", "--skip-bad-lines", "--cap", "3", "--min-per-item", "2"]
    assert given.typed() == words
    assert ReadingOptions(header=True).typed() == ["--header"]


def test_fit_and_evaluate_read_alike(broken: Path, tmp_path: Path) -> None:
    result = run("fit", broken, "-o", tmp_path / "m", *LEAN, "--skip-bad-lines", "--round-counts")
    assert result.exit_code == 0, result.stderr
    assert "1 bad line skipped" in result.stderr
