"""Why an item is recommended to a user: a score is a sum, and its parts are shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Id
from dcpf.kernels.threads import Threads
from dcpf.model.fitted import FittedModel
from dcpf.model.sessions import read_counts
from dcpf.model.users import Asked, ask, known_history, one_or_several
from dcpf.parts import Met
from dcpf.ranking.lists import Catalogue, frame_of, table_html, table_text

if TYPE_CHECKING:
    import polars as pl

Doubles = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Explanation:
    """The expected sessions of a user with an item, divided in two ways that both add up to the score.

    By source: each component of the factors, and each other part as a whole. By history: `prior`, which is there
    without any history, and one part for each item that the user has.
    """

    user: Id | None
    item: int  # place in the catalogue
    catalogue: Catalogue
    score: float
    components: Doubles  # the part of each component of the factors
    by_part: dict[str, float]  # the part of each part of the model
    prior: float
    items: Positions  # the history: places in the catalogue, the largest part first
    counts: NDArray[np.int64]  # raw counts
    sessions: Doubles  # as how many sessions each count was read
    parts: Doubles  # what each adds to the score

    @property
    def excited(self) -> float:
        """What excitation adds to the score."""
        return self.by_part.get("excitation", 0.0)

    def _title(self) -> str:
        return f"{self.score:.4g} expected sessions with {self.catalogue.named(self.item)!r}, because of"

    def __repr__(self) -> str:
        if not len(self.items):
            return f"{self._title()} what is popular: there is no history"
        return f"{self._title()}\n{table_text(self.to_frame())}"

    def _repr_html_(self) -> str:
        return f"<p>{self._title()}</p>{table_html(self.to_frame())}"

    def columns(self) -> dict[str, Any]:
        """The columns of `to_frame`, as lists and arrays."""
        numbers = {"count": self.counts, "sessions": self.sessions, "part": self.parts}
        return {**self.catalogue.columns(self.items, "item"), **numbers}

    def to_frame(self) -> "pl.DataFrame":
        """A polars table of the history: item, name, count, sessions, the part of the score, the largest first."""
        return frame_of(self.columns())

    def to_dict(self) -> dict[str, object]:
        """The same as plain numbers, strings and lists."""
        order = np.argsort(-self.components, kind="stable")
        columns = {name: np.asarray(values).tolist() for name, values in self.columns().items()}
        return {
            "user": self.user,
            "item": self.catalogue.ids[self.item],
            "name": self.catalogue.named(self.item),
            "score": self.score,
            "prior": self.prior,
            "excited": self.excited,
            "components": [{"component": int(k), "part": float(self.components[k])} for k in order],
            "history": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        }


class ReadHistory(NamedTuple):
    """What a user has, and as how many sessions each count is read."""

    counts: sparse.csr_array
    sessions: Doubles


def explain_one(model: FittedModel, user: Any, item: Any, history: Any, n_jobs: int | None) -> Explanation:
    """See `FittedModel.explain`."""
    wanted = one_or_several(item, "item")
    if len(wanted) != 1:
        raise ValueError(f"an explanation is of one item, found {len(wanted):,}; explain_items explains several")
    return explain_items(model, user, wanted, history, n_jobs)[0]


def explain_items(
    model: FittedModel, user: Any, items: Sequence[Any], history: Any, n_jobs: int | None
) -> list[Explanation]:
    """See `FittedModel.explain_items`."""
    places = model.catalogue.places(one_or_several(items, "items"))
    if user is None and history is None:
        raise ValueError("explain whose list? Give a user, or a history")
    asked = ask(model, user, history)
    if len(asked.ids) != 1:
        raise ValueError(f"an explanation is for one user, found {len(asked.ids):,}; pass user= to say which")
    with Threads(1) as threads:
        met = model.meet(asked.batch, threads)
        return explain(model, asked, met, read_history(model, asked, met, threads), places, threads)


def read_history(model: FittedModel, asked: Asked, met: Sequence[Met], threads: Threads) -> ReadHistory:
    """The counts of the one who asks, and the sessions behind them."""
    counts = known_history(model, asked.batch)
    return ReadHistory(counts, read_counts(model, met, counts, threads))


def history_of(model: FittedModel, user: Any, history: Any = None) -> ReadHistory:
    """What one user has, in `history` or else in the training counts, and as how many sessions each count is read."""
    asked = ask(model, user, history)
    with Threads(1) as threads:
        return read_history(model, asked, model.meet(asked.batch, threads), threads)


def explain(
    model: FittedModel, asked: Asked, met: Sequence[Met], read: ReadHistory, places: Positions, threads: Threads
) -> list[Explanation]:
    """Why the items at these places, for the one user whom the parts have met."""
    known, rates, factors = read.counts.indices.astype(np.int64), model.rates(met), model.part("factors")
    pairs = sparse.csr_array((np.ones(len(places)), (np.zeros(len(places), np.int64), places)), (1, len(model.items)))
    pairs.sort_indices()
    scores = dict(zip(pairs.indices.tolist(), rates.at(pairs, threads).tolist(), strict=True))
    found = []
    for place in places.tolist():
        prior, by_history, by_part, components = 0.0, np.zeros(len(known)), {}, np.empty(0)
        for part, one, weight in zip(model.parts, met, model.weights, strict=True):
            reasons = one.reasons(0, place, known, read.sessions)
            prior, by_history = prior + weight * reasons.prior, by_history + weight * reasons.history
            by_part[part.name] = float(weight * (reasons.prior + reasons.history.sum()))
            if part is factors:
                components = weight * (one.side.W[0].astype(np.float64) * part.items.H[place].astype(np.float64))
        order = np.argsort(-by_history, kind="stable")
        found.append(
            Explanation(
                user=asked.ids[0],
                item=place,
                catalogue=model.catalogue,
                score=scores[place],
                components=components,
                by_part=by_part,
                prior=prior,
                items=known[order],
                counts=read.counts.data[order],
                sessions=read.sessions[order],
                parts=by_history[order],
            )
        )
    return found
