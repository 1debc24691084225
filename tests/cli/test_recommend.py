"""dcpf recommend: tables for people, JSON and files for programs, the same numbers as from Python."""

import json
import math
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.cli.running import TRICKY, printed, refused, run

import dcpf
from dcpf.cli import recommend as command

pytestmark = pytest.mark.quick


def test_json_is_what_python_recommends(model: Path) -> None:
    expected = dcpf.load(model).recommend(["bob", "alice"], 4).to_frame()
    users = ("--user", "bob", "--user", "alice", "--user", "bob")
    assert printed("recommend", model, *users, "-n", 4) == expected.to_dicts()


def test_integer_ids_are_typed_as_digits_and_come_back_as_integers(numbered: Path) -> None:
    found = printed("recommend", numbered, "--user", "103", "-n", 2)
    assert [one["user"] for one in found] == [103, 103]
    assert all(isinstance(one["item"], int) for one in found)


def test_what_is_no_number_is_null_in_json_and_a_dash_in_the_table(numbered: Path) -> None:
    found = printed("recommend", numbered, "--user", "103", "-n", 2)
    assert [one["count"] for one in found] == [None, None]  # the binary limit knows no count
    assert " - " in run("recommend", numbered, "--user", "103", "-n", 2).stdout


def test_the_table_has_rank_item_name_and_what_is_expected(model: Path) -> None:
    fitted = dcpf.load(model)
    result = run("recommend", model, "--user", "bob", "-n", 3)
    seen = fitted.history[[fitted.users.find("bob")]]
    assert f"User bob has {seen.nnz} items; most sessions (and count): " in result.stdout
    rows = [line.split() for line in result.stdout.splitlines() if line.lstrip()[:2] in ("1 ", "2 ", "3 ")]
    (items, sessions) = fitted.recommend("bob", 3)
    assert [row[1] for row in rows] == items.tolist()
    assert [float(row[-3]) for row in rows] == pytest.approx(sessions, rel=0.01)
    assert [float(row[-1].rstrip("%")) for row in rows] == pytest.approx(
        [100 * -math.expm1(-one) for one in sessions], abs=0.06
    )
    assert result.stderr == ""


def test_tables_fit_80_columns_with_long_names_cropped_and_markup_shown_as_it_is(model: Path) -> None:
    result = run("recommend", model, "--user", "bob", "--user", "alice", "-n", 20, "--include-seen")
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(TRICKY in line and "%" in line for line in lines) == 2
    assert sum("An extremely long name" in line and "…" in line and "%" in line for line in lines) == 2


def test_seen_items_are_left_out_or_included(model: Path) -> None:
    seen = {"s0", "s1", "s2"}
    assert seen.isdisjoint(one["item"] for one in printed("recommend", model, "--user", "alice", "-n", 20))
    included = printed("recommend", model, "--user", "alice", "-n", 20, "--include-seen")
    assert seen < {one["item"] for one in included}
    assert len(included) == 20


def test_items_are_allowed_and_denied_by_id_or_name(model: Path) -> None:
    options = ("--user", "alice", "--include-seen", "-n", 20)
    assert {
        one["item"] for one in printed("recommend", model, *options, "--allow", "nina simone", "--allow", "s9")
    } == {
        "s0",
        "s9",
    }
    denied = printed("recommend", model, *options, "--deny", TRICKY, "--deny", "s7")
    assert {one["item"] for one in denied} == {f"s{i}" for i in range(20)} - {"s1", "s7"}
    assert "unknown item 'nobody'" in refused("recommend", model, *options, "--deny", "nobody")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_one_user_of_the_history_and_one_of_the_model_have_a_table_each(model: Path, folder: Path) -> None:
    for users in (("zoe", "bob"), ("bob", "zoe")):
        typed = [word for user in users for word in ("--user", user)]
        result = run("recommend", model, *typed, "-n", 2, "--history", folder / "history.csv")
        assert result.exit_code == 0
        assert [line.split()[1] for line in result.stdout.splitlines() if line.startswith("User ")] == list(users)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_history_is_folded_in_and_its_unknown_items_are_counted(model: Path, folder: Path) -> None:
    fresh = dcpf.read_counts(folder / "history.csv")
    expected = dcpf.load(model).recommend(["zoe"], 5, history=fresh).to_frame().to_dicts()
    assert printed("recommend", model, "--user", "zoe", "-n", 5, "--history", folder / "history.csv") == expected
    everyone = printed("recommend", model, "--all", "-n", 1, "--history", folder / "history.csv")
    assert [one["user"] for one in everyone] == ["alice", "zoe"]
    table = run("recommend", model, "--user", "zoe", "--history", folder / "history.csv").stdout
    assert "User zoe has 2 items; most sessions (and count): " in table


