"""dcpf leaderboard: a table for people, JSON for programs, files to keep."""

from pathlib import Path

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


def test_the_help_names_all_methods() -> None:
    from dcpf.experiments.contenders import CONTENDERS

    shown = " ".join(run("leaderboard", "--help").stdout.split())
    assert all(f"{name}," in shown or f"{name}." in shown for name in CONTENDERS)
