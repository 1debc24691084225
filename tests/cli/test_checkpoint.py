"""dcpf fit --checkpoint and --resume: what is killed or stopped goes on, and nothing is overwritten."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import LEAN
from tests.cli.running import refused, run

from dcpf.store import CheckpointFolder

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")

# Each iteration is told on standard output, and then waits for a line, so that a signal comes at a known moment.
STEPWISE = """if True:
    import signal, sys
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which is ignored where tests run in the background
    from dcpf.inference import vbem
    visit = vbem.Ascent.visit
    def told(self, point):
        print("visit", flush=True)
        sys.stdin.readline()
        return visit(self, point)
    vbem.Ascent.visit = told
    from dcpf.cli.main import app
    app()
"""


def begun(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", STEPWISE, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def go_on(process: subprocess.Popen[str], visits: int) -> None:
    """Until it is in the middle of a visit, after so many whole ones."""
    assert process.stdin is not None and process.stdout is not None
    for _ in range(visits):
        assert process.stdout.readline() == "visit\n"
        process.stdin.write("\n")
        process.stdin.flush()
    assert process.stdout.readline() == "visit\n"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


@pytest.fixture(scope="session")
def undisturbed(plays: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("undisturbed") / "m"
    assert run("fit", plays, "-o", path, *LEAN).exit_code == 0
    return path.read_bytes()


def test_a_fit_with_checkpoints_writes_the_same_model_and_leaves_none(
    plays: Path, tmp_path: Path, kept: Path, undisturbed: bytes
) -> None:
    assert run("fit", plays, "-o", tmp_path / "m", *LEAN, "--checkpoint", kept).exit_code == 0
    assert (tmp_path / "m").read_bytes() == undisturbed
    assert [one.name for one in tmp_path.iterdir()] == ["m"]


@posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=str)
def test_a_signal_stops_after_the_iteration_and_the_same_command_goes_on(
    plays: Path, tmp_path: Path, kept: Path, undisturbed: bytes, number: int, code: int
) -> None:
    command = ("fit", plays, "-o", tmp_path / "m", *LEAN, "--checkpoint", kept)
    process = begun(*command)
    go_on(process, 3)
    process.send_signal(number)
    _, said = process.communicate("\n" * 5, timeout=60)
    assert process.returncode == code, said
    done = CheckpointFolder(kept).manifest().number
    assert done in (3, 4)  # visits and iterations differ by steps that were taken back
    words = f"dcpf: stopped after iteration {done}; {tmp_path / 'm'} was not written; run the same command with"
    assert said.splitlines()[-1] == f"{words} --resume to continue"
    assert "Traceback" not in said
    assert "add --resume to continue it, or remove" in refused(*command)
    result = run(*command, "--resume")
    assert result.exit_code == 0, result.stderr
    assert f"resumes from the checkpoint in {kept}, after iteration {done}" in result.stderr
    assert (tmp_path / "m").read_bytes() == undisturbed
    assert [one.name for one in tmp_path.iterdir()] == ["m"]


@posix
def test_a_second_interrupt_stops_at_once_and_keeps_the_last_whole_iteration(
    plays: Path, tmp_path: Path, kept: Path, undisturbed: bytes
) -> None:
    command = ("fit", plays, "-o", tmp_path / "m", *LEAN, "--checkpoint", kept)
    process = begun(*command)
    go_on(process, 3)
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    while "Ctrl-C again stops at once" not in (line := process.stderr.readline()):
        assert line
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)  # nobody lets the iteration end
    assert process.returncode == 130
    assert f"dcpf: interrupted; {tmp_path / 'm'} was not written; run the same command with --resume to" in said
    assert CheckpointFolder(kept).manifest().number in (2, 3)
    assert run(*command, "--resume").exit_code == 0
    assert (tmp_path / "m").read_bytes() == undisturbed


@posix
def test_a_killed_fit_goes_on_from_the_tenth_iteration(
    plays: Path, tmp_path: Path, kept: Path, undisturbed: bytes
) -> None:
    command = ("fit", plays, "-o", tmp_path / "m", *LEAN, "--checkpoint", kept)
    process = begun(*command)
    go_on(process, 15)
    process.kill()
    process.communicate()
    assert CheckpointFolder(kept).manifest().number == 10
    result = run(*command, "--resume")
    assert "after iteration 10" in result.stderr
    assert (tmp_path / "m").read_bytes() == undisturbed
    assert [one.name for one in tmp_path.iterdir()] == ["m"]


def test_more_iterations_are_made_of_a_fit_that_was_not_saved(
    plays: Path, tmp_path: Path, kept: Path, undisturbed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full when the model is written costs nothing."""
    from dcpf import store

    def full(*_: object) -> None:
        raise OSError(28, "not saved: No space left on device", "m")

    short = ("fit", plays, "-o", tmp_path / "m", *LEAN, "--checkpoint", kept)
    with monkeypatch.context() as patch:
        patch.setattr(store, "write", full)
        result = run(*short, "--max-iter", 20)
    assert (result.exit_code, "No space left" in result.stderr) == (1, True)
    assert CheckpointFolder(kept).manifest().number == 20
    assert run(*short, "--resume").exit_code == 0
    assert (tmp_path / "m").read_bytes() == undisturbed