def test_an_unknown_user_may_be_shown_what_is_popular(model: Path, numbered: Path) -> None:
    for path in (model, numbered):
        result = run("recommend", path, "--user", "nobody", "--unknown", "popular", "-n", 2)
        assert "User nobody is unknown; popular items instead" in result.stdout
    both = printed("recommend", numbered, "--user", "nobody", "--user", "103", "--unknown", "popular", "-n", 1)
    assert [one["user"] for one in both] == ["nobody", "103"]  # of one kind, as a table needs it


def test_nothing_left_is_said_and_not_an_error(model: Path) -> None:
    result = run("recommend", model, "--user", "alice", "--allow", "s0")
    assert (result.exit_code, "Nothing is left to recommend." in result.stdout) == (0, True)
    assert printed("recommend", model, "--user", "alice", "--allow", "s0") == []


@pytest.mark.parametrize("block", [7, 8192])
@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_all_users_go_into_a_file_block_after_block(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, block: int
) -> None:
    monkeypatch.setattr(command, "_BLOCK", block)
    expected = dcpf.load(model).recommend(n=3).to_frame()
    path = tmp_path / f"lists.{ending}"
    path.write_text("old")
    result = run("recommend", model, "--all", "-n", 3, "-o", path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"dcpf: {expected.height} rows written to {path}\n"
    if ending == "json":
        assert json.loads(path.read_text(encoding="utf-8")) == expected.to_dicts()
    else:
        found = pl.read_parquet(path) if ending == "parquet" else pl.read_csv(path)
        assert_frame_equal(found, expected, check_exact=True)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_an_empty_table_is_a_file_too(model: Path, tmp_path: Path) -> None:
    for ending in ("parquet", "csv", "json"):
        path = tmp_path / f"none.{ending}"
        result = run("recommend", model, "--user", "alice", "--allow", "s0", "-o", path)
        assert (result.exit_code, result.stderr) == (0, f"dcpf: 0 rows written to {path}\n")
    assert json.loads((tmp_path / "none.json").read_text()) == []
    assert pl.read_csv(tmp_path / "none.csv").columns == pl.read_parquet(tmp_path / "none.parquet").columns


def test_a_model_without_its_counts_says_how_to_be_asked(bare: Path, folder: Path) -> None:
    assert "without its training counts" in refused("recommend", bare, "--user", "alice")
    assert "without its training counts" in refused("recommend", bare, "--user", "alice", "--include-seen")
    assert (
        "User alice has 8 items"
        in run("recommend", bare, "--user", "alice", "--history", folder / "plays.csv").stdout
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "give --user"),
        (("--user", "bob", "--all", "--json"), "give --user"),
        (("--all",), "-o"),
        (("--all", "-o", "lists.txt"), ".parquet, .csv, .json, found '.txt'"),
        (("--all", "-o", "lists"), "found 'none'"),
        (("--all", "-o", "lists.csv", "--json"), "-o and --json"),
        (("--user", "bob", "-n", "0"), "-n must be at least 1, found 0"),
        (("--user", "bob", "-n", "many"), "'-n'"),
        (("--user", "bob", "--threads", "0"), "--threads must be at least 1, found 0"),
        (("--user", "bob", "--unknown", "guess"), "'guess'"),
    ],
)
def test_options_that_make_no_sense_are_refused(model: Path, options: tuple[str, ...], words: str) -> None:
    assert words in refused("recommend", model, *options)
