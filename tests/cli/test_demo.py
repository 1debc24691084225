"""dcpf demo from the first line to the last, and how the command answers what it cannot do."""

import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import dcpf
from dcpf.cli.demo import _found, _listeners
from dcpf.cli.main import app
from dcpf.simulation import listening_data

SMALL = ("demo", "--users", "60", "--songs", "80", "--components", "4", "--threads", "1")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "80", "NO_COLOR": None, "FORCE_COLOR": None})


def test_the_demo_tells_its_story_from_simulation_to_next_steps() -> None:
    result = run(*SMALL)
    assert result.exit_code == 0, result.output
    story = (
        "60 listeners and 80 songs of 8 genres",
        "Learned 4 components",
        "1. What is a count worth?",
        "p (shifted-negative-binomial)",
        "2. One listener: ",
        "3. Recommended to ",
        "4. How good is that?",
        "most popular songs",
        "dcpf fit plays.csv",
        "model.recommend(",
    )
    places = [result.stdout.find(part) for part in story]
    assert -1 not in places
    assert places == sorted(places)
    assert re.search(r"^ 10   ", result.stdout, re.MULTILINE)


def test_the_demo_fits_into_80_columns_without_colour_where_there_is_no_terminal() -> None:
    result = run(*SMALL)
    assert max(len(line) for line in result.output.splitlines()) <= 80
    assert "\x1b" not in result.output


def test_the_same_seed_tells_the_same_story_and_another_seed_another_one() -> None:
    first, again, other = (run(*SMALL, "--seed", seed).stdout for seed in ("1", "1", "2"))

    def without_times(text: str) -> str:
        return re.sub(r"(\s+)", " ", re.sub(r"and [\d.]+ seconds.*", "", text))

    assert without_times(first) == without_times(again)
    assert without_times(first) != without_times(other)


@pytest.mark.parametrize("element", ["geometric", "raw", "binary"])
def test_a_fit_with_another_element_than_the_simulated_one_says_so(element: str) -> None:
    result = run(*SMALL, "--element", element)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert f"another element ({element}) than the simulation (shifted-negative-binomial)" in words
    assert re.search(r"p \(shifted-negative-binomial\)\s+0\.800\s+-", result.stdout)


def test_the_listener_shown_has_played_more_than_most_and_still_has_songs_to_discover() -> None:
    truth = listening_data(np.random.default_rng(0), n_users=200, n_songs=100)
    listener, judged = _listeners(truth)
    n_played = np.diff(truth.counts.indptr)
    assert (n_played[judged] <= 90).all()
    assert (n_played[judged] < n_played[listener]).mean() == pytest.approx(0.75, abs=0.06)


def test_songs_found_are_those_shown_that_are_truly_best_whatever_was_played() -> None:
    rng = np.random.default_rng(0)
    played = rng.random((40, 30)) < 0.4
    scores, true = (np.where(played, -np.inf, rng.random((40, 30))) for _ in range(2))
    for best in (1, 10):
        expected = [
            len(set(np.argsort(-scores[u])[:10]) & set(np.argsort(-true[u])[:best])) for u in range(len(scores))
        ]
        np.testing.assert_array_equal(_found(scores, true, best), expected)


def test_an_unknown_element_is_one_line_on_standard_error_that_lists_the_known_ones() -> None:
    result = run(*SMALL, "--element", "gaussian")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("dcpf: unknown element 'gaussian': choose one of ")
    assert all(name in result.stderr for name in dcpf.elements.names())


@pytest.mark.parametrize("option", ["--users", "--songs", "--components", "--threads"])
def test_a_size_that_is_too_small_is_one_line_on_standard_error(option: str) -> None:
    result = run("demo", option, "0")
    assert result.exit_code == 2
    assert re.fullmatch(rf"dcpf: {option} must be at least \d+, found 0\n", result.stderr)
    assert result.stdout == ""


def test_debug_shows_where_an_error_came_from() -> None:
    result = run("--debug", "demo", "--users", "0")
    assert isinstance(result.exception, ValueError)


@pytest.mark.filterwarnings("default::UserWarning")
def test_a_warning_is_one_line_on_standard_error_without_a_place_in_the_code() -> None:
    result = run("demo", "--users", "20", "--songs", "50", "--components", "21", "--element", "binary")
    assert result.exit_code == 0, result.output
    assert "dcpf: warning: --components 21 is more than 20 users can tell apart\n" in result.stderr
    assert ".py" not in result.stderr


def test_version_is_that_of_the_library() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"dcpf {dcpf.__version__}\n")


def test_help_names_the_commands_and_a_bare_dcpf_shows_it() -> None:
    result = run("--help")
    assert result.exit_code == 0
    for word in ("Recommendations from raw counts", "--version", "--debug", "demo", "compare with the truth."):
        assert word in result.stdout
    assert result.stdout.strip() in run().output


def test_help_is_quick_because_it_imports_nothing_heavy() -> None:
    script = (
        "import sys; from dcpf.cli.main import app; app(['fit', '--help'], standalone_mode=False); "
        "print('heavy:', sorted({'numpy', 'scipy', 'numba', 'sklearn', 'polars'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "--components" in result.stdout
    assert result.stdout.endswith("heavy: []\n")
