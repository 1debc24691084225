"""Posterior predictive check: do counts drawn from the fitted model look like the data?

The check compares how many entries have each count, and how many are zero (Figure 2 of the paper). A model of raw
counts has too many non-zeros, since it needs large rates for its tail; one of binarized counts has no tail.
"""

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Counts, count_matrix
from dcpf.elements import Element, Raw
from dcpf.evaluation.task import with_known_columns
from dcpf.kernels.threads import Threads
from dcpf.model import DCPF
from dcpf.model.checks import check_whole, has_ids, warn_caller
from dcpf.model.fitted import FittedModel, fitted_of
from dcpf.parts import UserBatch
from dcpf.simulation import draw_counts, draw_excited
from dcpf.text import plural

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EVENTS = 1 << 22
"""Sessions drawn at a time. A draw takes users in blocks that expect about so many."""

_CLOSE = 1.05  # shares of non-zeros within this factor are called about the same
_APART = 1.25  # numbers of entries are reported if they differ by more than this factor, and more than by chance
_FEW = 30  # entries: a last range with fewer, in data and draws, is merged with the range before
_TITLES = {
    "nonzeros": "non-zeros",
    "share": "share of non-zeros",
    "largest": "largest count",
    "total": "total of counts",
}
_BINARIZED = (
    "The binary limit has no law of counts: the draws are the sessions of Poisson factorization of the binarized "
    "data, each counted as 1."
)


def predictive_check(
    model: DCPF | FittedModel,
    counts: Any = None,
    seed: int | np.random.Generator = 0,
    draws: int = 10,
    *,
    progress: Callable[[int, int], object] | None = None,
) -> "Check":
    """Draw matrices of counts from a fitted model and compare them with the data.

    As in the paper, matrices are drawn from E[W], E[H] and the learned element, which ignores the uncertainty about
    W and H. Excitation is drawn given the counts of these users. The binary limit has no law of counts: there,
    sessions are drawn, which is Poisson factorization of the binarized data. Time grows with the sessions drawn, not
    with users x items, and memory is bounded by `EVENTS` sessions.

    Parameters
    ----------
    model : DCPF or FittedModel
        A fitted model.
    counts : Counts, table or matrix
        The data to compare with, by default the training counts. A table or `Counts` may have some of the users: only
        these are drawn. A matrix has all users and items of the model. Don't give a held-out part, which has fewer
        counts than the model draws.
    seed : int or Generator
        Seed of the draws.
    draws : int
        Number of matrices to draw.
    progress : callable
        Called with (done, total) after each step.
    """
    check_whole(draws=draws)
    fitted = fitted_of(model)
    matrix, users = _truth(fitted, counts)
    data = _histogram(matrix.data)
    with Threads() as threads:
        rates = fitted.rates(fitted.meet(UserBatch(users, np.zeros(len(users), dtype=bool), matrix), threads))
    (W, X), H, S = rates.users, rates.items.H.astype(np.float64), rates.items.S
    law = fitted.element if fitted.element.limit is None else Raw()
    rng = np.random.default_rng(seed)
    blocks = _blocks(rates.by_user(), EVENTS)
    drawn: list[Counter[int]] = []
    for draw in range(draws):
        drawn.append(Counter())
        for j, block in enumerate(blocks):
            counted = draw_counts(W[block], H, law, rng)[0]
            if S.shape[0]:
                counted = counted + draw_excited(X[block], S, law, rng)[0]
            drawn[-1].update(_histogram(counted.data))
            if progress is not None:
                progress(draw * len(blocks) + j + 1, draws * len(blocks))
    distinct = sorted(set(data).union(*drawn))
    rows = np.array([[one[count] for count in distinct] for one in (data, *drawn)], dtype=np.int64)
    return Check(fitted.element, (len(W), len(H)), np.array(distinct, dtype=np.int64), rows[0], rows[1:])


def _truth(model: FittedModel, counts: Any) -> tuple[sparse.csr_array, Ints]:
    """The data in the columns of the model, and the rows of their users in the model."""
    if counts is None:
        if model.history is None:
            raise ValueError("the model was saved without its training counts: give the counts to check it against")
        return model.history, np.arange(len(model.users))
    if has_ids(counts):
        return _known(model, Counts.of(counts))
    matrix, expected = count_matrix(counts), (len(model.users), len(model.items))
    if matrix.shape != expected:
        raise ValueError(
            f"counts: found {matrix.shape[0]:,} x {matrix.shape[1]:,}, but the model has {expected[0]:,} users x "
            f"{expected[1]:,} items: give a row and a column for each, or a table with ids"
        )
    return matrix, np.arange(len(model.users))


