"""Draw the figures of the pages on the model: python docs/figures/draw.py [FOLDER].

What is shown is computed or drawn at random with a fixed seed, and the same program gives the same bytes.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import FancyArrowPatch, Rectangle

from dcpf.elements import Element, Geometric, Logarithmic, ShiftedNegativeBinomial, Totals, ZeroTruncatedPoisson
from dcpf.paper.figures.style import FAINT, INK, label, lines, panels, save, styled
from dcpf.simulation import draw_counts

FIRST, SECOND, THIRD = "#0072B2", "#D55E00", "#009E73"  # of Okabe and Ito


def sessions() -> Any:
    """Two counts of 12, as days on which something was played."""
    figure, (axes,) = panels(1, 7.2, 2.1)
    evenings = {"Ada: 12 plays, 1 session": [(11, 12)], "Ben: 12 plays, 9 sessions": _spread()}
    for row, (name, days) in enumerate(evenings.items()):
        height, colour = 1.0 - row, (FIRST, SECOND)[row]
        axes.plot([0, 30], [height, height], color="#d0d0d0", linewidth=1, zorder=0)
        for day, plays in days:
            axes.add_patch(
                Rectangle((day - 0.42, height - 0.1), 0.84, 0.13 + 0.055 * plays, color=colour, alpha=0.18)
            )
            axes.scatter([day] * plays, height + 0.055 * np.arange(plays), s=9, color=colour, zorder=2)
        axes.text(0.2, height + 0.22, name, color=colour, weight="bold", va="bottom")
    axes.set(xlim=(0, 30.5), ylim=(-0.25, 1.85), yticks=[], xlabel="day")
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False)
    return figure


def _spread() -> list[tuple[int, int]]:
    return [(9, 1), (11, 2), (13, 1), (16, 1), (18, 1), (20, 2), (23, 1), (26, 2), (29, 1)]


def reading() -> Any:
    """E[n] against y: between the limits, and at several rates."""
    counts = np.arange(1, 41)
    figure, (left, right) = panels(2, 7.2, 3.0)
    for p, shade in zip((0.02, 0.1, 0.4, 0.8), (0.35, 0.55, 0.75, 1.0), strict=True):
        element: Element = Geometric(p=p)
        left.plot(counts, expected(element, counts, 1.0), color=FIRST, alpha=shade, label=f"{element.mean:.3g} plays")
    left.plot(counts, counts, color=INK, linestyle=(0, (5, 2)), label="raw")
    left.plot(counts, np.ones(len(counts)), color=INK, linestyle=(0, (2, 1.5)), label="binary")
    element = ShiftedNegativeBinomial(p=0.8, a=0.3)
    for rate, colour in zip((0.05, 0.5, 2.0, 6.0), (FIRST, THIRD, SECOND, "#CC79A7"), strict=True):
        right.plot(counts, expected(element, counts, rate), color=colour, label=f"{rate:g} expected")
    left.set(title="by the mean length of a session", xlabel="count", ylabel="read as sessions", ylim=(0, 20))
    right.set(title="by the sessions that are expected", xlabel="count", ylim=(0, 20))
    left.legend(loc="upper left", fontsize=8)
    right.legend(loc="upper left", fontsize=8)
    return figure


def expected(element: Element, counts: Any, rate: float) -> Any:
    """E[n] behind each count at this rate of sessions."""
    t = np.array([np.log(rate) - element.c])
    return 1.0 + element.cumulants(counts.astype(np.int64), t)[:, 0, 1]


def factors() -> Any:
    """W and H, their product, sessions and counts of a few users and items."""
    rng = np.random.default_rng(4)
    users, items, K = 24, 32, 4
    W = 0.04 + rng.gamma(2.0, 0.7, (users, K)) * (np.arange(users)[:, None] * K // users == np.arange(K))
    H = 0.03 + rng.gamma(2.0, 0.6, (items, K)) * (np.arange(items)[:, None] * K // items == np.arange(K))
    element = ShiftedNegativeBinomial(p=0.8, a=0.3)
    y, n = draw_counts(W, H, element, rng)
    shown = {"tastes W": W, "items H": H.T, "rates W H": W @ H.T, "sessions n": n.toarray(), "counts y": y.toarray()}
    figure, axes = panels(5, 7.2, 2.0)
    for one, (title, matrix) in zip(axes, shown.items(), strict=True):
        scaled = np.sqrt(matrix / matrix.max())
        one.imshow(scaled, cmap="Blues", aspect="auto", vmin=0.0, vmax=1.0, interpolation="nearest")
        one.set(title=title, xticks=[], yticks=[])
        one.grid(visible=False)
        for spine in one.spines.values():
            spine.set(visible=True, color=FAINT)
    axes[0].set_ylabel("users")
    axes[1].set_ylabel("components")
    for one in axes[1:]:
        one.set_xlabel("items")
    axes[0].set_xlabel("components")
    return figure


def excitation() -> Any:
    """What a user has, and what that brings. The numbers are made up."""
    figure, (axes,) = panels(1, 7.2, 2.6)
    has = [("Muse", 31), ("Oasis", 1218), ("Coldplay", 104)]
    brings = ["The Killers", "Keane", "Blur"]
    strength = np.array([[0.9, 0.25, 0.1], [0.7, 0.0, 0.8], [0.75, 0.9, 0.0]])
    for j, (name, count) in enumerate(has):
        axes.text(2.0, 2 - j, f"{name}  ", ha="right", va="center", weight="bold", color=FIRST)
        axes.text(0.2, 2 - j, f"{count:,} plays", ha="left", va="center", color=FAINT)
    for i, name in enumerate(brings):
        score = strength[:, i].sum()
        axes.text(5.1, 2 - i, f"  {name}", ha="left", va="center", weight="bold", color=SECOND)
        axes.add_patch(Rectangle((6.6, 2 - i - 0.12), 0.9 * score, 0.24, color=SECOND, alpha=0.5))
    for j in range(3):
        for i in range(3):
            if strength[j, i]:
                arrow = FancyArrowPatch(
                    (2.05, 2 - j), (5.05, 2 - i), arrowstyle="-|>", mutation_scale=9, color=INK,
                    linewidth=0.4 + 2.6 * strength[j, i], alpha=0.25 + 0.55 * strength[j, i],
                )  # fmt: skip
                axes.add_patch(arrow)
    axes.text(1.1, 2.75, "what a user has", ha="center", color=INK)
    axes.text(3.55, 2.75, "strengths that were learned", ha="center", color=INK)
    axes.text(7.0, 2.75, "what that adds to scores", ha="center", color=INK)
    axes.set(xlim=(0, 9.0), ylim=(-0.5, 3.1))
    axes.axis("off")
    return figure


def elements() -> Any:
    """Four elements with a mean of 2.2, and how they read counts where one session is expected."""
    shown = [
        ShiftedNegativeBinomial(p=0.8, a=0.3),
        Logarithmic(p=0.5).refit(Totals(counts=2.2, sessions=1.0, shape=0.0)),
        Geometric(p=1.0 - 1.0 / 2.2),
        ZeroTruncatedPoisson(p=1.0).refit(Totals(counts=2.2, sessions=1.0, shape=0.0)),
    ]
    looks = lines([label(one) for one in shown])
    plays, counts = np.arange(1, 13), np.arange(1, 41)
    figure, (left, right) = panels(2, 7.2, 3.0)
    for one, look in zip(shown, looks, strict=True):
        left.plot(plays, one.pmf(plays), **look | {"label": one.name})
        right.plot(counts, expected(one, counts, 1.0), **look | {"marker": None})
    left.set(title="the plays in one session", xlabel="plays", ylabel="probability", yscale="log", ylim=(1e-5, 1))
    right.set(title="the sessions behind a count", xlabel="count", ylabel="sessions")
    left.legend(fontsize=8)
    return figure


def main(folder: Path) -> None:
    """Draw them all."""
    for draw in (sessions, reading, factors, excitation, elements):
        with styled():
            figure = draw()
        save(figure, folder / f"{draw.__name__}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
