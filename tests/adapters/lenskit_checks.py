"""The scorer in the real LensKit, and under LensKit's own tests of scorers. Run by `python -m tests.adapters`."""

import pickle

import numpy as np
import pandas as pd
import pytest
from lenskit import recommend, score
from lenskit.batch import recommend as recommend_all
from lenskit.data import Dataset, DatasetBuilder, ItemList, RecQuery, from_interactions_df
from lenskit.metrics import NDCG, RunAnalysis
from lenskit.pipeline import Pipeline, topn_pipeline
from lenskit.splitting import SampleFrac, sample_users
from lenskit.testing import BasicComponentTests, ScorerTests
from lenskit.training import TrainingOptions
from tests.adapters.page import examples
from tests.adapters.plays import some_plays

from dcpf import DCPF, Counts
from dcpf.adapters.lenskit import DCPFScorer, DCPFScorerConfig

CONFIG = DCPFScorerConfig(n_components=6, max_iter=60)
PLAYS = some_plays()


@pytest.fixture(scope="module")
def ml_ds() -> Dataset:
    """Under the name that LensKit's tests ask for."""
    return from_interactions_df(PLAYS)


@pytest.fixture(scope="module")
def ml_ratings() -> pd.DataFrame:
    return PLAYS.rename(columns={"count": "rating"})


@pytest.fixture
def ml_100k() -> pd.DataFrame:
    pytest.skip("ratings are not counts")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def pipeline(ml_ds: Dataset) -> Pipeline:
    made = topn_pipeline(DCPFScorer(CONFIG), n=10)
    made.train(ml_ds, TrainingOptions(rng=7))
    return made


@pytest.fixture(scope="module")
def model(pipeline: Pipeline) -> DCPF:
    return pipeline.component("scorer").model


class TestAsLensKitTestsIt(BasicComponentTests, ScorerTests):
    component = DCPFScorer
    config = CONFIG
    configs = ({"n_components": 3, "element": "logarithmic", "n_neighbors": 0},)


def test_lists_are_those_of_the_model(pipeline: Pipeline, model: DCPF) -> None:
    for user in (1_000, 1_007, 1_100):
        items, scores = model.recommend(user, n=10)
        found = recommend(pipeline, user)
        assert found.ids().tolist() == items.tolist()
        np.testing.assert_allclose(found.scores(), scores, rtol=1e-6)


def test_repeated_interactions_are_counted() -> None:
    builder = DatasetBuilder()
    events = PLAYS.loc[PLAYS.index.repeat(PLAYS["count"]), ["user_id", "item_id"]]
    builder.add_interactions(
        "play", events, entities=["user", "item"], allow_repeats=True, missing="insert", default=True
    )
    scorer, options = DCPFScorer(CONFIG), TrainingOptions(rng=7)
    scorer.train(builder.build(), options)
    alone = DCPF(6, max_iter=60, random_state=options.random_generator()).fit(Counts.from_table(PLAYS))
    np.testing.assert_array_equal(scorer.model.bounds_, alone.bounds_)


def test_a_history_is_what_its_user_is_known_by(pipeline: Pipeline, model: DCPF) -> None:
    history = {50: 4, 56: 1, 80: 2}
    given = ItemList(item_ids=list(history), count=list(history.values()))
    items, scores = model.recommend(history=history, n=5)
    assert not set(items) & set(history)
    for query in (
        given,
        RecQuery(user_id=424_242, history_items=given),
        RecQuery(user_id=1_000, history_items=given),
    ):
        found = recommend(pipeline, query, n=5)
        assert found.ids().tolist() == items.tolist()
        np.testing.assert_allclose(found.scores(), scores, rtol=1e-6)


def test_without_counts_a_history_counts_once(pipeline: Pipeline, model: DCPF) -> None:
    items, _ = model.recommend(history={50: 1, 56: 1}, n=5)
    assert recommend(pipeline, ItemList(item_ids=[50, 56]), n=5).ids().tolist() == items.tolist()


def test_what_is_unknown_has_no_score(pipeline: Pipeline) -> None:
    scores = score(pipeline, 1_000, [50, 7, 53]).scores()
    assert np.isfinite(scores).tolist() == [True, False, True]
    assert np.isnan(score(pipeline, 424_242, [50, 53]).scores()).all()
    assert np.isnan(score(pipeline, ItemList(item_ids=[7]), [50, 53]).scores()).all()


def test_a_pickle_gives_the_same_lists(pipeline: Pipeline) -> None:
    again = pickle.loads(pickle.dumps(pipeline))
    assert recommend(again, 1_003).ids().tolist() == recommend(pipeline, 1_003).ids().tolist()


def test_an_experiment_finds_what_was_put_aside(ml_ds: Dataset) -> None:
    split = sample_users(ml_ds, 100, SampleFrac(0.2, rng=1), rng=1)
    made = topn_pipeline(DCPFScorer(CONFIG), n=20)
    made.train(split.train, TrainingOptions(rng=0))
    analysis = RunAnalysis()
    analysis.add_metric(NDCG(n=20))
    found = analysis.measure(recommend_all(made, split.test, n_jobs=1), split.test)
    # Lists in no order would find a fifth or less of this: 24 of 120 songs are put aside at most
    assert found.list_summary().loc["NDCG@20", "mean"] > 0.2


def test_the_example_of_the_page_runs(ml_ds: Dataset) -> None:
    (example,) = examples("LensKit")
    exec(example.replace("pipeline, 42", "pipeline, 1_000"), {"dataset": ml_ds})


def test_what_a_user_of_lenskit_is_said_to_do_runs() -> None:
    (example,) = examples("LensKit", "coming-from.md")
    table = PLAYS.rename(columns={"user_id": "user", "item_id": "item"}).assign(
        user="u" + PLAYS["user_id"].astype(str)
    )
    exec(example.replace("alice", "u1000").replace("bob", "u1001"), {"df": table})
