"""dcpf data: the paper's data sets, from their original files to a file of counts."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from tests.cli.running import printed, refused, run, run_alone
from tests.paper import originals

import dcpf
from dcpf.paper.data_sets import DATA_SETS, read


def write(folder: Path, name: str) -> Path:
    """A small original."""
    if name == "taste-profile":
        return originals.write(folder, originals.TRIPLETS, originals.triplets(40, 35)[0], "zip")
    if name == "lastfm":
        tracks = [f'7" Mix, {j}' for j in range(24)]
        lines = [
            originals.play(u, "2008-02-03T04:05:06Z", "A; B", track, f"id-{j}" if j % 2 else "")
            for u in range(30)
            for j, track in enumerate(tracks)
            for _ in range(1 + (u * j) % 3)
        ]
        return originals.write(folder, originals.PLAYS, "".join(lines), "tar.gz")
    return originals.write(folder, originals.WORDS, originals.words(np.arange(30 * 12).reshape(30, 12) % 5))


by_name = pytest.mark.parametrize("name", DATA_SETS)


@by_name
@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_what_is_written_reads_back_as_it_was_with_names(tmp_path: Path, name: str, ending: str) -> None:
    original, output = write(tmp_path, name), tmp_path / f"out{ending}"
    result = run("data", name, original, "-o", output)
    assert result.exit_code == 0, result.stderr
    expected = read(name, original)
    names = None if expected.names is None else output
    found = dcpf.read_counts(output, names=names)
    assert (found.users, found.items, found.names) == (expected.users, expected.items, expected.names)
    assert (found.matrix != expected.matrix).nnz == 0
    assert (found.names is None) == (name != "lastfm")


@by_name
def test_figures_stand_beside_those_of_the_paper(tmp_path: Path, name: str) -> None:
    original, output = write(tmp_path, name), tmp_path / "out.parquet"
    result = run("data", name, original, "-o", output)
    counts, of_paper = read(name, original), DATA_SETS[name].paper
    data = counts.matrix.data
    rows = dict(re.findall(r"^ (\S.*?) {2,}(.*?) *$", result.stdout, re.MULTILINE))
    wanted = {
        "rows (users)": (f"{counts.shape[0]:,}", f"{of_paper.users:,}"),
        "columns (items)": (f"{counts.shape[1]:,}", f"{of_paper.items:,}"),
        "non-zeros": (f"{counts.nnz:,}", f"{of_paper.entries:,}"),
        "share of non-zeros": (f"{counts.nnz / np.prod(counts.shape):.2%}", f"{of_paper.share:.2%}"),
        "mean of non-zeros": (f"{data.mean():.2f}", f"{of_paper.mean:.2f}"),
        "variance": (f"{data.var():.2f}", f"{of_paper.variance:.2f}"),
        "variance / mean": (f"{data.var() / data.mean():.1f}", f"{of_paper.ratio:.1f}"),
    }
    assert {title: tuple(rows[title].split()) for title in wanted} == wanted
    for note in counts.notes:
        assert note in result.stderr


def test_json_tells_the_same(tmp_path: Path) -> None:
    original, output = write(tmp_path, "lastfm"), tmp_path / "out.parquet"
    told = printed("data", "lastfm", original, "-o", output)
    counts = read("lastfm", original)
    assert (told["data"], told["file"], told["notes"]) == ("lastfm", str(output), list(counts.notes))
    assert (told["users"], told["items"], told["entries"]) == (*counts.shape, counts.nnz)
    assert told["ratio"] == pytest.approx(counts.matrix.data.var() / counts.matrix.data.mean())
    assert told["paper"]["users"] == 781


def test_users_and_items_are_drawn_as_told_and_the_same_again(tmp_path: Path) -> None:
    original, output = write(tmp_path, "taste-profile"), tmp_path / "out.parquet"
    options = ("--users", 30, "--items", 30, "--min-per-user", 5, "--min-per-item", 4, "--seed", 3)
    assert run("data", "taste-profile", original, "-o", output, *options).exit_code == 0
    first = output.read_bytes()
    expected = read("taste-profile", original, users=30, items=30, min_per_user=5, min_per_item=4, seed=3)
    assert dcpf.read_counts(output).users == expected.users
    assert run("data", "taste-profile", original, "-o", output, *options).exit_code == 0
    assert output.read_bytes() == first


def test_whole_draws_none(tmp_path: Path) -> None:
    original = write(tmp_path, "taste-profile")
    told = printed("data", "taste-profile", original, "-o", tmp_path / "out.csv", "--whole", "--min-per-item", 0)
    assert (told["users"], told["items"]) == (40, 35)
    assert "drawn" not in " ".join(told["notes"])


@by_name
def test_the_fit_that_it_suggests_works(tmp_path: Path, name: str) -> None:
    output = tmp_path / "with a space.parquet"
    result = run("data", name, write(tmp_path, name), "-o", output)
    reproduce, fit = re.findall(r"^  dcpf (.*)$", result.stdout, re.MULTILINE)
    assert shlex.split(reproduce) == ["reproduce", name, str(output)]
    fitted = run(*shlex.split(fit), "--components", 2, "--max-iter", 2, "--tol", 0)
    assert fitted.exit_code == 0, fitted.stderr
    model = dcpf.load(output.with_suffix(".safetensors"))
    assert (model.names is None) == (name != "lastfm")


def test_without_a_name_the_data_sets_are_listed_with_their_pages() -> None:
    result = run("data")
    assert result.exit_code == 0
    for data in DATA_SETS.values():
        assert data.original.page in result.stdout
        assert f"dcpf data {data.name} {data.original.file} -o {data.name}.parquet" in result.stdout
    told = printed("data")
    assert [one["data"] for one in told] == list(DATA_SETS)
    assert [one["page"] for one in told] == [data.original.page for data in DATA_SETS.values()]


def test_help_names_the_data_sets() -> None:
    text = run("data", "--help").stdout
    assert all(name in text for name in DATA_SETS)


@by_name
def test_a_missing_file_is_told_with_its_page(tmp_path: Path, name: str) -> None:
    original = DATA_SETS[name].original
    told = refused("data", name, tmp_path / "nothing", "-o", tmp_path / "out.parquet")
    source = f"{original.file} from {original.page}"
    assert told == f"dcpf: {tmp_path / 'nothing'}: there is no such file; download {source}"
    assert f"which file? Download {source}" in refused("data", name)


def test_what_cannot_be_done_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    original = write(tmp_path, "nips")
    output = tmp_path / "out.parquet"
    assert "choose one of taste-profile, lastfm, nips" in refused("data", "imagenet", original)
    assert "-o nips.parquet" in refused("data", "nips", original)
    assert "the suffix must be one of .parquet, .csv" in refused(
        "data", "nips", original, "-o", tmp_path / "out.json"
    )
    assert "would be overwritten" in refused("data", "nips", original, "-o", original)
    assert "does not exist" in refused("data", "nips", original, "-o", tmp_path / "no" / "out.csv")
    assert "--users must be at least 1" in refused("data", "nips", original, "-o", output, "--users", 0)
    assert "--whole" in refused("data", "nips", original, "-o", output, "--users", 2, "--whole")
    assert not output.exists()


def test_a_failure_leaves_an_old_file_as_it_was(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    output.write_bytes(b"old")
    page = originals.write(tmp_path, originals.WORDS, "<!doctype html>")
    assert "is a web page" in refused("data", "nips", page, "-o", output)
    assert output.read_bytes() == b"old"
    assert sorted(one.name for one in tmp_path.iterdir()) == [originals.WORDS, "out.parquet"]


def test_remarks_go_to_stderr_and_the_table_to_stdout(tmp_path: Path) -> None:
    original = write(tmp_path, "nips")
    result = run_alone("data", "nips", original, "-o", tmp_path / "out.parquet", env={"COLUMNS": "80", "PATH": ""})
    assert result.returncode == 0, result.stderr
    assert f"Read {original} in " in result.stderr and "Read " not in result.stdout
    assert "in the paper" in result.stdout and f"Written to {tmp_path / 'out.parquet'}" in result.stdout
