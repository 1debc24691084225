"""Bad input, case by case: the exit code, and one line that names the place and the value."""

import gzip
import pickle
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import LEAN
from tests.cli.running import refused, run, run_alone

import dcpf

GOOD = "user,item,plays\nalice,s1,3\nbob,s2,1\nbob,s1,7\ncarl,s3,2\n"
GZIP = gzip.compress(GOOD.encode() * 50)
SIZED = pytest.mark.skipif(sys.platform == "win32", reason="no limit of file sizes there")

REFUSED = {
    "1 negative": (GOOD + "carl,s1,-4\n", ["plays.csv:6:", "'carl'", "'-4'"]),
    "2 NaN": (GOOD + "carl,s1,nan\n", ["plays.csv:6:", "'carl'", "NaN"]),
    "3 infinite": (GOOD + "carl,s1,inf\n", ["plays.csv:6:", "'carl'", "'inf'"]),
    "4 a fraction": (GOOD + "carl,s1,1.5\n", ["plays.csv:6:", "'carl'", "'1.5'", "--round-counts"]),
    "5 too large": (GOOD + "carl,s1,2147483648\n", ["plays.csv:6:", "'2147483648'", "2^31-1"]),
    "6 all zero": ("user,item,plays\nalice,s1,0\n", ["plays.csv:", "no interactions"]),
    "25 a missing column": ("who,item,plays\nalice,s1,1\n", ["who, item, plays", "user", "--user-column"]),
    "26 a bad line": (GOOD + "hello\n", ["plays.csv:6:", "1 field", "'hello'", "--skip-bad-lines"]),
    "27 a long row": (GOOD + "carl,s1,1,2\n", ["plays.csv:6:", "4 fields", "'carl,s1,1,2'"]),
    "29 not UTF-8": (GOOD.encode() + b"\xff,s1,1\n", ["plays.csv:6:", "UTF-8", "0xff"]),
    "30 an empty file": ("", ["plays.csv:", "empty"]),
    "30 a header only": ("user,item,plays\n", ["plays.csv:", "no interactions"]),
    "31 truncated .gz": (GZIP[: len(GZIP) // 2], ["plays.csv:", "cut off"]),
    "34 a decimal comma": (GOOD + 'carl,s1,"3,5"\n', ["plays.csv:6:", "'3,5'", "a comma for decimals"]),
}

TAKEN = {
    "10 repeated pairs": ("user,item,plays\nalice,s1,3\nbob,s2,1\nalice,s1,4\n", ["alice", "bob"]),
    "16 zero counts": ("user,item,plays\nalice,s1,3\nbob,s2,1\ncarl,s1,0\n", ["alice", "bob"]),
    "28 BOM, CRLF, quoted ids": ('\ufeffuser,item,plays\r\n"ann, jr",s1,3\r\nbob,s2,2\r\n', ["ann, jr", "bob"]),
    "28 no header": ("alice,s1,3\nbob,s2,1\n", ["alice", "bob"]),
    "32 id 007": ("user,item,plays\n007,s1,3\n7,s2,1\n", ["007", "7"]),
    "33 integers and strings": ("user,item,plays\n12,s1,3\nbob,s2,1\n", ["12", "bob"]),
    "34 counts 3.0 and 1e3": ("user,item,plays\nalice,s1,3.0\nbob,s2,1e3\n", ["alice", "bob"]),
}

OPTIONS = {
    "17 less than no components": ("--components", "-1"),
    "17 less than no neighbors": ("--neighbors", "-1"),
    "17 a prior of nobody": ("--neighbor-prior", "0"),
    "17 a shape that is no number": ("--shape-prior", "nan"),
    "17 no threads": ("--threads", "0"),
    "17 no iterations": ("--max-iter", "0"),
    "17 a negative tolerance": ("--tol", "-1"),
    "17 a tolerance that is no number": ("--tol", "nan"),
    "17 a negative seed": ("--seed", "-1"),
    "17 nothing is enough": ("--min-per-user", "0"),
    "17 capped to nothing": ("--cap", "0"),
    "17 an unknown element": ("--element", "gaussian"),
    "18 more of a user than there is": ("--min-per-user", "99"),
    "18 a delimiter of two": ("--delimiter", "ab"),
    "18 an option that is not there": ("--colour", "blue"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_counts_that_cannot_be_used_are_refused(case: str, tmp_path: Path) -> None:
    content, words = REFUSED[case]
    path = tmp_path / "plays.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    line = refused("fit", path, "-o", tmp_path / "m", *LEAN)
    assert [word for word in words if word not in line] == []
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("case", TAKEN)
@pytest.mark.filterwarnings("ignore:n_components")
def test_counts_that_only_look_odd_are_taken(case: str, tmp_path: Path) -> None:
    content, users = TAKEN[case]
    (tmp_path / "plays.csv").write_text(content, encoding="utf-8", newline="")
    result = run("fit", tmp_path / "plays.csv", "-o", tmp_path / "m", *LEAN)
    assert result.exit_code == 0, result.stderr
    assert list(dcpf.load(tmp_path / "m").users) == users


@pytest.mark.parametrize("case", OPTIONS)
def test_options_that_cannot_be_are_refused_by_name(case: str, tmp_path: Path) -> None:
    (tmp_path / "plays.csv").write_text(GOOD)
    option, value = OPTIONS[case]
    line = refused("fit", tmp_path / "plays.csv", "-o", tmp_path / "m", option, value)
    assert option.strip("-").replace("-", " ") in line.replace("-", " ").replace("_", " ")
    assert not (tmp_path / "m").exists()


def test_row_26_bad_lines_are_skipped_and_counted_if_asked(tmp_path: Path) -> None:
    (tmp_path / "plays.csv").write_text(GOOD + "hello\ncarl,s1,many\n")
    result = run("fit", tmp_path / "plays.csv", "-o", tmp_path / "m", *LEAN, "--skip-bad-lines")
    assert result.exit_code == 0, result.stderr
    why = "1 too few or too many fields, 1 no number"
    assert f"2 bad lines skipped ({why}), the first is {tmp_path / 'plays.csv'}:6" in result.stderr


def test_row_25_a_header_that_is_not_recognised_is_shown_and_no_skipping_is_offered(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text("Menge,Artikelnummer,Kundennr\n3,A-12,K7\n1,A-13,K8\n2,A-12,K8\n")
    line = refused("fit", path, "-o", tmp_path / "m", *LEAN)
    assert f"{path}: no header recognised; the first line is Menge, Artikelnummer, Kundennr." in line
    assert "choose them with --user-column, --item-column and --count-column (perhaps Menge)" in line
    assert "--skip-bad-lines" not in line
    line = refused("fit", path, "-o", tmp_path / "m", *LEAN, "--skip-bad-lines")
    assert f"nothing is left, 4 bad lines skipped; the first is {path}:1: the count of user 'Menge'" in line
    line = refused("fit", path, "-o", tmp_path / "m", *LEAN, "--no-header")  # who says so is believed
    assert "every row is like this" in line
    named = ("--user-column", "Kundennr", "--item-column", "Artikelnummer", "--count-column", "Menge")
    result = run("fit", path, "-o", tmp_path / "m", "--components", 1, *named)
    assert result.exit_code == 0, result.stderr
    assert "columns Kundennr (user), Artikelnummer (item), Menge (count)" in result.stderr


def test_row_28_columns_without_names_are_told_by_what_they_are_taken_for(tmp_path: Path) -> None:
    (tmp_path / "plays.csv").write_text("alice,s1,3\nbob,s2,1\nbob,s1,2\n")
    result = run("fit", tmp_path / "plays.csv", "-o", tmp_path / "m", "--components", 1)
    assert "columns 0 (user), 1 (item), 2 (count)" in result.stderr


@pytest.mark.filterwarnings("default:n_components")
def test_row_15_more_components_than_users_is_one_warning(tmp_path: Path) -> None:
    (tmp_path / "plays.csv").write_text(GOOD)
    result = run("fit", tmp_path / "plays.csv", "-o", tmp_path / "m", *LEAN, "--components", 9)
    assert result.exit_code == 0
    warning = "dcpf: warning: --components 9 is more than 3 users can tell apart\n"
    assert result.stderr.count(warning) == result.stderr.count("warning") == 1


def test_row_23_an_unknown_user_is_named_with_those_spelt_alike(model: Path) -> None:
    for command in (("recommend",), ("explain", "--item", "s1"), ("similar",)):
        line = refused(command[0], model, "--user", "alicia", *command[1:])
        assert "unknown user 'alicia'" in line
        assert "'alice'" in line


@pytest.mark.filterwarnings("default:1 of 4 items")
def test_row_24_an_unknown_item_in_a_history_is_skipped_and_counted(model: Path, folder: Path) -> None:
    result = run("recommend", model, "--user", "zoe", "--history", folder / "history.csv")
    assert result.exit_code == 0
    assert result.stderr.count("dcpf: warning: 1 of 4 items are unknown") == result.stderr.count("\n") == 1


def test_row_36_more_than_is_left_gives_what_there_is(model: Path) -> None:
    fitted = dcpf.load(model)
    left = 20 - fitted.history[[fitted.users.find("bob")]].nnz
    result = run("recommend", model, "--user", "bob", "-n", 1000)
    assert result.stdout.count("%") == left


@SIZED
@pytest.mark.parametrize("what", ["a model", "a table"])
def test_row_38_a_full_disk_is_code_1_and_the_old_file_stays(
    what: str, model: Path, plays: Path, tmp_path: Path
) -> None:
    import resource

    target = tmp_path / ("out.safetensors" if what == "a model" else "out.csv")
    old = model.read_bytes()
    target.write_bytes(old)
    asked = ("fit", plays, "-o", target, *LEAN) if what == "a model" else ("recommend", model, "--all", "-o", target)
    result = run_alone(*asked, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)))
    assert result.returncode == 1, result.stderr
    last = result.stderr.splitlines()[-1]
    assert last.startswith(f"dcpf: {target}: not ")
    assert "too large" in last
    assert "Traceback" not in result.stderr
    assert target.read_bytes() == old
    assert [one.name for one in tmp_path.iterdir()] == [target.name]


def test_row_38_a_folder_that_may_not_be_written_to_is_refused_at_once(
    plays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcpf.cli.output.os.access", lambda path, mode: Path(path) != tmp_path)  # root may write
    assert str(tmp_path) in refused("fit", plays, "-o", tmp_path / "m")


@pytest.mark.parametrize("command", ["recommend", "similar", "inspect", "explain"])
@pytest.mark.parametrize(
    "case", ["39 cut short", "39 not ours", "39 a pickle", "39 empty", "39 missing", "39 folder"]
)
def test_what_is_no_model_is_refused(case: str, command: str, model: Path, tmp_path: Path) -> None:
    contents = {
        "39 cut short": model.read_bytes()[:-1],
        "39 not ours": b"user,item,plays\n",
        "39 a pickle": pickle.dumps({"weights": [1.0]}),
        "39 empty": b"",
    }
    path = tmp_path / "m.safetensors"
    if case in contents:
        path.write_bytes(contents[case])
    elif case == "39 folder":
        path.mkdir()
    users = {"recommend": ("--user", "a"), "similar": ("--user", "a"), "explain": ("--user", "a", "--item", "b")}
    assert str(path) in refused(command, path, *users.get(command, ()))
    assert run("doctor", path).exit_code == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--min-per-user", "99"], "--min-per-user 99 and --min-per-item 1"),
        (["--components", "0", "--neighbors", "0"], "--components and --neighbors are both 0"),
    ],
)
def test_options_are_called_as_they_are_typed(options: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "plays.csv").write_text(GOOD)
    output = str(tmp_path / "m.safetensors")
    assert said in refused("fit", str(tmp_path / "plays.csv"), "-o", output, *options)


def test_an_empty_name_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plays.csv").write_text(GOOD)
    assert "FILE is empty" in refused("fit", "", "-o", "m.safetensors")
