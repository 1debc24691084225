"""Figures: plain functions that take data and return a matplotlib Figure. One figure is one file.

matplotlib comes with the extra dcpf[plots] and is imported when the first figure is drawn.
"""

from dcpf.experiments.figures.bounds import bound_against_time
from dcpf.experiments.figures.distortion import distortion, sessions_by_count
from dcpf.experiments.figures.histograms import predictive_check
from dcpf.experiments.figures.laws import TASTE_PROFILE, element_laws
from dcpf.experiments.figures.mattered import what_mattered
from dcpf.experiments.figures.style import ENDINGS, label, need_matplotlib, save

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
