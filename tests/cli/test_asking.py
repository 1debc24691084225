"""dcpf similar, explain, inspect and doctor: the same answers as from Python, in tables and as JSON."""

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.cli.running import TRICKY, printed, refused, run, run_alone

import dcpf
from dcpf.cli.inspect import sparkline


def test_similar_items_are_those_of_python_and_an_item_goes_by_its_name(model: Path) -> None:
    expected = dcpf.load(model).similar_items("s0", 4).to_frame().to_dicts()
    for spelt in ("s0", "Nina Simone", "NINA simone"):
        assert printed("similar", model, "--item", spelt, "-n", 4) == expected
    table = run("similar", model, "--item", "s0", "-n", 4).stdout
    assert table.startswith("Similar to Nina Simone (")
    assert all(f"{one['item']} " in table and f"{one['similarity']:.3f}" in table for one in expected)


def test_an_item_similar_to_none_says_so_and_a_table_of_names_is_told_what_it_wants(tmp_path: Path) -> None:
    counts = dcpf.Counts.from_matrix([[3, 1, 0], [2, 2, 0], [0, 0, 4]], ["a", "b", "c"], ["1", "2", "3"])
    lonely = dcpf.DCPF(1, random_state=0).fit(counts.with_names({"1": "one", "2": "two"}))
    lonely.save(tmp_path / "m.safetensors")
    assert "Nothing is similar" in run("similar", tmp_path / "m.safetensors", "--item", "3").stdout
    with pytest.warns(UserWarning, match="such as 'two', which is a name: tables have ids, here '2'"):
        lonely.recommend("z", history=dcpf.Counts.from_matrix([[5, 1]], ["z"], ["1", "two"]))


def test_similar_users_are_those_of_python(model: Path, numbered: Path) -> None:
    assert printed("similar", model, "--user", "bob") == dcpf.load(model).similar_users("bob").to_frame().to_dicts()
    found = printed("similar", numbered, "--user", "101", "-n", 2)
    assert [one["to_user"] for one in found] == [101, 101]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "Give --item or --user"),
        (("--item", "s0", "--user", "bob"), "one of them"),
        (("--item", "Nina Simon"), "did you mean 'Nina Simone'"),
        (("--item", "twice"), "2 items are called 'twice': 's2' (Twice), 's3' (Twice); choose one by its id"),
        (("--item", ""), "unknown item ''"),
        (("--user", "bobb"), "did you mean 'bob'"),
        (("--item", "s0", "-n", "-1"), "-n must be at least 1, found -1"),
    ],
)
def test_what_similar_cannot_find_is_named(model: Path, options: tuple[str, ...], words: str) -> None:
    assert words in refused("similar", model, *options)


def test_explain_prints_a_score_whose_parts_add_up(model: Path) -> None:
    told = printed("explain", model, "--user", "bob", "--item", TRICKY)
    assert told == dcpf.load(model).explain("bob", "s1").to_dict()
    result = run("explain", model, "--user", "bob", "--item", "s1", "-n", 2)
    assert result.exit_code == 0, result.stderr
    assert f"bob and {TRICKY}\n" in result.stdout
    words = " ".join(result.stdout.split())
    assert re.search(r"Expected: [\d.]+ sessions \(90% between [\d.]+ and [\d.]+\), a count of [\d.]+\.", words)
    history, components = result.stdout.split("By component")
    others = len(told["history"]) - 2
    assert f"({others} other items)" in history
    shares = [int(one) for one in re.findall(r"(\d+)%\s*\n", history.split("By item of the history")[1])]
    assert len(shares) == 4
    assert sum(shares) == pytest.approx(100, abs=2)
    assert sum(int(one) for one in re.findall(r"(\d+)%\s*\n", components)) == pytest.approx(100, abs=2)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_explain_takes_a_history(model: Path, folder: Path) -> None:
    options = ("--user", "zoe", "--item", "s1", "--history", folder / "history.csv")
    told = printed("explain", model, *options)
    assert [(one["item"], one["count"]) for one in sorted(told["history"], key=lambda one: one["item"])] == [
        ("s0", 2),
        ("s7", 9),
    ]
    assert "without any history" in run("explain", model, *options).stdout


