"""dcpf fit: what it reads, says, writes, and when it stops."""

import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import LEAN
from tests.cli.running import printed, refused, run, run_alone

import dcpf


def test_the_model_is_the_one_that_python_fits(model: Path, plays: Path) -> None:
    expected = dcpf.DCPF(3, max_iter=40, tol=0, random_state=0).fit(dcpf.read_counts(plays))
    found = dcpf.load(model)
    np.testing.assert_array_equal(found.part("factors").user_means, expected.user_factors)
    np.testing.assert_array_equal(found.part("factors").items.H, expected.item_factors)
    assert (found.users, found.items, found.element) == (expected.users_, expected.items_, expected.element_)
    assert found.names is not None and found.names[found.items.find("s0") or 0] == "Nina Simone"


def test_what_concerns_one_run_only_is_not_kept_in_the_model(model: Path) -> None:
    parameters = dcpf.load(model).facts.parameters
    assert {"verbose", "warm_start", "n_jobs", "callback", "checkpoint"}.isdisjoint(parameters)
    assert (parameters["random_state"], parameters["n_components"], parameters["max_iter"]) == (0, 3, 40)


def test_remarks_go_to_stderr_and_the_summary_to_stdout(plays: Path, tmp_path: Path) -> None:
    result = run_alone("fit", plays, "-o", tmp_path / "m", *LEAN, env={"COLUMNS": "80", "PATH": ""})
    assert result.returncode == 0, result.stderr
    for remark in (
        f"Read {plays} in ",
        "  columns user, item, plays (count)\n",
        "30 users x 20 items",
        "40/40 bound -",
    ):
        assert remark in result.stderr
        assert result.stderr.count(remark) == 1
        assert remark not in result.stdout
    words = " ".join(result.stdout.split())
    assert re.search(r"^Learned 3 components and excitation in 40 iterations and [\d.]+ seconds\. A", words)
    assert re.search(r"The mean count, [\d.]+, corresponds to about [\d.]+ sessions\.", words)
    assert f"Written to {tmp_path / 'm'}" in result.stdout


def test_mean_sessions_are_those_behind_the_counts(plays: Path, tmp_path: Path) -> None:
    told = printed("fit", plays, "-o", tmp_path / "m", "--components", "3", "--tol", "1e-9", "--max-iter", "3000")
    sessions = dcpf.load(tmp_path / "m").sessions()
    assert told["sessions_per_count"] == pytest.approx(sessions.data.mean())
    assert told["total"] == dcpf.read_counts(plays).matrix.sum()


