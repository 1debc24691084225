import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import psutil
import pytest
from typer.testing import CliRunner

from dcpf.cli.main import app
from dcpf.simulation import listening_data


@pytest.fixture
def plays(tmp_path: Path) -> Path:
    counts = listening_data(np.random.default_rng(0), n_users=60, n_songs=40).counts.tocoo()
    (tmp_path / "plays").mkdir()
    table = pl.DataFrame({"user": counts.row, "item": counts.col, "count": counts.data})
    table[::2].write_parquet(tmp_path / "plays" / "a.parquet")
    table[1::2].write_parquet(tmp_path / "plays" / "b.parquet")
    return tmp_path / "plays"


def test_workers_of_this_machine_give_the_model_of_one_process(plays: Path) -> None:
    options = [str(plays), "--components", "3", "--max-iter", "5", "--tol", "0"]
    for name, more in (("alone", []), ("together", ["--workers", "2"])):
        done = CliRunner().invoke(app, ["fit", *options, "-o", str(plays.parent / f"{name}.safetensors"), *more])
        assert done.exit_code == 0, done.output
    alone, together = (plays.parent / f"{name}.safetensors" for name in ("alone", "together"))
    assert alone.read_bytes() == together.read_bytes()


def test_names_find_their_items_as_they_do_on_one_machine(tmp_path: Path) -> None:
    """Ids are strings in one file and integers in the other, and there is one of everything else."""
    (tmp_path / "plays.csv").write_text("user,item,count\nu,007,3\nu,12,1\nu,15,2\n")
    (tmp_path / "names.csv").write_text("id,name\n12,Blur\n15,Cure\n")
    options = ["fit", str(tmp_path / "plays.csv"), "--components", "1", "--max-iter", "3", "--tol", "0"]
    told = {}
    for number, more in ((0, []), (1, ["--workers", "1"])):
        output = tmp_path / f"{number}.safetensors"
        done = CliRunner().invoke(app, [*options, "--names", str(tmp_path / "names.csv"), "-o", str(output), *more])
        assert done.exit_code == 0, done.output
        assert "names for 2 of 3 items" in done.output
        told[number] = " ".join(done.output.split())
    assert (tmp_path / "0.safetensors").read_bytes() == (tmp_path / "1.safetensors").read_bytes()
    assert "Preparing 1 file of" in told[1]
    assert "1 user x 3 items, 3 counts up to 3, in 1 block on 1 worker" in told[1]
    assert "1 workers" not in told[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--workers", "2", "--cap", "3"], "--cap does not go with --workers"),
        (["--workers", "2", "--header"], "--header does not go with --workers"),
        (["--workers", "2", "--no-header"], "--no-header does not go with --workers"),
        (["--workers", "2", "--warm-start", "old"], "No such file|old"),
        (["--workers", "2", "--scheduler", "tls://x:1"], "give one of them"),
        (["--workers", "0"], "--workers must be at least 1, found 0"),
        (["--prepared", "x"], "--prepared is for a fit on a cluster"),
        (["--user-factors", "x"], "--user-factors is for a fit on a cluster"),
        (["--insecure"], "--insecure is for a fit on a cluster"),
        (["--scheduler", "tcp://10.0.0.1:8786"], "does not use TLS"),
    ],
)
def test_options_that_do_not_go_together_are_refused(plays: Path, options: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["fit", str(plays), "-o", str(plays.parent / "m.safetensors"), *options])
    assert done.exit_code == 2
    assert any(one in done.output for one in said.split("|")), done.output


def test_without_dask_it_is_said_what_to_install(plays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dcpf.distributed", None)  # as if it could not be imported
    done = CliRunner().invoke(app, ["fit", str(plays), "-o", str(plays.parent / "m.safetensors"), "--workers", "2"])
    assert done.exit_code == 2
    assert "internal error" not in done.output


def test_a_driver_that_is_killed_leaves_no_process_and_goes_on_to_the_same_model(plays: Path) -> None:
    folder, marker = plays.parent, f"dcpf-test-{os.getpid()}-{time.monotonic_ns()}"
    options = ["fit", str(plays), "--components", "3", "--max-iter", "60", "--tol", "0", "--neighbors", "0"]
    there = [
        *options,
        "-o",
        str(folder / "there.safetensors"),
        "--workers",
        "1",
        "--checkpoint",
        str(folder / "kept"),
    ]
    command = [sys.executable, "-m", "dcpf", *there]
    driver = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ | {"DCPF_MARKER": marker})
    until = time.monotonic() + 120
    while not (folder / "kept" / "checkpoint.json").exists() and time.monotonic() < until:
        assert driver.poll() is None
        time.sleep(0.02)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    while of_driver := marked(marker):
        assert time.monotonic() < until + 60, f"still there: {of_driver}"
        time.sleep(0.1)
    assert not (folder / "there.safetensors").exists()
    for arguments in ([*there, "--resume"], [*options, "-o", str(folder / "here.safetensors")]):
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
    assert (folder / "there.safetensors").read_bytes() == (folder / "here.safetensors").read_bytes()
    assert not (folder / "kept").exists()


def marked(marker: str) -> list[int]:
    """The processes that have this in their environment."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("DCPF_MARKER") == marker and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found