def test_explain_in_the_binary_limit_speaks_of_no_count(numbered: Path) -> None:
    result = run("explain", numbered, "--user", "101", "--item", "505")
    assert result.exit_code == 0, result.stderr
    assert "a count of" not in result.stdout


@pytest.mark.parametrize("which", ["model", "numbered", "bare"])
def test_inspect_prints_the_description_of_the_model(which: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(which)
    told = printed("inspect", path, "--components", 2, "-n", 3)
    file = told.pop("file")
    assert told == dcpf.load(path).describe(2, 3).to_dict()
    assert file == {"path": str(path), "bytes": path.stat().st_size, "format": 1, "dcpf": dcpf.__version__}
    result = run("inspect", path, "--components", 2, "-n", 3)
    assert max(map(len, result.stdout.splitlines())) <= 80
    story = ["30 users x 20 items, 3 components", told["element"], "The bound after 40 iterations", "Most active"]
    story += [str(told["most_active"][0]["id"]), "Most popular", str(told["most_popular"][0]["id"])]
    story.append("The largest components")
    places = [result.stdout.find(part) for part in story]
    assert -1 not in places
    assert places == sorted(places)
    assert ("with its counts" in result.stdout) == (which != "bare")


def test_the_line_of_blocks_rises_with_the_values() -> None:
    assert sparkline(tuple(range(8))) == "▁▂▃▄▅▆▇█"
    assert sparkline((1.0,)) == sparkline((2.0, 2.0))[:1] == "█"
    long = sparkline(tuple(range(1000)))
    assert (len(long), long[0], long[-1]) == (40, "▁", "█")
    assert list(long) == sorted(long)


def test_doctor_tells_versions_cores_and_where_compiled_code_is(model: Path) -> None:
    found = printed("doctor")
    assert found["versions"]["dcpf"] == dcpf.__version__
    assert found["versions"]["numba"] == version("numba")
    assert found["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["machine"]["threads used"] >= 1
    assert found["compiled code"]["files"] > 0  # the fit before has compiled some
    assert "model" not in found
    result = run("doctor", model)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.endswith(f"{model}: ok\n")


def test_without_a_place_for_compiled_code_doctor_says_so_and_a_command_that_compiles_warns_once(
    model: Path, tmp_path: Path
) -> None:
    nowhere = "import numba.core.caching as of; of.CacheImpl._locator_classes = []; from dcpf.cli.main import app; "
    (tmp_path / "fresh.csv").write_text("user,item,plays\nzoe,s0,2\n")
    fold_in = ["recommend", str(model), "--user", "zoe", "--history", str(tmp_path / "fresh.csv")]
    for asked, told, warned in ((["doctor"], 1, 0), (["similar", str(model), "--item", "s0"], 0, 0), (fold_in, 0, 1)):
        command = [sys.executable, "-c", f"{nowhere} app({asked})"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        assert result.stdout.count("no folder to cache compiled code in") == told
        assert result.stderr.count("NUMBA_CACHE_DIR") == result.stderr.count("\n") == warned


def test_a_command_that_compiles_says_so_once_and_the_next_finds_it_compiled(model: Path, tmp_path: Path) -> None:
    (tmp_path / "fresh.csv").write_text("user,item,plays\nzoe,s0,2\n")
    cache = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for remark in ("dcpf: compiling for this machine, once: this can take half a minute\n", ""):
        result = run_alone("recommend", model, "--user", "zoe", "--history", tmp_path / "fresh.csv", env=cache)
        assert (result.returncode, result.stderr) == (0, remark)


def test_doctor_finds_one_flipped_bit_that_no_other_command_looks_for(model: Path, tmp_path: Path) -> None:
    content = bytearray(model.read_bytes())
    content[-100] ^= 1
    damaged = tmp_path / "damaged"
    damaged.write_bytes(content)
    assert run("inspect", damaged).exit_code == 0
    result = run("doctor", damaged)
    assert result.exit_code == 2
    assert re.fullmatch(rf"dcpf: {damaged}: .*checksum.*\n", result.stderr)
    assert ": ok" not in result.stdout
    as_json = run("doctor", damaged, "--json")
    assert (as_json.exit_code, '"ok": false' in as_json.stdout) == (2, True)
