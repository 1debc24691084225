"""The model card: what was learned, and what it makes of a count."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.elements import Element
from dcpf.inference.data import Rows
from dcpf.inference.posterior import sessions_at
from dcpf.kernels.threads import Threads
from dcpf.serve.answers import Card, Curve, Law
from dcpf.serve.loaded import Loaded
from dcpf.serve.recommending import number

_POINTS = 60  # of the law of a session, and of the curve
_TAIL = 1e-3  # of the law, which is not told
_FARTHEST = 2**20  # where it is cut in any case
_SAMPLE = 2_000  # users among whom a typical rate is looked for


def card(loaded: Loaded) -> Card:
    """All that is told of a model at a glance. It is made once."""
    if loaded.card is None:
        loaded.card = _made(loaded)
    return loaded.card


def _made(loaded: Loaded) -> Card:
    model = loaded.model
    about, element = model.describe().to_dict(), model.element_
    rate = _typical_rate(loaded, about["sessions"] / max(1, about["data"]["entries"]))
    made: Card = {
        "file": loaded.file,
        "revision": loaded.revision,
        "loaded_at": loaded.loaded_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "mean": number(element.mean),
        "deviation": number(math.sqrt(element.variance)) if math.isfinite(element.mean) else None,
        "pmf": law(element),
        "curve": curve(element, rate, int(about["data"]["largest"])),
        **about,  # type: ignore[typeddict-item]
    }
    return made


def law(element: Element) -> Law | None:
    """The p.m.f. of a session, at all of 1, 2, 3, ... if they are few, else at points ever farther apart."""
    if element.limit == "binary":
        return None
    last, probability = _POINTS, element.pmf(np.arange(1, _POINTS + 1))
    while probability.sum() < 1.0 - _TAIL and last < _FARTHEST:
        last *= 2
        probability = element.pmf(np.arange(1, last + 1))
    at_most = np.cumsum(probability)
    last = min(last, int(np.searchsorted(at_most, 1.0 - _TAIL)) + 1)
    x = _grid(last)
    return {
        "x": x.tolist(),
        "probability": probability[x - 1].tolist(),
        "at_most": np.minimum(at_most[x - 1], 1.0).tolist(),
    }


def curve(element: Element, rate: float, largest: int) -> Curve:
    """The expected sessions behind counts from 1 to the largest, at this rate."""
    counts = _grid(largest)
    n = len(counts)
    data = Rows.from_matrix(sparse.csr_array((counts, np.arange(n), [0, n]), shape=(1, n)))
    with Threads(1) as threads:
        sessions = sessions_at(data, np.full(n, rate), element, threads)
    return {"count": counts.tolist(), "sessions": sessions.tolist(), "rate": rate}


def _grid(last: int) -> NDArray[np.int64]:
    """Whole numbers from 1 to the last: all of them, or as many as there are points, evenly in their logarithm."""
    if last <= _POINTS:
        return np.arange(1, last + 1)
    return np.unique(np.round(np.geomspace(1, last, _POINTS)).astype(np.int64))


def _typical_rate(loaded: Loaded, otherwise: float) -> float:
    """The median rate at the training counts of some users."""
    model = loaded.model
    if model.history_ is None or not model.history_.nnz:
        return otherwise
    users = np.unique(np.linspace(0, len(model.users_) - 1, _SAMPLE).astype(np.int64))
    seen = model.history_[users]
    if not seen.nnz:
        return otherwise
    with Threads(1) as threads:
        return float(np.median(model._rates(model.user_factors[users], seen, seen, threads)))
