"""Logarithmic axes whose ticks are read as numbers."""

import math
from typing import Any


def plain_ticks(axis: Any) -> None:
    """Ticks at 1, 10, 100, ... of a logarithmic axis, or at 1, 2, 5, 10, ... of a short one, as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if math.log10(high / low) < 2.0 else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:,.0f}" if value >= 1.0 else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
