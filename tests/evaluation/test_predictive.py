"""Draws from a fitted model are compared with the data, and what differs is told."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import dcpf
from dcpf.evaluation import predictive
from dcpf.evaluation.predictive import Check, predictive_check
from dcpf.simulation import listening_data

ELEMENTS = ("logarithmic", "zero-truncated-poisson", "geometric", "shifted-nb")


@pytest.fixture(scope="module")
def plays() -> sparse.csr_array:
    return listening_data(np.random.default_rng(0), n_users=300, n_songs=200, sessions_per_user=20.0).counts


@pytest.fixture(scope="module")
def models(plays: sparse.csr_array) -> dict[str, dcpf.DCPF]:
    names = ("raw", "binary", *ELEMENTS)
    return {name: dcpf.DCPF(8, name, max_iter=100, tol=0, random_state=0, n_neighbors=0).fit(plays) for name in names}


@pytest.fixture(scope="module")
def checks(models: dict[str, dcpf.DCPF]) -> dict[str, Check]:
    return {name: predictive_check(model) for name, model in models.items()}


def made(data: dict[int, int], *drawn: dict[int, int], element: str = "geometric") -> Check:
    """A check of 100 x 100 with so many entries of each count."""
    counts = sorted(set(data).union(*drawn))
    rows = np.array([[one.get(count, 0) for count in counts] for one in (data, *drawn)])
    return Check(dcpf.elements.get(element), (100, 100), np.array(counts), rows[0], rows[1:])


def tail(check: Check) -> float:
    """Entries above 10 that the model draws, for each that the data have."""
    return float(check.expected[check.counts > 10].sum() / check.data[check.counts > 10].sum())


def test_the_truth_is_the_training_counts(checks: dict[str, Check], plays: sparse.csr_array) -> None:
    for check in checks.values():
        known = check.data > 0
        values, numbers = np.unique(plays.data, return_counts=True)
        assert (check.counts[known].tolist(), check.data[known].tolist()) == (values.tolist(), numbers.tolist())
        assert check.data_share == plays.nnz / (300 * 200)
        assert check.drawn.shape == (10, len(check.counts))


def test_raw_counts_over_state_the_share_of_non_zeros(checks: dict[str, Check]) -> None:
    assert checks["raw"].shares.min() > 1.25 * checks["raw"].data_share
    assert re.search(r"(times as many|% more) non-zeros", checks["raw"].findings[0])


def test_binarized_counts_have_no_tail(checks: dict[str, Check]) -> None:
    assert checks["binary"].data[checks["binary"].counts > 10].sum() > 100
    assert tail(checks["binary"]) < 0.01
    assert checks["binary"].model_share <= checks["binary"].data_share


@pytest.mark.parametrize("element", ELEMENTS)
def test_elements_have_both_the_share_of_non_zeros_and_a_tail(checks: dict[str, Check], element: str) -> None:
    check = checks[element]
    assert check.model_share == pytest.approx(check.data_share, rel=0.1)
    assert tail(check) > 0.25
    assert abs(math.log(tail(checks["shifted-nb"]))) <= abs(math.log(tail(check)))  # the law that drew the data


def test_the_mean_total_of_the_draws_is_what_the_model_expects(models: dict[str, dcpf.DCPF]) -> None:
    for name in ("raw", "binary", "geometric"):
        model, check = models[name], predictive_check(models[name], draws=40)
        sessions = float(model.user_factors.sum(axis=0) @ model.item_factors.sum(axis=0))
        a_play = 1.0 if name == "binary" else model.element_.mean
        spread = math.sqrt(sessions * (a_play**2 + (0.0 if name == "binary" else model.element_.variance)) / 40)
        assert (check.drawn @ check.counts).mean() == pytest.approx(sessions * a_play, abs=5 * spread)


def test_the_mean_share_of_non_zeros_is_that_of_the_rates(models: dict[str, dcpf.DCPF]) -> None:
    model, check = models["geometric"], predictive_check(models["geometric"], draws=40)
    chances = -np.expm1(-(model.user_factors @ model.item_factors.T).astype(np.float64))
    spread = math.sqrt((chances * (1.0 - chances)).sum() / 40) / chances.size
    assert check.model_share == pytest.approx(chances.mean(), abs=5 * spread)


def test_the_binary_limit_is_drawn_as_sessions_and_it_is_said(
    checks: dict[str, Check], models: dict[str, dcpf.DCPF]
) -> None:
    assert checks["binary"].binarized
    assert checks["binary"].drawn[:, checks["binary"].counts == 2].sum() > 0
    assert "no law of counts" in str(checks["binary"])
    assert not any(checks[name].binarized or "no law of counts" in str(checks[name]) for name in ("raw", *ELEMENTS))


def test_an_element_that_has_become_a_limit_is_drawn_as_that_limit(plays: sparse.csr_array) -> None:
    for element, binarized in ((dcpf.elements.Logarithmic(p=1.0), True), (dcpf.elements.Geometric(p=0.0), False)):
        model = dcpf.DCPF(3, element, learn_element=False, max_iter=5, tol=0, random_state=0, n_neighbors=0).fit(
            plays
        )
        check = predictive_check(model, draws=1)
        assert (check.binarized, bool(check.drawn.sum() > 0)) == (binarized, True)


def test_a_seed_makes_draws_reproducible(models: dict[str, dcpf.DCPF]) -> None:
    model = models["geometric"]
    first, again, other = (predictive_check(model, seed=seed, draws=2) for seed in (3, np.random.default_rng(3), 4))
    assert str(first) == str(again)
    assert first.to_dict() == again.to_dict() != other.to_dict()


def test_blocks_of_users_bound_the_memory_and_change_nothing_but_the_chance(
    models: dict[str, dcpf.DCPF], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, steps, sizes = models["geometric"], [], []
    whole = predictive_check(model, draws=20)
    draw = predictive.draw_counts

    def watched(W: Any, *others: Any) -> Any:
        sizes.append(len(W))
        return draw(W, *others)

    monkeypatch.setattr(predictive, "EVENTS", 500)
    monkeypatch.setattr(predictive, "draw_counts", watched)
    cut = predictive_check(model, draws=20, progress=lambda *step: steps.append(step))
    assert len(sizes) == 20 * (len(sizes) // 20) > 100
    assert sum(sizes) == 20 * 300
    assert steps == [(j + 1, len(sizes)) for j in range(len(sizes))]
    assert cut.model_share == pytest.approx(whole.model_share, rel=0.02)
    assert cut.shape == whole.shape


def test_blocks_hold_each_row_once_and_expect_little_more_than_the_limit() -> None:
    expected = np.random.default_rng(0).gamma(0.3, 10.0, 500)
    blocks = predictive._blocks(expected, 20)
    assert np.concatenate([np.arange(500)[block] for block in blocks]).tolist() == list(range(500))
    assert all(expected[block].sum() <= 20 + expected[block].max() for block in blocks)
    assert predictive._blocks(np.zeros(3), 20) == [slice(0, 3)]


def test_other_counts_are_compared_with_draws_of_their_users_only(plays: sparse.csr_array) -> None:
    users, items = [f"u{u}" for u in range(300)], [f"s{i}" for i in range(200)]
    model = dcpf.DCPF(4, "geometric", max_iter=20, tol=0, random_state=0, n_neighbors=0).fit(
        dcpf.Counts.from_matrix(plays, users, items)
    )
    entries = plays.tocoo()
    table = pl.DataFrame(
        {"user": [users[u] for u in entries.row], "item": [items[i] for i in entries.col], "plays": entries.data}
    )
    some = table.filter(pl.col("user").is_in(["u3", "u5"]))
    check = predictive_check(model, some)
    assert check.shape == (2, 200)
    assert (check.data.sum(), check.data @ check.counts) == (some.height, some["plays"].sum())
    places = model.users_.positions(["u3", "u5"], "user")
    assert check.drawn.sum(axis=1).mean() == pytest.approx(
        -np.expm1(-(model.user_factors[places] @ model.item_factors.T)).sum(), rel=0.2
    )
    strange = pl.concat([some, pl.DataFrame({"user": ["nobody", "u3"], "item": ["s1", "what"], "plays": [9, 9]})])
    with pytest.warns(UserWarning) as told:
        assert predictive_check(model, strange).data.tolist() == predictive_check(model, some).data.tolist()
    assert [str(one.message) for one in told] == [
        "1 of 3 users are unknown to the model and were skipped, such as 'nobody'",
        f"1 of {strange['item'].n_unique()} items are unknown to the model and were skipped, such as 'what'",
    ]


def test_what_cannot_be_checked_is_refused(
    plays: sparse.csr_array, models: dict[str, dcpf.DCPF], tmp_path: Path
) -> None:
    model = models["geometric"]
    assert predictive_check(model, plays).to_dict() == predictive_check(model).to_dict()
    with pytest.raises(ValueError, match="found 5 x 200, but the model has 300 users x 200 items"):
        predictive_check(model, plays[:5])
    with pytest.raises(NotFittedError):
        predictive_check(dcpf.DCPF(n_neighbors=0))
    with pytest.raises(ValueError, match="draws must be a whole number >= 1, found 0"):
        predictive_check(model, draws=0)
    with pytest.raises(ValueError, match="knows none of these users, 'x' for one"):
        predictive_check(model, pl.DataFrame({"user": ["x"], "item": ["y"], "count": [1]}))
    model.save(tmp_path / "bare", history=False)
    bare = dcpf.load(tmp_path / "bare")
    with pytest.raises(ValueError, match="without its training counts: give the counts"):
        predictive_check(bare)
    assert predictive_check(bare, plays).to_dict() == predictive_check(model).to_dict()


def test_ranges_add_up_and_are_the_rows_of_the_table() -> None:
    data = {1: 5, 2: 4, 4: 3, 5: 2, 6: 1, 10: 1, 60: 2, 2_000: 1}
    check = made(data, {1: 7, 3: 1}, {1: 6, 9: 2})
    found = check.to_frame()
    assert list(zip(found["low"], found["high"], strict=True)) == [
        (1, 1), (2, 2), (3, 3), (4, 5), (6, 10), (11, 20), (21, 50), (51, 100), (101, 200), (201, 500),
        (501, 1_000), (1_001, 2_000),
    ]  # fmt: skip
    assert found["data"].to_list() == [5, 4, 0, 5, 2, 0, 0, 2, 0, 0, 0, 1]
    assert found["mean"].to_list() == [6.5, 0, 0.5, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    assert (found["least"][0], found["most"][0]) == (6, 7)


def test_the_summary_is_computed_from_the_histogram() -> None:
    told = made({1: 60, 3: 40}, {1: 150, 7: 50}, {1: 100, 2: 100}).to_dict()
    assert told["nonzeros"] == {"data": 100, "mean": 200.0, "least": 200, "most": 200}
    assert told["share"] == {"data": 0.01, "mean": 0.02, "least": 0.02, "most": 0.02}
    assert told["largest"] == {"data": 3, "mean": 4.5, "least": 2, "most": 7}
    assert told["total"] == {"data": 180, "mean": 400.0, "least": 300, "most": 500}
    assert told["histogram"] == {"count": [1, 2, 3, 7], "data": [60, 0, 40, 0], "mean": [125.0, 50.0, 0.0, 25.0]}
    assert json.loads(json.dumps(told)) == told


@pytest.mark.parametrize(
    ("data", "drawn", "sentences"),
    [
        (
            {1: 480, 60: 50},
            {1: 1113},
            [
                "The model draws 2.1 times as many non-zeros as there are (11.13% against 5.30%).",
                "The model draws 2.3 times as many counts of 1 as there are (1,113 against 480).",
                "The model draws no counts of 51 or more (0 against 50).",
            ],
        ),
        (
            {1: 1000, 2: 500},
            {1: 990, 2: 300, 3: 210},
            [
                "The model draws about as many non-zeros as there are (15.00% against 15.00%).",
                "The model draws 40% fewer counts of 2 than there are (300 against 500).",
                "The model draws counts of 3 or more where there are none (210 against 0).",
            ],
        ),
        (
            {1: 1000, 2: 200, 3: 200},
            {1: 700, 2: 40, 3: 50},
            [
                "The model draws 44% fewer non-zeros than there are (7.90% against 14.00%).",
                "The model draws 44% fewer counts of 1 or more than there are (790 against 1,400).",
            ],
        ),
        (
            {1: 1000, 2: 100, 70: 4},
            {1: 1010, 2: 104, 30: 3},
            [
                "The model draws about as many non-zeros as there are (11.17% against 11.04%).",
                "In no range of counts do they differ by more than 25% and chance.",
            ],
        ),
    ],
)
def test_what_differs_is_told_in_sentences(data: dict[int, int], drawn: dict[int, int], sentences: list[str]) -> None:
    assert list(made(data, drawn, drawn).findings) == sentences


def test_it_prints_in_80_columns_and_has_a_short_form() -> None:
    check = made({1: 123_456, 2: 7}, {1: 100, 99_999: 1}, {1: 90})
    lines = str(check).splitlines()
    assert lines[:2] == ["Predictive check of geometric, p 0.5", "100 users x 100 items, 2 draws from the model"]
    assert max(map(len, lines)) <= 80
    assert [line.split() for line in lines if line.startswith("1 ")] == [["1", "123,456", "95", "90", "to", "100"]]
    assert any(line.startswith("50,001-100,000") for line in lines)
    small = Check(check.element, (10_000, 10_000), check.counts, check.data * 0 + 1, check.drawn)
    assert repr(small).startswith("<Check of geometric: 0.00000300% non-zeros in the data, 0.0000955% in 2 draws")
