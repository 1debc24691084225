"""Wrappers of peers: they answer as the peer itself does, and say what is missing."""

import sys

import numpy as np
import pytest
from scipy import sparse
from tests.baselines.camps import ITEMS, missing, random_counts, two_camps

from dcpf.baselines import HPF, ImplicitALS, ImplicitBPR
from dcpf.baselines.implicit_models import for_implicit
from dcpf.counts import Counts
from dcpf.kernels.threads import one_blas_thread

CAMPS = two_camps()
COUNTS = random_counts(50, 30)


@pytest.mark.parametrize(("weighting", "weigh"), [("binary", np.sign), ("log", np.log1p), ("raw", lambda y: 1.0 * y)])
def test_als_ranks_as_implicit_does(weighting: str, weigh: object) -> None:
    from implicit.cpu.als import AlternatingLeastSquares

    X = sparse.csr_matrix(weigh(COUNTS), dtype=np.float32)  # type: ignore[operator]
    with one_blas_thread():
        peer = AlternatingLeastSquares(8, 0.5, alpha=3.0, iterations=5, random_state=7)
        peer.fit(X, show_progress=False)
        theirs, their_scores = peer.recommend(np.arange(50), X, N=5)
    mine = ImplicitALS(8, 0.5, alpha=3.0, iterations=5, weighting=weighting, random_state=7)  # type: ignore[arg-type]
    items, scores = mine.fit(COUNTS).recommend(n=5)
    np.testing.assert_array_equal(np.array(items), theirs)
    np.testing.assert_allclose(np.array(scores), their_scores, rtol=1e-4, atol=1e-6)


def test_als_solves_for_the_factors_of_a_history() -> None:
    model = ImplicitALS(4, 0.5, alpha=3.0, weighting="log").fit(COUNTS)
    H = model.item_factors_.astype(float)
    x = 3.0 * np.log1p(COUNTS[7])
    # implicit's objective: confidence x where there is a count, 1 elsewhere; preference 1 where there is a count
    system = H.T @ H + (H.T * np.where(x > 0, x - 1.0, 0.0)) @ H + 0.5 * np.eye(4)
    w = np.linalg.solve(system, H.T @ x)
    items, scores = model.recommend(0, n=30, history=COUNTS[[7]], exclude_seen=False)
    np.testing.assert_allclose(scores, (H @ w)[items], rtol=1e-3, atol=1e-4)


def test_bpr_ranks_as_implicit_does_in_one_thread() -> None:
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    X = sparse.csr_matrix(COUNTS, dtype=np.float32)
    peer = BayesianPersonalizedRanking(8, 0.02, 0.03, iterations=20, num_threads=1, random_state=7)
    peer.fit(X, show_progress=False)
    theirs, _ = peer.recommend(np.arange(50), X, N=5)
    items, _ = ImplicitBPR(8, 0.02, 0.03, 20, 7).fit(COUNTS).recommend(n=5)
    np.testing.assert_array_equal(np.array(items), theirs)


def test_bpr_refuses_a_history() -> None:
    model = ImplicitBPR(4, iterations=2).fit(COUNTS)
    with pytest.raises(ValueError, match="ImplicitBPR ranks only for the users of its fit"):
        model.recommend(history=COUNTS)


@pytest.mark.parametrize("model", [ImplicitALS(8), ImplicitBPR(8, iterations=5)], ids=["als", "bpr"])
def test_another_seed_gives_another_model(model: ImplicitALS | ImplicitBPR) -> None:
    one = model.set_params(random_state=1).fit(COUNTS).item_factors_
    other = model.set_params(random_state=2).fit(COUNTS).item_factors_
    assert not np.allclose(one, other)


def test_implicit_gets_a_matrix_with_indices_of_32_bits() -> None:
    wide = sparse.csr_array(COUNTS)
    wide = sparse.csr_array(
        (wide.data, wide.indices.astype(np.int64), wide.indptr.astype(np.int64)), shape=wide.shape
    )
    given = for_implicit(wide)
    assert isinstance(given, sparse.csr_matrix)
    assert (given.data.dtype, given.indices.dtype, given.indptr.dtype) == (np.float32, np.int32, np.int32)
    np.testing.assert_array_equal(given.toarray(), COUNTS)


@pytest.mark.parametrize(
    ("model", "package", "words"),
    [
        (ImplicitALS(), "implicit", r"implicit is not installed: pip install 'dcpf\[baselines\]'"),
        (ImplicitBPR(), "implicit", r"implicit is not installed: pip install 'dcpf\[baselines\]'"),
        (HPF(), "hpfrec", "hpfrec is not installed: pip install hpfrec"),
    ],
    ids=["als", "bpr", "hpf"],
)
def test_a_missing_package_is_named_with_how_to_install_it(
    model: ImplicitALS | ImplicitBPR | HPF, package: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [known for known in sys.modules if known.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=words):
        model.fit(COUNTS)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (ImplicitALS(factors=0), "factors must be a whole number >= 1, found 0"),
        (ImplicitALS(alpha=0.0), "alpha must be a finite number > 0, found 0.0"),
        (ImplicitALS(weighting="sqrt"), "weighting must be one of .* found 'sqrt'"),  # type: ignore[arg-type]
        (ImplicitBPR(learning_rate=0.0), "learning_rate must be a finite number > 0, found 0.0"),
        (ImplicitBPR(regularization=-1.0), "regularization must be a finite number >= 0, found -1.0"),
        (HPF(random_state=-1), "random_state must be a whole number from 0 to 2.31-2, found -1"),
    ],
    ids=repr,
)
def test_impossible_parameters_are_named(model: ImplicitALS | ImplicitBPR | HPF, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        model.fit(COUNTS)


def test_hpf_scores_are_expected_counts_by_hpfrec() -> None:
    hpfrec = pytest.importorskip("hpfrec")
    peer = hpfrec.HPF(k=4, maxiter=20, random_seed=3, verbose=False, reindex=False, keep_data=False, check_every=None)
    peer.fit(sparse.coo_array(COUNTS))
    items, scores = HPF(4, max_iter=20, random_state=2).fit(COUNTS).recommend(n=30, exclude_seen=False)
    for user in range(50):
        np.testing.assert_allclose(scores[user], peer.Theta[user] @ peer.Beta[items[user]].T, rtol=1e-5)


def test_hpf_folds_in_a_history() -> None:
    pytest.importorskip("hpfrec")
    model = HPF(4, max_iter=50).fit(CAMPS)
    history = Counts.from_matrix(CAMPS.matrix[:6], [f"new {u}" for u in range(6)], ITEMS)
    items, _ = model.recommend(history=history, n=1)
    assert [one[0] for one in items] == [missing(user) for user in range(6)]
