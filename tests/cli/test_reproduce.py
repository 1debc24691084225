"""dcpf reproduce: what it takes, says, writes, and how it goes on after a stop."""

from pathlib import Path

import numpy as np
import pytest
from tests.cli.running import printed, refused, run
from tests.paper.originals import words

import dcpf
from dcpf.paper import drawing
from dcpf.paper.fitting import JobRunner
from dcpf.paper.reproduce import Standing

LEAN = ("--components", 3, "--starts", 1, "--max-iter", 20, "--tol", "1e-3", "--threads", 1)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_of_counts_is_enough(plays: Path, here: Path) -> None:
    result = run("reproduce", plays, *LEAN, "--no-figures")
    assert result.exit_code == 0, result.stderr
    for title in ("Table 2. Structure of the data", "Table 3. NDCG@100 of dcPF and PF, plays.csv", "Appendix."):
        assert title in result.stdout
    assert "Written to plays-reproduced:" in result.stdout
    assert "  6/6 PFbin K=3 alpha=0.3 start 1, iteration" in result.stderr
    assert (here / "plays-reproduced" / "tables.md").read_text().count("\n## ") == 4
    assert (here / "plays-reproduced" / "scores.csv").read_text().startswith("Model,Est.,p,kappa,NDCG0,NDCG1")


def test_figures_are_drawn_unless_they_are_not_wanted(
    plays: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "draw_all", lambda folder, *_: ([folder / "distortion.png"], []))
    assert "figures as PNG and SVG" in run("reproduce", plays, *LEAN, "-o", "out").stdout
    assert "figures" not in run("reproduce", plays, *LEAN, "-o", "out", "--no-figures").stdout
    missing = "No figures were drawn: pip install 'dcpf[plots]'"
    monkeypatch.setattr(drawing, "draw_all", lambda *_: ([], [missing]))
    assert missing in run("reproduce", plays, *LEAN, "-o", "out").stdout


def test_json_has_every_table(plays: Path, here: Path) -> None:
    told = printed("reproduce", plays, *LEAN, "--no-figures", "-o", "out", "--seed", 3)
    assert told["protocol"]["seed"] == 3
    assert told["data"]["name"] == "plays.csv"
    assert [row[0] for row in told["tables"]["scores"]["rows"]][-1] in ("PFbin", "PFbin*")


def test_a_prepared_file_of_a_data_set_has_the_papers_numbers_beside_it(plays: Path, here: Path) -> None:
    counts = dcpf.read_counts(plays)
    counts.to_frame().write_parquet("lastfm.parquet")
    counts.to_frame().write_csv("lastfm.csv")
    found = [
        printed("reproduce", "lastfm", file, *LEAN, "--no-figures", "-o", file.split(".")[1])
        for file in ("lastfm.parquet", "lastfm.csv")
    ]
    assert found[0]["tables"] == found[1]["tables"]
    assert found[0]["tables"]["scores_short"]["rows"][0][1]["paper"] == 0.142
    assert "which is of other data" in " ".join(found[0]["tables"]["structure"]["notes"])


def test_an_original_file_is_read_by_its_own_reader(here: Path) -> None:
    rng = np.random.default_rng(0)
    Path("words.csv").write_text(words(rng.geometric(0.4, (30, 20)) * (rng.random((30, 20)) < 0.6)))
    told = printed("reproduce", "nips", "words.csv", *LEAN, "--no-figures")
    assert told["folder"] == "nips-reproduced"
    assert (told["data"]["users"], told["data"]["items"]) == (20, 30)
    assert told["tables"]["dispersion"]["rows"][0][1]["paper"] == 2.74
    Path("triplets.txt").write_text("not\tthe original\n")
    assert "triplets.txt" in refused("reproduce", "taste-profile", "triplets.txt", *LEAN)
    assert not (here / "taste-profile-reproduced").exists()


def test_what_is_missing_or_unknown_is_said(plays: Path, here: Path) -> None:
    assert "needs a file: dcpf reproduce nips FILE" in refused("reproduce", "nips")
    assert "unknown data set 'spotify'" in refused("reproduce", "spotify", plays)
    assert "has the name of a .md file" in refused("reproduce", plays, "-o", plays.parent / "tables.md")
    assert "nowhere.csv" in refused("reproduce", "nowhere.csv")
    assert "nowhere.zip" in refused("reproduce", "taste-profile", "nowhere.zip")
    assert "--choose finds alpha and K" in refused("reproduce", plays, "--choose", "--alpha", "0.1")
    assert "--starts must be at least 1" in refused("reproduce", plays, "--starts", 0)
    assert list(here.iterdir()) == []


def test_a_data_set_has_its_own_columns_and_filter(plays: Path, here: Path) -> None:
    assert "leave out --min-per" in refused("reproduce", "nips", plays, "--min-per-user", 3)


def test_counts_are_filtered(plays: Path, here: Path) -> None:
    told = printed("reproduce", plays, *LEAN, "--no-figures", "--min-per-user", 5, "--min-per-item", 4)
    expected = dcpf.read_counts(plays).filter(5, 4)
    assert (told["data"]["users"], told["data"]["items"]) == expected.shape


def test_an_interrupt_tells_what_is_kept_and_the_same_command_goes_on(
    plays: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = run("reproduce", plays, *LEAN, "--no-figures", "-o", "whole")
    do, ran = JobRunner.run, list[object]()

    def interrupted(self: JobRunner, job: object, watch: object) -> object:
        if len(ran) == 3:
            raise KeyboardInterrupt
        ran.append(job)
        return do(self, job, watch)  # type: ignore[arg-type]

    monkeypatch.setattr(JobRunner, "run", interrupted)
    result = run("reproduce", plays, *LEAN, "--no-figures", "-o", "out")
    assert result.exit_code == 130
    assert result.stderr.endswith(
        "dcpf: interrupted; 3 of 6 fits are kept in out; the same command resumes from there\n"
    )
    monkeypatch.setattr(JobRunner, "run", do)
    again = run("reproduce", plays, *LEAN, "--no-figures", "-o", "out")
    assert again.stdout == undisturbed.stdout.replace("Written to whole", "Written to out")
    assert "  4/6 Sh. NB" in again.stderr
    assert "  3/6" not in again.stderr


def test_other_settings_need_another_folder_or_a_restart(plays: Path, here: Path) -> None:
    assert run("reproduce", plays, *LEAN, "--no-figures", "-o", "out").exit_code == 0
    changed = ("reproduce", plays, *LEAN, "--no-figures", "-o", "out", "--alpha", "0.5")
    result = run(*changed)
    assert result.exit_code == 2
    assert "alpha 0.3 there, 0.5 here; choose another folder, or start over with --restart" in result.stderr
    assert run(*changed, "--restart").exit_code == 0


def test_time_is_told_while_it_runs(plays: Path, here: Path) -> None:
    from dcpf.cli.reproduce import _described
    from dcpf.paper.protocol import Job

    now = Standing(3, 30, Job("Geo", 50, 0.3, 1, 0.4), 12, 61.0, 600.0)
    assert _described(now) == "Geo p=0.4 K=50 alpha=0.3 start 2, iteration 12  1:01, about 10:00 left"
