"""The style of all figures: one look, the same colour for the same model, and files with the same bytes."""

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

_LABELS = {  # by element
    "raw": "PFraw",
    "binary": "PFbin",
    "logarithmic": "Log",
    "zero-truncated-poisson": "ZTP",
    "geometric": "Geo",
    "shifted-negative-binomial": "Sh. NB",
}
# The colours of Okabe and Ito, which colour-blind readers can tell apart. The two limits are dashed, and markers help
# in grey.
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
    "svg.hashsalt": "dcpf",  # otherwise the names inside an SVG are random
}


def need_matplotlib() -> None:
    """Raise an ImportError that says how to install matplotlib, if it is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'dcpf[plots]'") from error


def label(model: str | Element) -> str:
    """The name of a model in figures, by its element: PFraw, PFbin, Log, ZTP, Geo, Sh. NB, or the element's name."""
    name = elements.get(model).name
    return _LABELS.get(name, name)


def lines(labels: Iterable[str]) -> list[dict[str, Any]]:
    """Colour, dashes and marker of the line of each label.

    A label that starts with the name of a model or of its element gets that model's line; the others get the rest.
    """
    looks = []
    others = 0
    for text in labels:
        model = _model(text)
        if model is None:
            look = {"color": _OTHER_COLOURS[others % len(_OTHER_COLOURS)], "linestyle": "-.", "marker": "P"}
            others += 1
        else:
            look = _LINES[model]
        looks.append({"label": text, **look})
    return looks


@contextmanager
def styled() -> Iterator[None]:
    """Draw and save in this context: it sets our look, and restores the user's settings at the end."""
    need_matplotlib()
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_LOOK)
        yield


def panels(number: int, width: float, height: float) -> tuple["Figure", list["Axes"]]:
    """A figure without pyplot, with this number of panels side by side. Sizes are in inches."""
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
    """Write a figure as PNG, SVG or PDF, by the ending of the file: atomically, and with the same bytes each time."""
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"{target}: the ending must be one of {', '.join(ENDINGS)}, found {ending or 'none'!r}")
    kind = ending[1:]
    no_date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with styled(), store.replacing(target) as draft:
        figure.savefig(draft, format=kind, metadata=no_date.get(kind))


def _model(text: str) -> str | None:
    """The model that a label starts with."""
    names = {model.lower(): model for model in _LABELS.values()}
    for element, model in _LABELS.items():
        names |= dict.fromkeys((element, *type(elements.get(element)).aliases), model)
    starts = [name for name in names if text.lower().replace("_", "-").startswith(name)]
    return names[max(starts, key=len)] if starts else None
