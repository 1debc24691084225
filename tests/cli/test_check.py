"""dcpf check: the check of Python, printed, as JSON and as a figure."""

import sys
from pathlib import Path

import pytest
from tests.cli.running import printed, refused, run

import dcpf
from dcpf.evaluation.predictive import predictive_check


@pytest.mark.parametrize("which", ["model", "numbered"])
def test_it_prints_the_check_of_the_training_counts(which: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(which)
    expected = predictive_check(dcpf.load(path))
    result = run("check", path)
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"{expected}\n", "")
    assert printed("check", path) == expected.to_dict()


def test_counts_seed_and_draws_are_those_given(bare: Path, plays: Path) -> None:
    found = printed("check", bare, plays, "--draws", 3, "--seed", 7)
    assert found == predictive_check(dcpf.load(bare), dcpf.read_counts(plays), 7, 3).to_dict()
    assert found["draws"] == 3
    assert found != printed("check", bare, plays, "--draws", 3, "--seed", 8)


def test_columns_are_named_or_numbered(bare: Path, plays: Path, tmp_path: Path) -> None:
    lines = plays.read_text().splitlines()
    odd = tmp_path / "odd.csv"
    odd.write_text("\n".join(["a,b,c", *lines[1:]]) + "\n")
    columns = ("--user-column", "a", "--item-column", 1, "--count-column", "c")
    assert printed("check", bare, odd, *columns) == printed("check", bare, plays)


@pytest.mark.parametrize(("ending", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_a_figure_is_drawn_if_asked(model: Path, tmp_path: Path, ending: str, start: bytes) -> None:
    output = tmp_path / f"check{ending}"
    result = run("check", model, "-o", output, "--draws", 2)
    assert result.exit_code == 0, result.stderr
    assert result.stderr.split() == f"dcpf: figure written to {output}".split()
    assert result.stdout == run("check", model, "--draws", 2).stdout
    assert output.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--draws", 0), "--draws must be at least 1, found 0"),
        (("--seed", -1), "--seed must be at least 0, found -1"),
        (("-o", "check.csv"), "the suffix must be one of .png, .svg, .pdf, found '.csv'"),
        (("-o", "nowhere/check.png"), "does not exist"),
    ],
)
def test_options_that_cannot_be_are_refused(model: Path, options: tuple[object, ...], words: str) -> None:
    assert words in refused("check", model, *options)


def test_a_model_without_counts_asks_for_them(bare: Path) -> None:
    assert "give the counts to check it against" in refused("check", bare)


def test_without_matplotlib_it_is_said_before_any_work(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install 'dcpf[plots]'" in refused("check", model, "-o", tmp_path / "check.png")
    assert run("check", model).exit_code == 0
