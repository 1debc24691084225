"""dcpf leaderboard: a table for people, JSON for programs, files to keep."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.cli.running import printed, refused, run

SMALL = ("--method", "popularity", "--method", "item-knn", "-k", "5")


def test_prints_a_table_and_writes_it(plays: Path, tmp_path: Path) -> None:
    result = run("leaderboard", plays, "-o", tmp_path, *SMALL)
    assert result.exit_code == 0, result.stderr
    assert "popularity" in result.stdout
    assert "item-kNN" in result.stdout
    assert "NDCG5" in result.stdout
    assert (tmp_path / "plays.md").read_text().startswith("## plays: 30 users x 20 items")
    assert (tmp_path / "plays.csv").read_text().startswith("Method,NDCG0,NDCG1,NDCG2,NDCG5,")
    found = printed("leaderboard", plays, "-o", tmp_path, *SMALL)  # taken up again
    assert [one["Method"] for one in found[0]["methods"]] == ["popularity", "item-kNN"]
    assert 0.0 <= found[0]["methods"][0]["NDCG0"] <= 1.0


def test_what_cannot_be_done_is_one_line(plays: Path, tmp_path: Path) -> None:
    assert "two files are called plays" in refused("leaderboard", plays, plays, "-o", tmp_path)
    assert "unknown method 'als'" in refused("leaderboard", plays, "--method", "als", "-o", tmp_path)
    assert "-k must be at least 1" in refused("leaderboard", plays, "-k", 0)
    assert "has the name of a .csv file" in refused("leaderboard", plays, "-o", tmp_path / "board.csv")


def test_a_folder_that_cannot_be_used_is_refused_before_any_fit(
    plays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = "dcpf.evaluation.runs.Worker.call"
    monkeypatch.setattr(fit, lambda *asked: pytest.fail("a fit before the folder was looked at"))
    (tmp_path / "file").write_text("")
    assert "is not a folder" in refused("leaderboard", plays, "-o", tmp_path / "file", *SMALL)
    assert "is not a folder" in refused("leaderboard", plays, "-o", tmp_path / "file" / "board", *SMALL)
    (tmp_path / "plays").mkdir()
    (tmp_path / "plays" / "item-knn.jsonl").write_text("[]\n")  # of the second method
    assert "item-knn.jsonl, line 1: not what a run writes" in refused("leaderboard", plays, "-o", tmp_path, *SMALL)
    monkeypatch.setattr("dcpf.cli.output.os.access", lambda path, mode: Path(path) != tmp_path)  # root may write
    assert f"no permission to write to the folder {tmp_path}" in refused(
        "leaderboard", plays, "-o", tmp_path / "new" / "board", *SMALL
    )


def test_the_help_names_all_methods() -> None:
    from dcpf.evaluation.leaderboard import COMPETITORS

    shown = " ".join(run("leaderboard", "--help").stdout.split())
    assert all(f"{name}," in shown or f"{name}." in shown for name in COMPETITORS)


@contextmanager
def started(plays: Path, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A command that has said that it begins: its process is being started, or has been."""
    command = [sys.executable, "-m", "dcpf", "leaderboard", str(plays), "-o", str(folder), "--method", "dcpf"]
    running = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which is ignored in the background
    )
    assert running.stderr is not None
    assert running.stderr.readline() == "  plays: dcpf, with excitation\n"
    try:
        yield running
    finally:
        with suppress(ProcessLookupError):  # all have ended, as they should
            os.killpg(running.pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no groups of processes")
@pytest.mark.parametrize("end", [os.kill, os.killpg], ids=["the command alone", "all of its processes"])
def test_ctrl_c_is_one_line_and_leaves_no_process(
    end: Callable[[int, int], None], plays: Path, tmp_path: Path
) -> None:
    journal = tmp_path / "plays" / "dcpf.jsonl"
    with started(plays, tmp_path) as running:
        while end is os.killpg and running.poll() is None and journal.stat().st_size == 0:
            time.sleep(0.05)  # until there is a first result: the process is well on its way
        end(running.pid, signal.SIGINT)
        _, said = running.communicate(timeout=300)  # until no process is left that could write
    assert said == "dcpf: interrupted; finished fits are kept; the same command resumes from there\n"
    assert running.returncode == 130


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_command_leaves_no_process(plays: Path, tmp_path: Path) -> None:
    with started(plays, tmp_path) as running:
        running.kill()
        running.communicate(timeout=300)  # until no process is left that could write
    assert running.returncode == -signal.SIGKILL
