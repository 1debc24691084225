"""What all figures have in common: one look, the same colour for the same model, and files of the same bytes."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcpf import elements, store
from dcpf.elements import Element

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg", ".pdf")
INK, FAINT = "#222222", "#8a8a8a"

_LABELS = {
    "raw": "PFraw",
    "binary": "PFbin",
    "logarithmic": "Log",
    "zero-truncated-poisson": "ZTP",
    "geometric": "Geo",
    "shifted-negative-binomial": "Sh. NB",
}
# The colours of Okabe and Ito, told apart by all eyes. The two limits are dashed, and markers help in grey.
_LINES: dict[str, dict[str, Any]] = {
    "PFraw": {"color": "#D55E00", "linestyle": (0, (5, 2)), "marker": "v"},
    "PFbin": {"color": "#0072B2", "linestyle": (0, (2, 1.5)), "marker": "X"},
    "Log": {"color": "#E69F00", "linestyle": "-", "marker": "s"},
    "ZTP": {"color": "#CC79A7", "linestyle": "-", "marker": "^"},
    "Geo": {"color": "#56B4E9", "linestyle": "-", "marker": "D"},
    "Sh. NB": {"color": "#009E73", "linestyle": "-", "marker": "o"},
}
_OTHER_COLOURS = ("#5D5D5D", "#8C564B", "#7F7F00", "#6A3D9A", "#A6761D", "#1B6B6B")
_LOOK: dict[Any, Any] = {
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "lines.markeredgewidth": 0.0,
    "svg.hashsalt": "dcpf",  # else the names inside an SVG are drawn at random
}


def need_matplotlib() -> None:
    """Raise an ImportError that says the way out if matplotlib is not there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("figures are drawn by matplotlib: pip install 'dcpf[plots]'") from error


def label(model: str | Element) -> str:
    """What a model is called in figures, by its element: PFraw, PFbin, Log, ZTP, Geo, Sh. NB, or its own name."""
    name = elements.get(model).name
    return _LABELS.get(name, name)


def lines(labels: Iterable[str]) -> list[dict[str, Any]]:
    """How the line of each of these is drawn: colour, dashes and marker.

    A label that starts with that of a model, or with a name of its element, has that model's. Others get the rest.
    """
    given = list(labels)
    known = [_model(one) for one in given]
    others = [one for one, model in zip(given, known, strict=True) if model is None]
    left = {
        one: {"color": _OTHER_COLOURS[j % len(_OTHER_COLOURS)], "linestyle": "-.", "marker": "P"}
        for j, one in enumerate(others)
    }
    return [
        {"label": one, **(left[one] if model is None else _LINES[model])}
        for one, model in zip(given, known, strict=True)
    ]


@contextmanager
def styled() -> Iterator[None]:
    """Draw and save in here: the look of all figures, whatever the user has set for others."""
    need_matplotlib()
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_LOOK)
        yield


def panels(number: int, width: float, height: float) -> tuple["Figure", list["Axes"]]:
    """A figure of its own, which pyplot knows nothing of, with so many panels side by side. Sizes are in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure, [figure.add_subplot(1, number, j + 1) for j in range(number)]


def whole_numbers(*axes: Any) -> None:
    """Write the ticks of logarithmic axes as 1, 10, 100, 1,000, and not as powers of ten."""
    from matplotlib.ticker import FuncFormatter

    for axis in axes:
        axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:,.0f}"))


def save(figure: "Figure", path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, SVG or PDF, by the ending of the file: whole or not at all, and each time the same."""
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"{target}: the ending must be one of {', '.join(ENDINGS)}, found {ending or 'none'!r}")
    kind = ending[1:]
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with styled(), store.replacing(target) as draft:
        figure.savefig(draft, format=kind, metadata=dates.get(kind))


def _model(name: str) -> str | None:
    """The model that a label is about."""
    keys = {short.lower(): short for short in _LABELS.values()}
    for known in elements.names():
        cls = type(elements.get(known))
        keys |= {one: _LABELS[known] for one in (cls.name, *cls.aliases) if known in _LABELS}
    found = [key for key in keys if name.lower().replace("_", "-").startswith(key)]
    return keys[max(found, key=len)] if found else None
