"""What is run is what the paper ran, and its numbers are those that it prints."""

import math
from typing import Any

import pytest

from dcpf import elements
from dcpf.paper import published
from dcpf.paper.data_sets import DATA_SETS
from dcpf.paper.protocol import MODELS, Job, Protocol, choice_jobs, job, jobs


def test_the_default_is_the_papers() -> None:
    used = Protocol()
    assert (used.test_fraction, used.alpha, used.tol, used.k, used.starts) == (0.2, 0.3, 1e-5, 100, 5)
    assert used.thresholds == (0, 1, 2, 5)
    assert published.COMPONENTS == {"taste-profile": 100, "nips": 50, "lastfm": 50}
    assert len(jobs(used)) == 30


def test_the_grids_are_the_papers() -> None:
    log, ztp, geo, *others = MODELS
    assert list(log.grid) == list(geo.grid) == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1])
    assert ztp.grid == (0, 0.1, 0.5, 1, 2, 10, 100, math.inf)
    assert not any(model.grid for model in others)
    assert len(jobs(Protocol(grid=True))) == 5 * (6 + 9 + 6 + 9)
    assert len(choice_jobs(Protocol())) == len(set(choice_jobs(Protocol()))) == 5 * 9


@pytest.mark.parametrize("model", MODELS[:3], ids=lambda model: model.label)
def test_the_ends_of_a_grid_are_poisson_factorization(model: Any) -> None:
    first, last = (job(Protocol(), model, 2, p) for p in (model.grid[0], model.grid[-1]))
    assert (first, last) == (Job("PFraw", 50, 0.3, 2), Job("PFbin", 50, 0.3, 2))
    assert first.element == elements.Raw()
    assert last.element == elements.Binary()
    assert all(job(Protocol(), model, 0, p).element.p == p for p in model.grid[1:-1])


@pytest.mark.parametrize(
    "wrong",
    [{"components": 0}, {"starts": 0}, {"seed": -1}, {"max_iter": 0}, {"k": 0}, {"alpha": 0.0}, {"tol": -1.0},
     {"thresholds": ()}, {"thresholds": (1, 0)}, {"thresholds": (-1,)}, {"components": 2.5}],
)  # fmt: skip
def test_impossible_settings_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Protocol(**wrong)


def test_table_3_of_the_paper() -> None:
    assert len(published.TABLE_3) == 9
    assert published.TABLE_3["Sh. NB", "VBEM"].ndcg == {
        0: (0.201, 0.0031), 1: (0.183, 0.0025), 2: (0.166, 0.0022), 5: (0.147, 0.0015),
    }  # fmt: skip
    assert published.TABLE_3["PFraw", ""].ndcg[5] == (0.144, 0.0053)
    assert published.TABLE_3["Geo", "Grid"].p == 0.3
    assert published.TABLE_3["PFbin", ""].p is None


def test_table_4_of_the_paper() -> None:
    assert published.TABLE_4["nips"]["PFraw"] == (0.358, 0.405)
    assert published.TABLE_4["lastfm"]["Log"] == (0.142, 0.129)
    for scores in published.TABLE_4.values():  # "dcPF outperforms the baseline methods": the two best are dcPF
        assert {model for model, _ in sorted(scores.items(), key=lambda one: -one[1][0])[:2]} == {"Sh. NB", "Log"}


def test_the_appendix_of_the_paper() -> None:
    assert published.APPENDIX["nips"] == {
        ("Log", "p"): 0.74, ("ZTP", "p"): 1.40, ("Geo", "p"): 0.51, ("Sh. NB", "p"): 0.86, ("Sh. NB", "a"): 0.17,
    }  # fmt: skip
    printed = {"taste-profile": (9.8, "0.60%"), "nips": (7.6, "6.06%"), "lastfm": (17.0, "4.61%")}
    for name, (ratio, share) in printed.items():
        assert round(DATA_SETS[name].paper.ratio, 1) == ratio
        assert f"{DATA_SETS[name].paper.share:.2%}" == share
