"""What a predictive check has found: histograms of the data and of draws from a model, in tables and in words."""

import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcpf.elements import Element
from dcpf.text import plural

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CLOSE = 1.05  # shares of non-zeros that differ by less are called about the same
_APART = 1.25  # numbers of entries that differ by more than this factor, and by more than chance, are told
_FEW = 30  # entries: a last range with fewer, in the data and in the draws, is told together with the one before
_TITLES = {
    "nonzeros": "non-zeros",
    "share": "share of non-zeros",
    "largest": "largest count",
    "total": "total of counts",
}
_BINARIZED = (
    "The binary limit has no law of counts: what is drawn are the sessions of Poisson factorization of the binarized "
    "data, each counted as 1."
)


@dataclass(frozen=True)
class Range:
    """Counts from `low` to `high`: how many entries of the data have one, and how many of each draw."""

    low: int
    high: int
    data: int
    drawn: tuple[int, ...]

    @property
    def mean(self) -> float:
        """How many the model draws on average."""
        return math.fsum(self.drawn) / len(self.drawn)

    @property
    def differs(self) -> int:
        """1 if the model draws clearly more than the data have, -1 if clearly fewer, else 0."""
        more, fewer = max(self.mean, self.data), min(self.mean, self.data)
        by_chance = 4.0 * math.sqrt(max(self.mean, 1.0) * (1.0 + 1.0 / len(self.drawn)))
        if more <= _APART * fewer or more - fewer <= by_chance:
            return 0
        return 1 if self.mean > self.data else -1

    def spelt(self, between: str, open_at: int | None = None) -> str:
        """The range in words; the one that ends at `open_at` has no upper end."""
        if self.high == open_at:
            return f"{self.low:,} or more"
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,}{between}{self.high:,}"

    def __add__(self, other: "Range") -> "Range":
        """The two of them, one following the other."""
        drawn = tuple(a + b for a, b in zip(self.drawn, other.drawn, strict=True))
        return Range(self.low, other.high, self.data + other.data, drawn)


@dataclass(frozen=True, eq=False, repr=False)
class Check:
    """How many entries have each count, in the data and in matrices drawn from the model. Prints as a table."""

    element: Element
    shape: tuple[int, int]  # users and items that were drawn
    counts: Ints  # the distinct counts of the data and of the draws, ascending
    data: Ints  # how many entries of the data have each
    drawn: Ints  # and how many of each draw: draws x counts

    @property
    def binarized(self) -> bool:
        """Whether the element is the binary limit, which has no law of counts: what is drawn are sessions."""
        return self.element.limit == "binary"

    @property
    def expected(self) -> Floats:
        """How many entries the model draws with each of `counts`, on average."""
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
        """The share of non-zeros in the draws, on average."""
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
        """Where model and data part, in sentences."""
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
        """A polars table with a row for each range of counts: entries in the data, and in the draws."""
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
        """What is said in one number: (of the data, of each draw)."""
        largest = [int(self.counts[row > 0].max(initial=0)) for row in (self.data, *self.drawn)]
        return {
            "nonzeros": (int(self.data.sum()), self.drawn.sum(axis=1)),
            "share": (self.data_share, self.shares),
            "largest": (largest[0], np.array(largest[1:])),
            "total": (int(self.data @ self.counts), self.drawn @ self.counts),
        }


def _bounds(largest: int) -> list[int]:
    """1, 2, 3, 5, 10, 20, 50, 100, ... up to the first that is not below the largest count."""
    bounds = [1, 2, 3]
    while bounds[-1] < largest:
        digits = 10 ** (len(str(bounds[-1])) - 1)
        bounds.append({1: 2, 2: 5, 3: 5, 5: 10}[bounds[-1] // digits] * digits)
    return bounds


def _runs(ranges: tuple[Range, ...]) -> Iterator[Range]:
    """Neighbouring ranges that differ in the same direction as one, and all with few entries at the end as one."""
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
    """So many as there are, more or fewer."""
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