def _known(model: FittedModel, counts: Counts) -> tuple[sparse.csr_array, Ints]:
    """Counts with ids in the columns of the model, and the rows of their users; the unknown are left out."""
    users, items = model.users.find_all(counts.users), model.items.find_all(counts.items)
    for what, places, ids in (("users", users, counts.users), ("items", items, counts.items)):
        unknown = np.flatnonzero(places < 0)
        if len(unknown) == len(places):
            its_own = (model.users if what == "users" else model.items)[0]
            raise ValueError(
                f"counts: the model knows none of these {what}, {ids[0]!r} for one; its own are like {its_own!r}: "
                "give counts with the ids that it was fitted to"
            )
        if len(unknown):
            warn_caller(
                f"{len(unknown):,} of {len(places):,} {what} are unknown to the model and were skipped, such as "
                f"{ids[int(unknown[0])]!r}"
            )
    matrix, _ = with_known_columns(counts.matrix[users >= 0], counts.items, model.items)
    if not matrix.nnz:
        raise ValueError("counts: no entry has both a user and an item that the model knows")
    return matrix, users[users >= 0]


def _histogram(values: NDArray[np.integer]) -> Counter[int]:
    """How many entries have each count. Equivalent to Counter(values.tolist())."""
    distinct, numbers = np.unique(values, return_counts=True)
    return Counter(dict(zip(distinct.tolist(), numbers.tolist(), strict=True)))


def _blocks(expected: NDArray[np.floating], limit: int) -> list[slice]:
    """Blocks of rows that each expect `limit` sessions, or those of one row more."""
    starts = np.flatnonzero(np.diff(np.cumsum(expected, dtype=np.float64) // limit, prepend=-1.0))
    return [slice(int(a), int(b)) for a, b in zip(starts, [*starts[1:], len(expected)], strict=True)]


@dataclass(frozen=True)
class Range:
    """The number of entries with a count from `low` to `high`, in the data and in each draw."""

    low: int
    high: int
    data: int
    drawn: tuple[int, ...]

    @property
    def mean(self) -> float:
        """The mean number of entries over the draws."""
        return math.fsum(self.drawn) / len(self.drawn)

    @property
    def differs(self) -> int:
        """1 if the draws have clearly more entries than the data, -1 if clearly fewer, else 0."""
        more, fewer = max(self.mean, self.data), min(self.mean, self.data)
        by_chance = 4.0 * math.sqrt(max(self.mean, 1.0) * (1.0 + 1.0 / len(self.drawn)))
        if more <= _APART * fewer or more - fewer <= by_chance:
            return 0
        return 1 if self.mean > self.data else -1

    def spelt(self, between: str, open_at: int | None = None) -> str:
        """The range in words. One that ends at `open_at` is spelt as open."""
        if self.high == open_at:
            return f"{self.low:,} or more"
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,}{between}{self.high:,}"

    def __add__(self, other: "Range") -> "Range":
        """The union of two adjacent ranges."""
        drawn = tuple(a + b for a, b in zip(self.drawn, other.drawn, strict=True))
        return Range(self.low, other.high, self.data + other.data, drawn)


@dataclass(frozen=True, eq=False, repr=False)
class Check:
    """Histograms of the counts in the data and in matrices drawn from the model. Prints as a table."""

    element: Element
    shape: tuple[int, int]  # users and items of a draw
    counts: Ints  # the distinct counts of the data and of the draws, ascending
    data: Ints  # number of entries of the data with each count
    drawn: Ints  # the same for each draw: draws x counts

    @property
    def binarized(self) -> bool:
        """Whether the element is the binary limit, which has no law of counts: sessions are drawn instead."""
        return self.element.limit == "binary"

    @property
    def expected(self) -> Floats:
        """The mean number of entries with each of `counts` over the draws."""
        return np.asarray(self.drawn.mean(axis=0))

    @property
    def data_share(self) -> float:
        """The share of non-zeros in the data."""
        return float(self.data.sum() / math.prod(self.shape))

    @property
    def shares(self) -> Floats:
        """The share of non-zeros in each draw."""
        return np.asarray(self.drawn.sum(axis=1) / math.prod(self.shape))

    @property
    def model_share(self) -> float:
        """The mean share of non-zeros over the draws."""
        return float(self.shares.mean())

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The numbers of entries by ranges of counts: 1, 2, 3, 4-5, 6-10, 11-20, 21-50, 51-100, ..."""
        bounds = _bounds(int(self.counts[-1]))
        places = np.searchsorted(self.counts, bounds, side="right")
        parts = zip([0, *bounds[:-1]], bounds, [0, *places[:-1]], places, strict=True)
        return tuple(
            Range(low + 1, high, int(self.data[a:b].sum()), tuple(self.drawn[:, a:b].sum(axis=1).tolist()))
            for low, high, a, b in parts
        )

    @property
    def findings(self) -> tuple[str, ...]:
        """Where the model and the data differ, in sentences."""
        share = self.model_share / self.data_share
        about = "about as many non-zeros as there are"
        found = [about if 1.0 / _CLOSE < share < _CLOSE else _compared(share, "non-zeros")]
        found[0] += f" ({_percent(self.model_share)} against {_percent(self.data_share)})"
        parted = [run for run in _runs(self.ranges) if run.differs]
        for run in parted:
            what = f"counts of {run.spelt(' to ', open_at=self.ranges[-1].high)}"
            ratio = run.mean / run.data if run.data else math.inf
            found.append(f"{_compared(ratio, what)} ({_number(run.mean)} against {run.data:,})")
        sentences = [f"The model draws {one}." for one in found]
        if not parted:
            sentences.append(f"In no range of counts do they differ by more than {_APART - 1.0:.0%} and chance.")
        if self.binarized:
            sentences.insert(0, _BINARIZED)
        return tuple(sentences)

    def to_frame(self) -> "pl.DataFrame":
        """A polars table with a row per range of counts: entries in the data; mean, least and most in the draws."""
        import polars as pl

        rows = [(one.low, one.high, one.data, one.mean, min(one.drawn), max(one.drawn)) for one in self.ranges]
        return pl.DataFrame(rows, schema=["low", "high", "data", "mean", "least", "most"], orient="row")

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain numbers, strings, lists and dicts."""
        return {
            "element": self.element.name,
            "parameters": self.element.parameters,
            "users": self.shape[0],
            "items": self.shape[1],
            "draws": len(self.drawn),
            "binarized": self.binarized,
            **{name: {"data": data} | _spread(drawn) for name, (data, drawn) in self._summary().items()},
            "ranges": self.to_frame().to_dicts(),
            "histogram": {
                "count": self.counts.tolist(),
                "data": self.data.tolist(),
                "mean": self.expected.tolist(),
            },
            "findings": list(self.findings),
        }

    def __str__(self) -> str:
        parameters = "".join(f", {name} {value:.3g}" for name, value in self.element.parameters.items())
        users, items = self.shape
        lines = [
            f"Predictive check of {self.element.name}{parameters}",
            f"{plural(users, 'user')} x {plural(items, 'item')}, {plural(len(self.drawn), 'draw')} from the model",
            "",
            f"{'entries of count':<20}{'data':>14}{'model':>14}    range of the draws",
            *(_line(one.spelt("-"), one.data, np.array(one.drawn)) for one in self.ranges),
            "",
        ]
        for name, (data, drawn) in self._summary().items():
            lines.append(_line(_TITLES[name], data, drawn, _percent if name == "share" else _number))
        lines.append("")
        for sentence in self.findings:
            lines += textwrap.wrap(sentence, 80, subsequent_indent="  ")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<Check of {self.element.name}: {_percent(self.data_share)} non-zeros in the data, "
            f"{_percent(self.model_share)} in {len(self.drawn)} draws; print() shows more>"
        )

    def _summary(self) -> dict[str, tuple[float, NDArray[Any]]]:
        """Summary statistics as (of the data, of each draw)."""
        largest = [int(self.counts[row > 0].max(initial=0)) for row in (self.data, *self.drawn)]
        return {
            "nonzeros": (int(self.data.sum()), self.drawn.sum(axis=1)),
            "share": (self.data_share, self.shares),
            "largest": (largest[0], np.array(largest[1:])),
            "total": (int(self.data @ self.counts), self.drawn @ self.counts),
        }


