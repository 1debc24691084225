"""Figures: functions that take data and return a matplotlib Figure.

matplotlib comes with the extra dcpf[plots] and is imported when the first figure is drawn.
"""

from dcpf.paper.figures.counts import TASTE_PROFILE, distortion, element_laws, predictive_check, sessions_by_count
from dcpf.paper.figures.fits import bound_against_time, what_mattered
from dcpf.paper.figures.style import ENDINGS, label, need_matplotlib, save

__all__ = [
    "ENDINGS",
    "TASTE_PROFILE",
    "bound_against_time",
    "distortion",
    "element_laws",
    "label",
    "need_matplotlib",
    "predictive_check",
    "save",
    "sessions_by_count",
    "what_mattered",
]
