"""Numbers, files and errors as the commands show them."""

import os
import stat
from pathlib import Path

import pytest
import typer
from tests.cli.running import run, run_alone

from dcpf import elements
from dcpf.cli import main
from dcpf.cli.files import whole_file
from dcpf.cli.output import format_numbers, printable, progress_bar, without_nan
from dcpf.progress import Iteration, ProgressBar
from dcpf.text import clock


def test_a_column_of_numbers_has_as_many_decimals_as_its_largest_needs() -> None:
    assert format_numbers([0.5, 2.345, 12.0]) == ["0.5", "2.3", "12.0"]
    assert format_numbers([2.345, 0.001]) == ["2.35", "0.00"]
    assert format_numbers([0.0234, 0.00001]) == ["0.0234", "0.0000"]
    assert format_numbers([12345.6, 7.0]) == ["12,346", "7"]
    assert format_numbers([0.5, 0.01], percent=True) == ["50.0%", "1.0%"]
    assert format_numbers([float("nan"), 1.0, float("inf")]) == ["-", "1.00", "-"]
    assert (format_numbers([]), format_numbers([0.0])) == ([], ["0.0"])


def test_a_name_cannot_act_on_the_terminal() -> None:
    assert printable("a\x1b[31mb\rc\nd\u2028e") == "a\ufffd[31mb\ufffdc\ufffdd\ufffde"
    assert printable("Björk [bold] 椎名林檎 👩‍🎤") == "Björk [bold] 椎名林檎 👩‍🎤"


def test_times_and_what_is_no_number() -> None:
    assert (clock(7.4), clock(720), clock(3723)) == ("0:07", "12:00", "1:02:03")
    assert without_nan({"a": [float("nan"), (1.0, float("-inf"))], "b": "nan"}) == {
        "a": [None, [1.0, None]],
        "b": "nan",
    }


def test_a_fit_tells_the_time_that_is_left_at_most_without_that_for_compiling(
    capfd: pytest.CaptureFixture[str],
) -> None:
    law = elements.get("geometric")
    with ProgressBar(12, shown=True) as bar:
        bar.say("[bold]notes[/bold] stay as they are")
        bar.show(Iteration(1, -1234567.0, law, 30.0), last=False)
        bar.show(Iteration(3, -1234.5, law, 34.0), last=False)
    said = capfd.readouterr().err
    assert "3/12 bound -1,234.50 p 0.5  0:34, at most 0:18 left" in said  # nine times two seconds
    assert said.startswith("[bold]notes[/bold] stay")


def test_an_interrupted_progress_bar_says_what_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    words = "1 fit is kept; the same command resumes from there"
    with (
        pytest.raises(KeyboardInterrupt, match=words),
        progress_bar("starting", 3, lambda: "1 fit is kept") as update,
    ):
        update(1, description="the second", line="2/3 the\nsecond")
        raise KeyboardInterrupt
    assert capfd.readouterr().err == "  2/3 the\ufffdsecond\n"  # there is no terminal
    with pytest.raises(KeyboardInterrupt, match=r"^$"), progress_bar("reading", of_bytes=True) as update:
        update(1, 2)
        raise KeyboardInterrupt


def test_a_file_that_fails_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(RuntimeError), whole_file(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_text() == "old"
    with whole_file(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="no such permissions there")
def test_a_new_file_has_the_usual_permissions_and_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with whole_file(tmp_path / "link") as file:
        file.write(b"x")
    usual = tmp_path / "usual"
    usual.touch()
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE((tmp_path / "target").stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ValueError("a\nb"), 2, "dcpf: a b\n"),
        (FileNotFoundError(2, "No such file", "x"), 2, "dcpf: x: No such file\n"),
        (PermissionError(13, "Permission denied", "x"), 2, "dcpf: x: Permission denied\n"),
        (OSError(28, "No space left on device", "x"), 1, "dcpf: x: No space left on device\n"),
        (MemoryError(), 1, "dcpf: MemoryError\n"),
        (FloatingPointError("iteration 3"), 1, "dcpf: iteration 3\n"),
        (KeyError("k"), 1, "dcpf: internal error: KeyError: 'k'; `dcpf --debug ...` shows where\n"),
        (KeyboardInterrupt(), 130, "dcpf: interrupted\n"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, BaseException) else None,
)
def test_every_error_is_one_line_and_a_code(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "app", typer.Typer(cls=main.PlainErrors, rich_markup_mode=None))
    main.app.callback()(main.main)

    @main.app.command()
    def fail() -> None:
        raise error

    from typer.testing import CliRunner

    result = CliRunner().invoke(main.app, ["fail"])
    assert (result.exit_code, result.stderr, result.stdout) == (code, said, "")
    if code != 130:
        assert CliRunner().invoke(main.app, ["--debug", "fail"]).exception is error


@pytest.mark.parametrize("arguments", [("fitt",), ("fit",), ("--colour",), ("inspect", "a", "b")])
def test_a_mistake_in_the_command_is_one_line_that_points_to_help(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("dcpf: ")
    assert result.stderr.count("\n") == 1
    assert "--help" in result.stderr


def test_exit_codes_and_streams_are_the_same_in_a_process_of_its_own(tmp_path: Path) -> None:
    result = run_alone("inspect", tmp_path / "nothing")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"dcpf: {tmp_path / 'nothing'}: No such file or directory\n"
    assert run_alone("--version").returncode == 0


def test_completion_can_be_shown_for_a_shell() -> None:
    environment = {**os.environ, "_DCPF_COMPLETE": "complete_bash", "COMP_WORDS": "dcpf ins", "COMP_CWORD": "1"}
    code = "from dcpf.cli.main import app; app(prog_name='dcpf')"
    import subprocess
    import sys

    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert result.stdout.split() == ["inspect"]
    assert "--install-completion" in run("--help").stdout
