"""Similar items and users by factors alone: cosines against the dense formula, for one, several and all at once."""

import numpy as np
import pytest

from dcpf import DCPF

RNG = np.random.default_rng(3)
MODEL = DCPF(3, n_neighbors=0, max_iter=5, tol=0.0, random_state=0).fit(
    RNG.poisson(0.6, (40, 30)) + np.eye(40, 30, dtype=int)
)


@pytest.mark.parametrize("what", ["items", "users"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cosines_are_those_of_where_sessions_come_from(
    what: str, n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcpf.model.similarity._ROWS", 7)
    monkeypatch.setattr("dcpf.model.similarity._COSINES", 100)
    sides = (MODEL.item_factors, MODEL.user_factors) if what == "items" else (MODEL.user_factors, MODEL.item_factors)
    shares = sides[0].astype(np.float64) * sides[1].sum(axis=0, dtype=np.float64)
    unit = shares / np.linalg.norm(shares, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    asked = list(range(len(unit)))
    found, scores = getattr(MODEL.fitted_, f"similar_{what}")(asked, n=4, n_jobs=n_jobs)
    order = np.argsort(-cosines, axis=1)[:, :4]
    assert np.array_equal(found, order)
    assert np.allclose(scores, np.take_along_axis(cosines, order, axis=1))
    one, _ = getattr(MODEL.fitted_, f"similar_{what}")(5, n=1000, n_jobs=n_jobs)
    assert len(one) == len(unit) - 1
    assert 5 not in one
