"""The models of the paper, how they are compared, and the fits that the comparison takes."""

import dataclasses
import math
from dataclasses import dataclass

from dcpf import elements
from dcpf.elements import Element

ALPHAS = (0.1, 0.3, 1.0)  # choices of alpha in a search
SIZES = (50, 100, 200)  # and of K


@dataclass(frozen=True)
class PaperModel:
    """A model of the paper: its label in the tables, its element, and the values of p in the grid search."""

    label: str
    element: str
    grid: tuple[float, ...] = ()

    @property
    def is_limit(self) -> bool:
        """Whether it is Poisson factorization, of raw or of binarized counts."""
        return self.element in ("raw", "binary")


_TENTHS = tuple(j / 10 for j in range(11))
MODELS = (
    PaperModel("Log", "logarithmic", _TENTHS),
    PaperModel("ZTP", "zero-truncated-poisson", (0.0, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0, math.inf)),
    PaperModel("Geo", "geometric", _TENTHS),
    PaperModel("Sh. NB", "shifted-negative-binomial"),
    PaperModel("PFraw", "raw"),
    PaperModel("PFbin", "binary"),
)
RAW, BINARY = MODELS[4], MODELS[5]
_BY_LABEL = {model.label: model for model in MODELS}


@dataclass(frozen=True)
class Protocol:
    """How the models are compared. The defaults are the paper's, except that alpha and K are not chosen by a search.

    The split uses `seed`; the starts of each model use `seed`, `seed + 1`, and so on as random_state.
    """

    components: int = 50
    alpha: float = 0.3
    starts: int = 5
    seed: int = 0
    test_fraction: float = 0.2
    max_iter: int = 3000
    tol: float = 1e-5
    k: int = 100
    thresholds: tuple[int, ...] = (0, 1, 2, 5)
    grid: bool = False  # search p, besides learning it
    choose: bool = False  # choose alpha and K by NDCG0 of PFbin

    def __post_init__(self) -> None:
        for name, least in (("components", 1), ("starts", 1), ("seed", 0), ("max_iter", 1), ("k", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, found {value!r}")
        if not (0.0 < self.alpha < math.inf and 0.0 <= self.tol < math.inf):
            raise ValueError(f"alpha must be above 0 and tol at least 0, found {self.alpha!r} and {self.tol!r}")
        if not self.thresholds or list(self.thresholds) != sorted({int(s) for s in self.thresholds if s >= 0}):
            raise ValueError(f"thresholds must be ascending whole numbers >= 0, found {self.thresholds!r}")

    def fixed(self) -> dict[str, object]:
        """The settings that all results of a table share. More starts or a grid search only add results."""
        settings = dataclasses.asdict(self) | {"thresholds": list(self.thresholds)}
        return {name: value for name, value in settings.items() if name not in ("starts", "grid", "choose")}


@dataclass(frozen=True)
class Job:
    """One fit and its evaluation."""

    model: str  # the label
    components: int
    alpha: float
    start: int
    p: float | None = None  # None: learned

    @property
    def element(self) -> Element:
        """The element that the fit starts from, or keeps if p is given."""
        element = elements.get(_BY_LABEL[self.model].element)
        return element if self.p is None else dataclasses.replace(element, p=self.p)

    def __str__(self) -> str:
        at = "" if self.p is None else f" p={self.p:g}"
        return f"{self.model}{at} K={self.components} alpha={self.alpha:g} start {self.start + 1}"


def job(protocol: Protocol, model: PaperModel, start: int, p: float | None = None) -> Job:
    """A fit of this model. With p at an end of its range it is a fit of Poisson factorization, and is run once."""
    if p is not None:
        limit = dataclasses.replace(elements.get(model.element), p=p).limit
        if limit is not None:
            model, p = RAW if limit == "raw" else BINARY, None
    return Job(model.label, protocol.components, protocol.alpha, start, p)


def jobs(protocol: Protocol) -> list[Job]:
    """All fits for the tables, start by start, so that a stopped run has as many starts of each model."""
    starts = range(protocol.starts)
    wanted = [job(protocol, model, start) for start in starts for model in MODELS]
    if protocol.grid:
        wanted += [job(protocol, model, start, p) for start in starts for model in MODELS for p in model.grid]
    return list(dict.fromkeys(wanted))


def choices(protocol: Protocol) -> list[Protocol]:
    """The protocol with each alpha and K of the search."""
    return [dataclasses.replace(protocol, components=K, alpha=alpha) for K in SIZES for alpha in ALPHAS]


def choice_jobs(protocol: Protocol) -> list[Job]:
    """The fits of PFbin from which alpha and K are chosen."""
    return [job(tried, BINARY, start) for start in range(protocol.starts) for tried in choices(protocol)]
