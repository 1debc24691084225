"""Means, intervals, tables, and paired comparisons."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

from dcpf.counts import Ids
from dcpf.evaluation import Evaluation
from dcpf.evaluation.metrics import METRICS
from dcpf.evaluation.result import mean_intervals


def evaluation(users: int = 40, seed: int = 0, **changed) -> Evaluation:
    rng = np.random.default_rng(seed)
    values = {name: rng.random((users, 2)) for name in METRICS}
    for array in values.values():
        array[: users // 4, 1] = np.nan
    made = {"k": 10, "thresholds": (0, 3), "users": Ids.numbered(users), "values": values}
    made["relevant"] = np.ones((users, 2), dtype=np.int64)
    return Evaluation(**made | {"novelty": rng.random(users), "coverage": 0.25} | changed)


def test_a_mean_leaves_out_users_without_a_relevant_item():
    found = evaluation()
    assert found.mean("recall", 3) == found.values["recall"][10:, 1].mean()
    assert found.mean("novelty") == found.novelty.mean()
    assert found.mean("coverage") == 0.25


def test_an_unknown_metric_or_threshold_is_named():
    with pytest.raises(ValueError, match=r"unknown metric 'ndgc': choose one of ndcg, .*novelty, coverage"):
        evaluation().mean("ndgc")
    with pytest.raises(ValueError, match="threshold 1 was not evaluated, only 0, 3"):
        evaluation().mean("ndcg", 1)


def test_intervals_are_those_of_scipy_to_the_noise_of_resampling():
    values = np.random.default_rng(0).gamma(2.0, size=(300, 3))
    low, high = mean_intervals(values, 0.9, np.random.default_rng(1))
    for j in range(3):
        peer = stats.bootstrap(
            (values[:, j],), np.mean, confidence_level=0.9, n_resamples=5000, method="percentile",
            rng=np.random.default_rng(2),
        ).confidence_interval  # fmt: skip
        width = peer.high - peer.low
        assert low[j] == pytest.approx(peer.low, abs=0.1 * width)
        assert high[j] == pytest.approx(peer.high, abs=0.1 * width)


def test_an_interval_of_the_few_who_count_is_that_of_them_alone_in_width():
    values = np.full((400, 1), np.nan)
    values[:100, 0] = np.random.default_rng(0).normal(size=100)
    low, high = mean_intervals(values, 0.95, np.random.default_rng(0))
    assert high[0] - low[0] == pytest.approx(2 * 1.96 * values[:100].std() / 10, rel=0.15)


def test_one_user_has_no_interval():
    """Nothing is known of how users differ, so nothing is said of it."""
    alone = evaluation(users=1)
    line = next(one for one in alone.lines() if one.metric == "ndcg")
    assert np.isnan([line.low, line.high]).all()
    assert f"ndcg       {line.mean:.3f}" in str(alone).replace("  ±", "")
    assert "nan" not in str(alone)
    assert "±0.000" not in str(alone)
    assert "nan to" not in str(alone.compare(alone))


def test_intervals_do_not_depend_on_how_many_resamples_fit_into_memory(monkeypatch):
    from dcpf.evaluation import result

    values = np.random.default_rng(0).random((50, 2))
    whole = mean_intervals(values, 0.95, np.random.default_rng(0))
    monkeypatch.setattr(result, "_AT_ONCE", 333)
    parts = mean_intervals(values, 0.95, np.random.default_rng(0))
    np.testing.assert_allclose(parts, whole, rtol=1e-12)


def test_a_level_outside_0_and_1_is_refused():
    with pytest.raises(ValueError, match=r"level must lie between 0 and 1.*found 95"):
        evaluation().to_frame(level=95)


def test_the_table_has_a_row_for_each_metric_and_threshold():
    frame = evaluation().to_frame()
    assert frame.columns == ["metric", "threshold", "users", "mean", "low", "high"]
    assert frame.height == 2 * len(METRICS) + 2
    row = frame.row(by_predicate=(pl.col("metric") == "map") & (pl.col("threshold") == 3), named=True)
    assert row["users"] == 30
    assert row["low"] < row["mean"] < row["high"]
    assert frame.filter(pl.col("metric") == "coverage")["threshold"].to_list() == [None]


def test_the_dictionary_is_plain_and_repeats():
    found = evaluation()
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()
    assert evaluation().to_dict() == found.to_dict()


def test_values_by_user_are_null_where_nothing_is_relevant():
    frame = evaluation().per_user()
    assert frame["user"].to_list() == list(range(40))
    assert frame["ndcg_3"].null_count() == 10
    assert frame["ndcg_0"].null_count() == 0
    assert "novelty" in frame.columns


def test_prints_as_a_table_of_metrics_by_thresholds():
    found = evaluation(notes=("something was left out",))
    lines = str(found).splitlines()
    assert lines[1].split() == ["s", "=", "0", "s", "=", "3"]
    assert lines[2].split() == ["users", "40", "30"]
    assert lines[3].startswith("ndcg")
    assert f"{found.mean('ndcg'):.3f} ±" in lines[3]
    assert lines[-1] == "note: something was left out"
    assert max(map(len, lines)) <= 100
    assert "lists of 10" in repr(found)


def test_a_paired_comparison_is_about_the_users_of_both():
    first, second = evaluation(40, 0), evaluation(30, 1)
    compared = first.compare(second)
    line = next(one for one in compared.lines if (one.metric, one.threshold) == ("ndcg", 0))
    apart = first.values["ndcg"][:30, 0] - second.values["ndcg"][:, 0]
    assert line.users == compared.users == 30
    assert line.difference == pytest.approx(apart.mean())
    assert line.difference == pytest.approx(line.first - line.second)
    assert (line.better, line.worse) == ((apart > 0).sum(), (apart < 0).sum())
    expected = stats.ttest_rel(first.values["ndcg"][:30, 0], second.values["ndcg"][:, 0])
    assert line.p_value == pytest.approx(expected.pvalue)
    assert line.low < line.difference < line.high
    assert len(str(compared).splitlines()) == 1 + 2 * len(METRICS)
    assert compared.to_frame().height == 2 * len(METRICS)
    assert compared.to_dict()["users"] == 30


def test_a_model_does_not_differ_from_itself():
    found = evaluation()
    for line in found.compare(found).lines:
        assert (line.difference, line.low, line.high, line.p_value) == (0.0, 0.0, 0.0, 1.0)


def test_evaluations_that_have_nothing_in_common_are_not_compared():
    with pytest.raises(ValueError, match="lists of 10 and of 20 cannot be compared"):
        evaluation().compare(evaluation(k=20))
    with pytest.raises(ValueError, match="no users, or no thresholds, in common"):
        evaluation().compare(evaluation(users=40, seed=1, thresholds=(7, 8)))


def test_users_who_should_find_other_items_are_not_compared():
    first, second = evaluation(40, 0, notes=("one",)), evaluation(40, 1, notes=("two",))
    second.relevant[:7, 0] = 2
    compared = first.compare(second)
    assert compared.users == 33
    left_out = "users whose relevant items differ, left out: 7"
    assert compared.notes == (left_out, "of the first: one", "of the second: two")
    assert "note: of the second: two" in str(compared)
    second.relevant[:] = 5
    with pytest.raises(ValueError, match="other test counts"):
        first.compare(second)