def test_the_commands_that_it_suggests_work(plays: Path, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "with a space"
    for options in ((), ("--no-history",), ("--names", folder / "names.csv")):
        result = run("fit", plays, "-o", path, *LEAN, *options)
        commands = re.findall(r"^  dcpf (.*)$", result.stdout, re.MULTILINE)
        assert len(commands) >= 3
        for command in commands:
            assert run(*shlex.split(command)).exit_code == 0, command


def test_json_tells_what_was_learned(plays: Path, tmp_path: Path) -> None:
    told = printed("fit", plays, "-o", tmp_path / "m", *LEAN)
    found = dcpf.load(tmp_path / "m")
    assert (told["users"], told["items"], told["entries"]) == (30, 20, found.history.nnz)
    assert (told["components"], told["iterations"], told["bound"]) == (3, 40, found.facts.bounds[-1])
    assert told["neighbors"] == found.part("excitation").most_sources == 19
    assert (told["element"], told["parameters"]) == (found.element.name, found.element.parameters)


def test_priors_are_those_of_the_model(plays: Path, tmp_path: Path) -> None:
    result = run("fit", plays, "-o", tmp_path / "m", *LEAN, "--neighbor-prior", 7, "--shape-prior", 0.5)
    assert result.exit_code == 0, result.stderr
    parameters = dcpf.load(tmp_path / "m").facts.parameters
    assert (parameters["neighbor_prior"], parameters["shape_prior"]) == (7.0, 0.5)


def test_counts_are_filtered_and_capped(plays: Path, tmp_path: Path) -> None:
    result = run("fit", plays, "-o", tmp_path / "m", *LEAN, "--min-per-user", 8, "--min-per-item", 5, "--cap", 3)
    assert result.exit_code == 0, result.stderr
    expected = dcpf.read_counts(plays).filter(8, 5).cap(3)
    found = dcpf.load(tmp_path / "m")
    assert (found.users, found.items) == (expected.users, expected.items)
    assert found.history.max() == 3
    assert (found.history != expected.matrix).nnz == 0
    assert "dropped: fewer than 8 interactions" in result.stderr
    assert "above 3 cut to it" in result.stderr


@pytest.mark.parametrize("delimiter", ["tab", "\\t"])
def test_columns_are_named_or_numbered_and_the_delimiter_is_spelt(tmp_path: Path, delimiter: str) -> None:
    table = tmp_path / "plays.txt"
    table.write_text("".join(f"{y}\t{u}\t{i}\n" for u in "abc" for i in "xyz" for y in (1, 4)))
    columns = ("--user-column", 1, "--item-column", 2, "--count-column", 0, "--no-header", "--delimiter", delimiter)
    result = run("fit", table, "-o", tmp_path / "m", *LEAN, *columns)
    assert result.exit_code == 0, result.stderr
    assert list(dcpf.load(tmp_path / "m").items) == ["x", "y", "z"]
    assert dcpf.load(tmp_path / "m").history.sum() == 45


def test_float64_is_kept_in_double_precision(plays: Path, tmp_path: Path) -> None:
    assert run("fit", plays, "-o", tmp_path / "m", *LEAN, "--float64").exit_code == 0
    assert dcpf.load(tmp_path / "m").part("factors").items.H.dtype == np.float64
    warm = ("--warm-start", tmp_path / "m", "--max-iter", 1, "--tol", 0)
    assert run("fit", plays, "-o", tmp_path / "n", *warm).exit_code == 0
    assert dcpf.load(tmp_path / "n").part("factors").items.H.dtype == np.float64


def test_a_warm_start_goes_on_from_the_old_model_with_its_components_and_element(
    numbered: Path, folder: Path, tmp_path: Path
) -> None:
    plays = folder / "numbered.csv"
    result = run("fit", plays, "-o", tmp_path / "m", "--warm-start", numbered, "--max-iter", 1, "--tol", 0)
    assert result.exit_code == 0, result.stderr
    old, new = dcpf.load(numbered), dcpf.load(tmp_path / "m")
    assert (new.facts.parameters["n_components"], new.element) == (3, old.element)
    assert new.facts.bounds[0] > old.facts.bounds[10] > old.facts.bounds[0]
    assert "4" in refused("fit", plays, "-o", tmp_path / "m", "--warm-start", numbered, "--components", 4)


def test_a_wrong_output_is_refused_before_anything_is_read(plays: Path, folder: Path, tmp_path: Path) -> None:
    missing = tmp_path / "no file.csv"
    assert "does not exist" in refused("fit", missing, "-o", tmp_path / "nowhere" / "m")
    assert "is a folder" in refused("fit", missing, "-o", tmp_path)
    assert "not a regular file" in refused("fit", missing, "-o", "/dev/null")
    before = plays.read_bytes()
    assert "is read by this command" in refused("fit", plays, "-o", plays)
    assert "is read by this command" in refused(
        "fit", plays, "-o", folder / "names.csv", "--names", folder / "names.csv"
    )
    assert plays.read_bytes() == before
    assert "the suffix must be one of .safetensors, found '.csv'" in refused("fit", plays, "-o", tmp_path / "m.csv")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_an_interrupt_says_so_and_leaves_the_old_model(plays: Path, model: Path, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(model.read_bytes())
    command = ["fit", str(plays), "-o", str(tmp_path / "m"), "--tol", "0", "--max-iter", "100000000"]
    # The first iteration is waited for by a callback that no option gives: the program is started from Python.
    program = (
        "import sys; from dcpf.progress import ProgressBar; show = ProgressBar.show\n"
        "def told(self, iteration, **more): show(self, iteration, **more); print(iteration.number, flush=True)\n"
        "ProgressBar.show = told\n"
        "from dcpf.cli.main import app; app()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "1\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.endswith(f"dcpf: interrupted; {tmp_path / 'm'} was not written\n")
    assert "Traceback" not in said
    assert [one.name for one in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m").read_bytes() == model.read_bytes()


def test_only_a_model_is_replaced_by_a_model(plays: Path, tmp_path: Path) -> None:
    precious = tmp_path / "thesis"
    precious.write_text("years of work")
    assert "is not a model" in refused("fit", plays, "-o", precious)
    assert precious.read_text() == "years of work"
