"""Each metric against a case made by hand, and against scikit-learn on random lists."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from dcpf.evaluation.metrics import METRICS, Judged, coverage, novelty


def judged(hits: list[int], relevant: int, candidates: int = 10, reachable: int | None = None, k: int | None = None):
    row = np.zeros((1, k or len(hits)), dtype=bool)
    misses = row.copy()
    row[0, : len(hits)] = hits
    misses[0, : len(hits)] = np.logical_not(hits)
    reach = relevant if reachable is None else reachable
    return Judged(k or len(hits), row, misses, *(np.array([one]) for one in (relevant, reach, candidates - reach)))


HAND_MADE = [
    # Hits at places 1 and 3 of 4, three relevant items, ten candidates
    ("ndcg", [1, 0, 1, 0], 3, (1 + 1 / 2) / (1 + 1 / math.log2(3) + 1 / 2)),
    ("precision", [1, 0, 1, 0], 3, 2 / 4),
    ("recall", [1, 0, 1, 0], 3, 2 / 3),
    ("map", [1, 0, 1, 0], 3, (1 / 1 + 2 / 3) / 3),
    ("mrr", [0, 0, 1, 1], 3, 1 / 3),
    ("hit_rate", [0, 0, 0, 1], 3, 1.0),
    # Misses: one with 1 hit above, one with 2, five unlisted with 2 and half of the third
    ("auc", [1, 0, 1, 0], 3, (1 + 2 + 5 * 2.5) / (3 * 7)),
    # More relevant items than places: a full list of hits is perfect
    ("ndcg", [1, 1], 5, 1.0),
    ("map", [1, 1], 5, 1.0),
    ("recall", [1, 1], 5, 2 / 5),
    # Nothing found
    ("ndcg", [0, 0], 1, 0.0),
    ("precision", [0, 0], 1, 0.0),
    ("recall", [0, 0], 1, 0.0),
    ("map", [0, 0], 1, 0.0),
    ("mrr", [0, 0], 1, 0.0),
    ("hit_rate", [0, 0], 1, 0.0),
    ("auc", [0, 0], 1, (7 * 0.5) / 9),
]


@pytest.mark.parametrize(("metric", "hits", "relevant", "expected"), HAND_MADE)
def test_a_case_made_by_hand(metric, hits, relevant, expected):
    assert METRICS[metric](judged(hits, relevant))[0] == pytest.approx(expected, rel=1e-14)


def test_every_metric_has_a_case_made_by_hand():
    assert {case[0] for case in HAND_MADE} == set(METRICS)


def test_a_list_that_ends_early_is_not_a_list_of_misses_for_the_area():
    short, ended = judged([1, 0], 2, candidates=6), judged([1, 0], 2, candidates=6, k=50)
    assert METRICS["auc"](ended) == pytest.approx(METRICS["auc"](short), rel=1e-14)
    assert METRICS["precision"](ended)[0] == 1 / 50


def test_a_relevant_item_that_the_model_does_not_know_stands_below_all_others():
    # One of two relevant items is out of reach: 5 - 1 candidates are irrelevant, the hit is above all of them
    assert METRICS["auc"](judged([1, 0], 2, candidates=5, reachable=1))[0] == 0.5


def test_without_an_irrelevant_item_there_is_no_area():
    assert np.isnan(METRICS["auc"](judged([1, 1], 2, candidates=2))[0])


def test_what_a_user_has_already_is_neither_a_hit_nor_a_miss_for_the_area():
    lists = judged([1, 0, 1, 0], 3)
    lists.misses[0, 1] = False
    # Of seven irrelevant items one is listed below both hits, six are not listed
    assert METRICS["auc"](lists)[0] == pytest.approx((2 + 6 * 2.5) / (3 * 7))


@st.composite
def rankings(draw):
    """All items in order: which are relevant, at least one that is and one that is not."""
    hits = draw(st.lists(st.booleans(), min_size=2, max_size=30).filter(lambda one: 0 < sum(one) < len(one)))
    return np.array(hits)


@given(rankings(), st.integers(1, 30))
def test_ndcg_is_that_of_scikit_learn(hits, k):
    k = min(k, len(hits))
    lists = judged(hits[:k].tolist(), int(hits.sum()), len(hits))
    scores = -np.arange(len(hits), dtype=float)
    expected = ndcg_score(hits[None].astype(float), scores[None], k=k)
    assert METRICS["ndcg"](lists)[0] == pytest.approx(expected, rel=1e-12)


@given(rankings())
def test_with_all_items_listed_area_and_average_precision_are_those_of_scikit_learn(hits):
    lists = judged(hits.tolist(), int(hits.sum()), len(hits))
    scores = -np.arange(len(hits), dtype=float)
    assert METRICS["auc"](lists)[0] == pytest.approx(roc_auc_score(hits, scores), rel=1e-12)
    assert METRICS["map"](lists)[0] == pytest.approx(average_precision_score(hits, scores), rel=1e-12)


@given(rankings(), st.integers(1, 30))
def test_all_metrics_lie_between_0_and_1(hits, k):
    k = min(k, len(hits))
    lists = judged(hits[:k].tolist(), int(hits.sum()), len(hits))
    for name, metric in METRICS.items():
        assert 0.0 <= metric(lists)[0] <= 1.0 + 1e-12, name


def test_novelty_is_the_mean_surprise_of_a_list_in_bits():
    popularity = np.array([1.0, 0.5, 0.125])
    found = novelty(np.array([0, 2, 2, 5]), np.array([1, 2, 0, 1, 2]), popularity)
    assert found[0] == 2.0
    assert np.isnan(found[1])
    assert found[2] == pytest.approx(4.0 / 3.0)


def test_coverage_is_the_share_of_items_in_any_list():
    assert coverage(np.array([True, False, True, True])) == 0.75