def _bounds(largest: int) -> list[int]:
    """1, 2, 3, 5, 10, 20, 50, 100, ... up to the first bound not below the largest count."""
    bounds = [1, 2, 3]
    while bounds[-1] < largest:
        digits = 10 ** (len(str(bounds[-1])) - 1)
        bounds.append({1: 2, 2: 5, 3: 5, 5: 10}[bounds[-1] // digits] * digits)
    return bounds


def _runs(ranges: tuple[Range, ...]) -> Iterator[Range]:
    """The ranges, where adjacent ones that differ in the same direction, and rare ones at the end, are merged."""
    *rest, run = ranges
    while rest and max(run.data, run.mean) < _FEW:
        run = rest.pop() + run
    merged = [*rest, run]
    run = merged[0]
    for one in merged[1:]:
        if one.differs == run.differs:
            run += one
        else:
            yield run
            run = one
    yield run


def _compared(ratio: float, what: str) -> str:
    """How the number drawn compares with the data, in words."""
    if ratio == 0.0:
        return f"no {what}"
    if ratio == math.inf:
        return f"{what} where there are none"
    if ratio < 0.5:
        return f"only {100.0 * ratio:.2g}% as many {what} as there are"
    if ratio < 1.5:
        return f"{abs(ratio - 1.0):.0%} {'more' if ratio > 1.0 else 'fewer'} {what} than there are"
    return f"{ratio:,.{1 if ratio < 10.0 else 0}f} times as many {what} as there are"


def _spread(drawn: NDArray[Any]) -> dict[str, float]:
    return {"mean": float(drawn.mean()), "least": drawn.min().item(), "most": drawn.max().item()}


def _number(value: float) -> str:
    return f"{value:,.1f}" if value < 10.0 and value != int(value) else f"{value:,.0f}"


def _percent(share: float) -> str:
    """A share with three digits or two decimals."""
    decimals = 2 if share >= 0.001 or share == 0.0 else -math.floor(math.log10(share))
    return f"{share:.{decimals}%}"


def _line(name: str, data: float, drawn: NDArray[Any], spelt: Callable[[float], str] = _number) -> str:
    mean, least, most = map(spelt, _spread(drawn).values())
    return f"{name:<20}{spelt(data):>14}{mean:>14}    {least} to {most}"