def test_resume_without_a_checkpoint_begins_and_says_so(
    plays: Path, tmp_path: Path, kept: Path, undisturbed: bytes
) -> None:
    result = run("fit", plays, "-o", tmp_path / "m", *LEAN, "--checkpoint", kept, "--resume")
    assert f"No checkpoint in {kept}: the fit starts afresh" in result.stderr
    assert (tmp_path / "m").read_bytes() == undisturbed


def test_what_cannot_be_gone_on_from_is_refused(plays: Path, model: Path, tmp_path: Path, kept: Path) -> None:
    base = ("fit", plays, "-o", tmp_path / "m", *LEAN)
    assert "--resume needs --checkpoint" in refused(*base, "--resume")
    assert "there is no folder" in refused(*base, "--checkpoint", tmp_path / "no" / "where")
    assert "is no folder" in refused(*base, "--checkpoint", model)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    said = refused(*base, "--checkpoint", tmp_path / "mine")
    assert "holds other files than checkpoints, such as 'thesis.txt'; name a new or empty folder" in said
    kept.mkdir()
    assert "is in the checkpoint folder" in refused("fit", plays, "-o", kept / "m", *LEAN, "--checkpoint", kept)
    assert [one.name for one in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_another_fit_than_the_checkpoints_is_refused_with_both_values(
    plays: Path, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dcpf import store

    command = ("fit", plays, "-o", tmp_path / "m", *LEAN, "--checkpoint", kept)
    with monkeypatch.context() as patch:
        patch.setattr(store, "write", lambda *_: 1 / 0)
        assert run(*command).exit_code == 1
    for changed, words in (
        (("--components", 5), "--components 3, now 5;"),
        (("--seed", 7), "--seed 0, now 7;"),
        (("--cap", 2), "data=30 users x 20 items"),
        (("--float64",), "dtype=float32, now float64;"),
    ):
        result = run(*command, "--resume", *changed)
        assert result.exit_code == 2
        last = result.stderr.splitlines()[-1]
        assert last.startswith(f"dcpf: {kept}: the checkpoint was made with ")
        assert words in last
    said = run(*command, "--resume", "--max-iter", 30).stderr
    assert "has made 40 iterations already, but --max-iter is 30" in said
    assert run(*command, "--resume", "--threads", 2).exit_code == 0


@pytest.mark.parametrize("damage", ["cut", "flipped", "gone", "manifest"])
def test_a_damaged_checkpoint_is_refused_and_left_alone(
    plays: Path, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    from dcpf import store

    command = ("fit", plays, "-o", tmp_path / "m", *LEAN, "--checkpoint", kept)
    with monkeypatch.context() as patch:
        patch.setattr(store, "write", lambda *_: 1 / 0)
        run(*command)
    file = kept / CheckpointFolder(kept).manifest().file
    data = file.read_bytes()
    if damage == "cut":
        file.write_bytes(data[:-9])
    elif damage == "flipped":
        file.write_bytes(data[:-9] + bytes([data[-9] ^ 4]) + data[-8:])
    elif damage == "gone":
        file.unlink()
    else:
        (kept / "checkpoint.json").write_text("{")
    before = sorted(kept.iterdir())
    result = run(*command, "--resume")
    assert result.exit_code == 2
    assert f"remove {kept} to start afresh" in result.stderr.splitlines()[-1]
    assert sorted(kept.iterdir()) == before
