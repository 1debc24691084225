"""Learning from a part of the users at a time."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import dcpf
from dcpf.counts import Counts
from dcpf.inference.blocks import LocalBlocks
from dcpf.inference.data import Data
from dcpf.inference.settings import FitSettings
from dcpf.inference.stochastic import learning_rate
from dcpf.inference.vbem import Ascent, Point
from dcpf.kernels.threads import Threads
from dcpf.simulation import listening_data

TRUTH = listening_data(np.random.default_rng(0), n_users=400, n_songs=120)
COUNTS = Counts.from_matrix(TRUTH.counts, TRUTH.users, TRUTH.songs)
BATCHES = [np.arange(start, 400, 10) for start in range(10)]


def streamed(passes: int = 8, counts: Counts = COUNTS, **parameters: object) -> dcpf.DCPF:
    model = dcpf.DCPF(**({"n_components": 8, "random_state": 0} | parameters))  # type: ignore[arg-type]
    for _ in range(passes):
        for batch in BATCHES:
            model.partial_fit(counts.select(users=batch), total_users=400)
    return model


def whole_bound(model: dcpf.DCPF) -> float:
    """The bound of all counts with the users folded in."""
    fitted, settings = model.fitted_, FitSettings()
    with Threads(1) as threads:
        W = fitted.part("factors").fold_in(fitted.history, fitted.element, threads)
        ascent = Ascent(
            LocalBlocks(Data.from_matrix(fitted.history), settings, threads), fitted.element, settings, threads
        )
        return ascent.visit(Point(fitted.element, W, fitted.part("factors").H)).bound


@pytest.mark.parametrize("element", dcpf.elements.names())
def test_passes_are_far_ahead_of_as_many_plain_iterations(element: str) -> None:
    model = streamed(element=element)
    settings = {"random_state": 0, "accelerate": False, "tol": 0.0}
    many = dcpf.DCPF(8, element, max_iter=300, **settings).fit(COUNTS).bounds_
    assert whole_bound(model) > many[13]  # of eight passes
    assert whole_bound(model) > many[-1] - 0.02 * abs(many[-1])


def test_the_estimate_of_the_bound_is_near_it() -> None:
    model = streamed(20)
    assert np.mean(model.bounds_[-10:]) == pytest.approx(whole_bound(model), rel=0.02)
    assert model.n_iter_ == len(model.bounds_) == 200


def test_the_parameters_of_a_session_are_learned() -> None:
    model, fitted = streamed(20), dcpf.DCPF(8, random_state=0).fit(COUNTS)
    assert model.element_.mean == pytest.approx(fitted.element_.mean, rel=0.05)


def test_all_users_and_counts_are_there_whatever_the_batches() -> None:
    model = streamed(2)
    order = [model.users_.find(user) for user in TRUTH.users]
    assert sorted(model.users_) == sorted(TRUTH.users)
    assert (model.history_[order] != COUNTS.matrix).nnz == 0
    assert model.recommend(TRUTH.users[3], n=5).ranked.scores[0] > 0.0
    assert model.describe().data["entries"] == COUNTS.nnz


def test_users_who_come_again_are_replaced() -> None:
    model = streamed(1)
    more = Counts.from_matrix([[7, 7]], [TRUTH.users[3]], TRUTH.songs[:2])
    model.partial_fit(more)
    assert len(model.users_) == 400
    place = model.users_.find(TRUTH.users[3])
    assert model.history_[[place]].sum() == 14


def test_new_items_are_taken_in() -> None:
    model = dcpf.DCPF(4, random_state=0).partial_fit(COUNTS.select(users=np.arange(200), items=np.arange(60, 120)))
    assert len(model.items_) == 60
    model.partial_fit(COUNTS.select(users=np.arange(200, 400)))
    assert len(model.items_) == model.item_factors.shape[0] == model.n_features_in_ == 120
    assert np.isfinite(model.item_factors).all()
    for _ in range(3):
        model.partial_fit(COUNTS)
    assert (model.history_.toarray()[[model.users_.find(u) for u in TRUTH.users]] > 0).sum() == COUNTS.nnz


def test_a_table_is_a_batch() -> None:
    frame = COUNTS.to_frame()
    model = dcpf.DCPF(3, random_state=0)
    for part in frame.with_columns(pl.col("user").hash().mod(4).alias("part")).partition_by(
        "part", include_key=False
    ):
        model.partial_fit(part)
    assert sorted(model.users_) == sorted(set(frame["user"]))
    assert model.history_.sum() == COUNTS.matrix.sum()


def test_rows_of_a_matrix_are_numbered_on_or_named() -> None:
    model = dcpf.DCPF(3, random_state=0).partial_fit(TRUTH.counts[:10]).partial_fit(TRUTH.counts[10:15])
    assert list(model.users_) == list(range(15))
    model.partial_fit(TRUTH.counts[:2], users=[3, 40])
    assert list(model.users_) == [*range(15), 40]
    with pytest.raises(ValueError, match="119 features"):
        model.partial_fit(TRUTH.counts[:3, :119])


def test_what_cannot_be_meant_is_refused() -> None:
    model = streamed(1)
    with pytest.raises(ValueError, match="users of the model have names: pass users="):
        model.partial_fit(sparse.csr_array(COUNTS.matrix[:2]))
    with pytest.raises(ValueError, match="X brings its own ids"):
        model.partial_fit(COUNTS, users=["a"])
    with pytest.raises(ValueError, match="total_users must be a whole number >= 1, found 0"):
        model.partial_fit(COUNTS, total_users=0)
    with pytest.raises(dcpf.InvalidCounts):
        model.partial_fit(-COUNTS.matrix[:2], users=["a", "b"])
    assert len(model.users_) == 400


def test_a_stream_goes_on_after_it_was_saved(tmp_path: Path) -> None:
    model = streamed(1)
    model.save(tmp_path / "model.safetensors")
    again = dcpf.DCPF.from_fitted(dcpf.load(tmp_path / "model.safetensors"))
    for one in (model, again):
        one.partial_fit(COUNTS.select(users=BATCHES[0]))
    assert model.item_factors.tobytes() == again.item_factors.tobytes()
    assert model.element_ == again.element_
    model.save(tmp_path / "bare.safetensors", history=False)
    with pytest.raises(ValueError, match="saved without its training counts, and cannot learn more"):
        dcpf.DCPF.from_fitted(dcpf.load(tmp_path / "bare.safetensors")).partial_fit(COUNTS)


def test_it_goes_on_from_a_fit_without_losing_it() -> None:
    model = dcpf.DCPF(8, random_state=0).fit(COUNTS.select(users=np.arange(350)))
    before = whole_bound(model)
    for batch in BATCHES:
        model.partial_fit(COUNTS.select(users=batch[batch < 350]))
    assert whole_bound(model) > before - 5e-3 * abs(before)
    model.partial_fit(COUNTS.select(users=np.arange(350, 400)))
    assert len(model.users_) == 400
    assert model.fitted_.part("factors").seen is not None
    assert model.fit(COUNTS).fitted_.part("factors").seen is None


def test_the_same_bits_for_any_number_of_threads() -> None:
    assert streamed(2, n_jobs=1).item_factors.tobytes() == streamed(2, n_jobs=3).item_factors.tobytes()


def test_held_parameters_stay() -> None:
    element = dcpf.elements.Logarithmic(0.3)
    model = streamed(1, element=element, learn_element=False, learn_rates=False)
    assert model.element_ == element
    assert (model.item_posterior_.row_rate == 1.0).all()


def test_the_learning_rate_falls_from_one_but_adds_up_to_any_distance() -> None:
    shares = 1.0 / np.arange(1, 10_000)  # a stream that never comes back
    rates = [learning_rate(passes, share) for passes, share in zip(np.cumsum(shares), shares, strict=True)]
    assert rates[0] > 0.5
    assert (np.diff(rates) <= 0.0).all()
    assert rates[-1] < 1e-3
    many = [learning_rate(passes, 0.05) for passes in 0.05 * np.arange(1, 100_000)]
    assert sum(many) > 50.0
    assert many[-1] < 1e-3
    assert max(many) == many[0] == 1.0


def test_the_first_batches_count_alike() -> None:
    share, weights = 0.05, np.zeros(6)
    for batch in range(6):
        rho = learning_rate(share * (batch + 1), share)
        weights *= 1.0 - rho
        weights[batch] = rho
    np.testing.assert_allclose(weights, 1.0 / 6.0)
