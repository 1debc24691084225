"""A description says what the factors say."""

import json
from pathlib import Path

import numpy as np
import pytest

import dcpf
from dcpf.model.description import meaning


@pytest.fixture(scope="module")
def model() -> dcpf.DCPF:
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(0.5, 1.0, (25, 2)) @ rng.gamma(0.5, 1.0, (2, 12))) * rng.geometric(0.5, (25, 12))
    named = dcpf.Counts.from_matrix(counts, items=[f"s{i}" for i in range(12)]).with_names({"s3": "Three"})
    return dcpf.DCPF(4, max_iter=30, tol=0, random_state=0, dtype="float64", n_neighbors=0).fit(named)


def test_sizes_and_data_are_those_of_the_fit(model: dcpf.DCPF) -> None:
    about = model.describe()
    assert (about.users, about.items, about.components) == (25, 12, 4)
    assert (about.data["entries"], about.data["total"]) == (model.history_.nnz, model.history_.sum())
    assert about.bounds == tuple(model.bounds_)
    assert (about.has_history, about.has_names) == (True, True)


def test_sessions_by_user_item_and_component_are_sums_of_the_whole_product(model: dcpf.DCPF) -> None:
    about = model.describe(n_components=4, n_items=12)
    rates = np.einsum("uk,ik->kui", model.user_factors, model.item_factors)
    assert about.sessions == pytest.approx(rates.sum())
    for shares, ids, axes in (
        (about.most_active, model.users_, (0, 2)),
        (about.most_popular, model.items_, (0, 1)),
    ):
        sums = rates.sum(axis=axes)
        best = np.argsort(-sums)[:12]
        assert [one.id for one in shares] == ids.at(best)
        assert [one.sessions for one in shares] == pytest.approx(sums[best])
        assert [one.share for one in shares] == pytest.approx(sums[best] / rates.sum())
    sums = rates.sum(axis=(1, 2))
    assert [one.number for one in about.largest_components] == np.argsort(-sums).tolist()
    for one in about.largest_components:
        assert one.sessions == pytest.approx(sums[one.number])
        assert one.share == pytest.approx(sums[one.number] / rates.sum())
        by_item = rates[one.number].sum(axis=0)
        assert [item.id for item in one.items] == model.items_.at(np.argsort(-by_item))
        assert sum(item.share for item in one.items) == pytest.approx(1.0)


def test_items_go_by_their_names_where_they_have_one(model: dcpf.DCPF) -> None:
    names = {one.id: one.name for one in model.describe(n_items=12).most_popular}
    assert names == {f"s{i}": "Three" if i == 3 else f"s{i}" for i in range(12)}


def test_as_many_are_shown_as_are_asked_for_or_as_there_are(model: dcpf.DCPF) -> None:
    about = model.describe(n_components=2, n_items=3)
    assert [len(one.items) for one in about.largest_components] == [3, 3]
    assert (len(about.most_active), len(about.most_popular)) == (3, 3)
    assert len(model.describe(99, 99).most_popular) == 12


def test_a_dict_of_it_is_plain_json(model: dcpf.DCPF) -> None:
    told = model.describe(2, 2).to_dict()
    assert json.loads(json.dumps(told)) == told


def test_a_saved_model_without_history_describes_itself_alike(model: dcpf.DCPF, tmp_path: Path) -> None:
    """Also how many sessions are behind a count: that is kept among the facts of the fit."""
    model.save(tmp_path / "m", history=False)
    described, again = model.describe().to_dict(), dcpf.load(tmp_path / "m").describe().to_dict()
    assert (described.pop("has_history"), again.pop("has_history")) == (True, False)
    assert described["sessions_per_count"] == pytest.approx(model.sessions().data.mean())
    assert described == again


def test_batches_leave_the_sessions_per_count_to_the_question(model: dcpf.DCPF, tmp_path: Path) -> None:
    streamed = dcpf.DCPF(2, random_state=0).partial_fit(model.history_)
    assert streamed.describe().sessions_per_count == pytest.approx(streamed.sessions().data.mean())
    streamed.save(tmp_path / "m", history=False)
    assert dcpf.load(tmp_path / "m").describe().sessions_per_count is None


@pytest.mark.parametrize(
    ("element", "words"),
    [
        (dcpf.elements.get("raw"), "raw counts"),
        (dcpf.elements.get("binary"), "who has what"),
        (dcpf.elements.Geometric(p=0.75), "A session adds 4 to a count on average (standard deviation 3.46)."),
    ],
)
def test_an_element_is_put_into_words(element: dcpf.elements.Element, words: str) -> None:
    assert words in meaning(element)


@pytest.mark.parametrize("n", [0, -1, True, 1.5])
def test_numbers_that_make_no_sense_are_refused_by_name(model: dcpf.DCPF, n: object) -> None:
    for name in ("n_components", "n_items"):
        with pytest.raises(ValueError, match=name):
            model.describe(**{name: n})
    with pytest.raises(ValueError, match="no component 4: the model has 0 to 3"):
        model.component(4)


def test_of_many_counts_the_mean_sessions_are_those_of_evenly_spaced_users(
    model: dcpf.DCPF, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dcpf.model import sessions

    every = model.sessions().toarray()
    assert sessions.sessions_per_count(model.fitted_, 1) == pytest.approx(every[every > 0.0].mean())
    monkeypatch.setattr(sessions, "_MANY", model.history_.nnz // 5)
    some = every[[0, 8, 16, 24]]  # 25 users, of whom the share is rounded down to 4
    assert sessions.sessions_per_count(model.fitted_, 1) == pytest.approx(some[some > 0.0].mean())
