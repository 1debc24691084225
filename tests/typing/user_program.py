"""A program as a user may write it. It is not run: mypy reads it in strict mode, and each assert_type must hold."""

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import dcpf
from dcpf import DCPF, Counts, FittedModel, Iteration
from dcpf.elements import Element, Logarithmic
from dcpf.evaluation import Evaluation
from dcpf.model.recommendation import Recommendations


def told(iteration: Iteration) -> bool:
    """End a fit early."""
    assert_type(iteration.number, int)
    assert_type(iteration.bound, float)
    return iteration.seconds > 60.0


def from_file(path: Path) -> FittedModel:
    """Read, fit, save, load."""
    counts = dcpf.read_counts(path)
    assert_type(counts, Counts)
    model = DCPF(n_components=20, element=Logarithmic(p=0.3), callback=told, random_state=0).fit(counts)
    assert_type(model, DCPF)
    assert_type(model.fitted_, FittedModel)
    model.save(path.with_suffix(".safetensors"))
    return dcpf.load(path.with_suffix(".safetensors"))


def learned(model: DCPF) -> None:
    """What an estimator has learned."""
    assert_type(model.element_, Element)
    assert_type(model.bounds_, NDArray[np.float64])
    assert_type(model.user_factors, NDArray[np.floating])
    assert_type(model.recommend("alice"), Recommendations)


def continued(fitted: FittedModel, more: Counts) -> DCPF:
    """A loaded model learns more."""
    model = DCPF.from_fitted(fitted, warm_start=True).fit(more)
    return model.partial_fit(more, total_users=1000).partial_fit_users(more).refit_parts()


def asked(model: FittedModel) -> list[str]:
    """All kinds of questions."""
    assert_type(model.element, Element)
    assert_type(model.facts.bounds, NDArray[np.float64])
    items, scores = model.recommend("alice", n=5, deny=["song-1"])
    for item, score in zip(items, scores, strict=True):
        print(item, score)
    frame = model.recommend(["alice", "bob"]).to_frame()
    why = model.explain("alice", "song-9")
    assert_type(why.score, float)
    model.predict_pairs("alice", ["song-9"]).at_least(3)
    model.partial_fit_users(sparse.csr_array([[1, 0, 2]]), users=["carol"]).forget_users(["carol"])
    return [str(row) for row in frame.rows()]


def judged(counts: Counts) -> Evaluation:
    """Hold out, fit, evaluate, compare."""
    train, test = counts.split(test_fraction=0.2, seed=0)
    assert_type(train, Counts)
    found = dcpf.evaluate(DCPF(20).fit(train), test, k=20)
    other = dcpf.evaluate(DCPF.paper(20).fit(train), test, k=20)
    print(found.compare(other))
    assert_type(found.mean("ndcg"), float)
    return found


def weighted(counts: sparse.csr_array[Any]) -> Any:
    """Counts as sessions, for another method."""
    return DCPF(n_components=20, n_neighbors=0).fit(counts).sessions()


def excuse(matrix: NDArray[np.int64]) -> str:
    """What is wrong is told by exceptions with names."""
    try:
        DCPF().fit(matrix).recommend(99)
    except (dcpf.InvalidCounts, dcpf.UnknownId, dcpf.ModelFormatError) as error:
        return str(error)
    return dcpf.__version__
