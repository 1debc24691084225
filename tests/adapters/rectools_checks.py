"""The model beside those of the real RecTools. Run by `python -m tests.adapters`."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from rectools import Columns
from rectools.dataset import Dataset, IdMap, Interactions
from rectools.metrics import NDCG, Recall
from rectools.model_selection import LastNSplitter, cross_validate
from rectools.models import PopularModel, load_model, model_from_config
from tests.adapters.page import examples
from tests.adapters.plays import some_plays

from dcpf import DCPF, Counts
from dcpf.adapters.rectools import DCPFModel

NAMES = {"count": Columns.Weight, "timestamp": Columns.Datetime}
PLAYS = some_plays().rename(columns=NAMES)
DATA = Dataset.construct(PLAYS)
USERS = [1_000, 1_007, 1_100]


def made(**parameters: Any) -> DCPFModel:
    return DCPFModel(**({"n_components": 6, "max_iter": 60, "random_state": 0} | parameters))


@pytest.fixture(scope="module")
def fitted() -> DCPFModel:
    return made().fit(DATA)


@pytest.fixture(scope="module")
def model() -> DCPF:
    """The same without RecTools, whose internal ids are in the order of appearance."""
    users, items = (ids.get_external_sorted_by_internal() for ids in (DATA.user_id_map, DATA.item_id_map))
    counts = Counts.from_matrix(DATA.get_user_item_matrix(dtype=np.float64), users.tolist(), items.tolist())
    return DCPF(6, max_iter=60, random_state=0).fit(counts)


def lists(table: pd.DataFrame, of: str = Columns.User) -> dict[Any, list[Any]]:
    return {one: part[Columns.Item].tolist() for one, part in table.groupby(of, sort=False)}


def best(model: DCPF, user: int | None = None, **choice: Any) -> list[Any]:
    items, _ = model.recommend(user, n=5, **choice)
    return items.tolist()


@pytest.mark.parametrize("filter_viewed", [True, False])
def test_lists_are_those_of_the_model(fitted: DCPFModel, model: DCPF, filter_viewed: bool) -> None:
    found = fitted.recommend(USERS, DATA, k=10, filter_viewed=filter_viewed)
    for user in USERS:
        items, scores = model.recommend(user, n=10, exclude_seen=filter_viewed)
        assert lists(found)[user] == items.tolist()
        np.testing.assert_allclose(found.loc[found[Columns.User] == user, Columns.Score], scores, rtol=1e-5)
    assert found[Columns.Rank].tolist() == [*range(1, 11)] * 3


def test_a_whitelist_is_kept_to(fitted: DCPFModel, model: DCPF) -> None:
    allowed = [50 + 3 * j for j in range(0, 120, 7)]
    found = fitted.recommend(USERS, DATA, k=5, filter_viewed=True, items_to_recommend=allowed)
    for user in USERS:
        assert set(lists(found)[user]) <= set(allowed)
        assert lists(found)[user] == best(model, user, allow=allowed)


def test_similar_items_are_those_of_the_model(fitted: DCPFModel, model: DCPF) -> None:
    items = [50, 80]
    found = lists(fitted.recommend_to_items(items, DATA, k=5), Columns.TargetItem)
    for item in items:
        alike, _ = model.similar_items(item, n=5)
        assert found[item] == alike.tolist()
    allowed = [50 + 3 * j for j in range(60)]
    found = lists(fitted.recommend_to_items(items, DATA, k=5, items_to_recommend=allowed), Columns.TargetItem)
    for item in items:
        alike, _ = model.similar_items(item, n=120)
        assert found[item] == [one for one in alike.tolist() if one in allowed][:5]


def test_who_is_new_is_offered_what_is_popular(fitted: DCPFModel, model: DCPF) -> None:
    popular, _ = model.recommend(history={}, n=4)
    found = fitted.recommend([1_000, 424_242], DATA, k=4, filter_viewed=True)
    assert lists(found)[424_242] == popular.tolist()


def test_fresh_interactions_are_folded_in(fitted: DCPFModel, model: DCPF) -> None:
    history = {50: 4, 56: 1, 80: 2}
    fresh = pd.DataFrame(
        {
            Columns.User: 424_242,
            Columns.Item: list(history),
            Columns.Weight: list(history.values()),
            Columns.Datetime: pd.Timestamp("2021-01-01"),
        }
    )
    users = DATA.user_id_map.add_ids([424_242])
    both = Interactions.from_raw(pd.concat([PLAYS, fresh]), users, DATA.item_id_map)
    found = fitted.recommend([424_242, 1_000], Dataset(users, DATA.item_id_map, both), k=5, filter_viewed=True)
    assert lists(found)[424_242] == best(model, history=history)
    assert lists(found)[1_000] == best(model, 1_000)


def test_items_in_another_order_are_refused(fitted: DCPFModel) -> None:
    other = Dataset.construct(PLAYS.iloc[::-1])
    with pytest.raises(ValueError, match="numbers its items otherwise"):
        fitted.recommend(USERS, other, k=3, filter_viewed=True)


def test_weights_that_are_no_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="Fractions in data"):
        made().fit(Dataset.construct(PLAYS.assign(weight=0.5)))


def test_a_configuration_makes_the_same_model() -> None:
    config = made(n_components=3, element="logarithmic").get_config(simple_types=True)
    assert config["n_components"] == 3
    again = model_from_config(config)
    assert isinstance(again, DCPFModel)
    assert again.get_config(simple_types=True) == config
    first, second = (one.fit(DATA).recommend(USERS, DATA, 5, True) for one in (DCPFModel.from_config(config), again))
    pd.testing.assert_frame_equal(first, second)


def test_a_saved_model_gives_the_same_lists(fitted: DCPFModel, tmp_path: Any) -> None:
    fitted.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    pd.testing.assert_frame_equal(fitted.recommend(USERS, DATA, 5, True), again.recommend(USERS, DATA, 5, True))


def test_cross_validation_ranks_it_before_what_is_popular() -> None:
    found = cross_validate(
        DATA,
        LastNSplitter(3, n_splits=1),
        metrics={"ndcg": NDCG(10), "recall": Recall(10)},
        models={"dcpf": made(), "popular": PopularModel()},
        k=10,
        filter_viewed=True,
    )
    by_model = {one["model"]: one for one in found["metrics"]}
    assert by_model["dcpf"]["ndcg"] > by_model["popular"]["ndcg"]
    assert by_model["dcpf"]["recall"] > by_model["popular"]["recall"]


def test_ids_may_be_strings() -> None:
    named = PLAYS.assign(user_id="u" + PLAYS["user_id"].astype(str), item_id="i" + PLAYS["item_id"].astype(str))
    data = Dataset.construct(named)
    assert isinstance(data.item_id_map, IdMap)
    found = made().fit(data).recommend(["u1000"], data, k=3, filter_viewed=True)
    assert found[Columns.Item].str.startswith("i").all()


def test_the_example_of_the_page_runs() -> None:
    (example,) = examples("RecTools")
    exec(example, {"interactions": PLAYS, "users": USERS, "items": [53, 80]})
