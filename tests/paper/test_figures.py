"""Figures show what they were given, look alike, and are the same bytes each time."""

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import dcpf
from dcpf.elements import Geometric, Raw, ShiftedNegativeBinomial
from dcpf.evaluation.predictive import Check
from dcpf.paper import figures
from dcpf.paper.figures import style
from dcpf.paper.figures.counts import bin_starts, per_count
from dcpf.paper.figures.fits import gaps

LABELS = ["PFraw", "PFbin", "Log", "ZTP", "Geo", "Sh. NB"]
TRACES = {"PFraw": ([0.1, 0.2, 0.3], [-300.0, -120.0, -100.0]), "Sh. NB": ([0.2, 0.5, 0.7], [-90.0, -60.0, -50.0])}


def check_of(element: str, drawn: tuple[int, ...]) -> Check:
    counts = np.array([1, 2, 5, 30])
    return Check(dcpf.elements.get(element), (100, 200), counts, np.array([60, 30, 9, 1]), np.array([drawn]))


def all_figures() -> dict[str, Callable[[], Figure]]:
    return {
        "laws": figures.element_laws,
        "check": lambda: figures.predictive_check(check_of("raw", (90, 20, 4, 0))),
        "bounds": lambda: figures.bound_against_time(TRACES),
        "distortion": lambda: figures.distortion({"Log": ([1, 2, 9], [1.0, 1.2, 2.0])}),
    }


def drawn(axes: Axes) -> dict[str, tuple[list[float], list[float]]]:
    """The lines that the legend knows, by their labels."""
    lines = {str(line.get_label()): line for line in axes.lines}
    return {
        name: (np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist())
        for name, line in lines.items()
        if not name.startswith("_")
    }


def colour(axes: Axes, label: str) -> str:
    return next(to_hex(line.get_color()) for line in axes.lines if str(line.get_label()).startswith(label))


def legend(axes: Axes) -> list[str]:
    found = axes.get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]


def test_laws_are_exact_on_both_sides() -> None:
    elements = (Geometric(p=0.5), ShiftedNegativeBinomial(p=0.8, a=0.25))
    left, right = figures.element_laws(elements, rate=2.0, largest=6).axes
    assert legend(left) == ["Geo (p = 0.5)", "Sh. NB (p = 0.8, a = 0.25)"]
    counts, pmf = drawn(left)["Geo (p = 0.5)"]
    assert counts == [1, 2, 3, 4, 5, 6]
    assert pmf == pytest.approx([0.5**x for x in counts], rel=1e-13)
    assert legend(right) == ["Poisson"]
    found = drawn(right)
    assert list(found) == ["Geo", "Sh. NB", "Poisson"]
    for name, element in (("Geo", elements[0]), ("Sh. NB", elements[1]), ("Poisson", Raw())):
        assert found[name] == (list(range(7)), element.marginal_pmf(2.0, 6).tolist())
    assert {pmf[0] for _, pmf in found.values()} == {math.exp(-2.0)}  # no element changes the mass at 0
    assert (left.get_xlabel(), left.get_ylabel()) == ("plays x", "P(x)")
    assert (right.get_xlabel(), right.get_ylabel()) == ("count y", "P(y)")
    assert right.get_title(loc="left") == "Plays in all, 2 sessions expected"


def test_laws_are_those_of_the_paper_by_default() -> None:
    left, right = figures.element_laws().axes
    assert legend(left) == ["Log (p = 0.803)", "ZTP (p = 1.95)", "Geo (p = 0.6)", "Sh. NB (p = 0.873, a = 0.2)"]
    assert right.get_title(loc="left") == "Plays in all, 1 session expected"


def test_a_check_shows_data_as_points_and_each_model_as_a_line_with_its_share_of_non_zeros() -> None:
    checks = [check_of("raw", (200, 20, 4, 0)), check_of("binary", (80, 10, 0, 0)), check_of("log", (55, 30, 9, 2))]
    (axes,) = figures.predictive_check(checks).axes
    assert legend(axes) == ["data (0.500%)", "PFraw (1.12%)", "PFbin (0.450%)", "Log (0.480%)"]
    found = drawn(axes)
    points = next(line for line in axes.lines if str(line.get_label()).startswith("data"))
    assert (points.get_linestyle(), points.get_marker()) == ("None", "o")
    assert found["data (0.500%)"] == tuple(one.tolist() for one in per_count(checks[0].counts, checks[0].data))
    assert found["PFraw (1.12%)"] == ([1, 2, 5], [200, 20, 4])
    assert found["PFbin (0.450%)"] == ([1, 2], [80, 10])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("count (from 10 on in bins)", "entries with this count")


def test_a_check_draws_the_mean_over_draws() -> None:
    check = Check(dcpf.elements.get("geo"), (9, 9), np.array([1, 3]), np.array([4, 1]), np.array([[2, 0], [5, 1]]))
    (axes,) = figures.predictive_check(check, title="Plays").axes
    assert drawn(axes)["Geo (4.94%)"] == ([1, 3], [3.5, 0.5])
    assert axes.get_title(loc="left") == "Plays"


def test_counts_below_10_stand_alone_and_others_are_averaged_over_bins() -> None:
    counts = np.array([1, 9, 10, 12, 13, 100])
    places, entries = per_count(counts, np.array([50, 7, 3, 3, 6, 1]))
    assert places[:4] == pytest.approx([1, 9, np.sqrt(10 * 12), np.sqrt(13 * 15)])
    assert entries[:4] == pytest.approx([50, 7, 6 / 3, 6 / 3])  # 10 to 12, 13 to 15
    assert len(places) == 5
    rng = np.random.default_rng(0)
    counts, numbers = np.unique(rng.geometric(0.01, 5_000), return_counts=True)
    starts = bin_starts(int(counts[-1]))
    places, entries = per_count(counts, numbers)
    widths = dict(zip(np.sqrt(starts[:-1] * (starts[1:] - 1)), np.diff(starts), strict=True))
    assert sum(one * widths[place] for place, one in zip(places, entries, strict=True)) == pytest.approx(5_000)


def test_checks_that_do_not_belong_together_are_refused() -> None:
    one = check_of("raw", (1, 1, 1, 1))
    with pytest.raises(ValueError, match="same element"):
        figures.predictive_check([one, one])
    assert len(drawn(figures.predictive_check({"Log, first": one, "Log, second": one}).axes[0])) == 3
    other = Check(one.element, (7, 7), one.counts, one.data, one.drawn)
    with pytest.raises(ValueError, match="different data"):
        figures.predictive_check({"a": one, "b": other})
    for empty in ({}, []):
        with pytest.raises(ValueError, match="at least one"):
            figures.predictive_check(empty)


def test_bounds_are_compared_with_their_own_best_or_with_that_of_all() -> None:
    (axes,) = figures.bound_against_time(TRACES, title="Fits").axes
    found = drawn(axes)
    assert list(found) == legend(axes) == ["PFraw", "Sh. NB"]
    assert found["PFraw"][0] == [0.1, 0.2, 0.3]
    assert found["PFraw"][1][:2] == pytest.approx([2.0, 0.2])
    assert found["Sh. NB"][1][:2] == pytest.approx([0.8, 0.2])
    assert np.isnan([found["PFraw"][1][2], found["Sh. NB"][1][2]]).all()
    (axes,) = figures.bound_against_time(TRACES, common=True).axes
    assert drawn(axes)["PFraw"][1] == pytest.approx([5.0, 1.4, 1.0])
    assert axes.get_ylabel() == "bound below the best of all"
    ends = [line.get_xdata() for line in axes.lines if str(line.get_label()).startswith("_")]
    assert [float(end[0]) for end in ends] == [0.3, 0.7]


def test_what_only_tells_where_a_fit_was_stopped_is_not_shown() -> None:
    bounds = -100.0 - np.array([50.0, 20.0, 5.0, 2.0, 0.05, 0.01, 0.0])
    assert gaps(bounds, bounds)[:4] == pytest.approx([0.5, 0.2, 0.05, 0.02])
    assert np.isnan(gaps(bounds, bounds)[4:]).all()


def test_traces_that_cannot_be_are_refused_and_short_ones_are_drawn(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one"):
        figures.bound_against_time({})
    for seconds, bounds in (([1.0], [2.0]), ([1.0, 2.0], [1.0]), ([[1.0, 2.0]], [[1.0, 2.0]])):
        with pytest.raises(ValueError, match="Log: as many seconds as bounds"):
            figures.bound_against_time({"Log": (seconds, bounds)})
    for bounds in ([-5.0, -4.0], [-5.0, -5.0]):
        figures.save(figures.bound_against_time({"Log": ([0.1, 0.2], bounds)}), tmp_path / "short.png")


def test_a_distortion_lies_between_its_two_limits() -> None:
    curves = {"PFraw": ([1, 40], [1, 40]), "Log": ([1, 3, 30], [1.0, 1.5, 4.0])}
    (axes,) = figures.distortion(curves).axes
    assert drawn(axes) == {"PFraw": ([1, 40], [1, 40]), "Log": ([1, 3, 30], [1.0, 1.5, 4.0])}
    limits = [
        (np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist())
        for line in axes.lines
        if str(line.get_label()).startswith("_")
    ]
    assert limits == [([1, 40], [1, 40]), ([1, 40], [1, 1])]
    assert [text.get_text() for text in axes.texts] == ["n = y", "n = 1"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("count y", "expected sessions E[n]")
    with pytest.raises(ValueError, match="at least one"):
        figures.distortion({})


def test_sessions_by_count_are_means_over_the_entries_with_that_count(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(0.5, 1.0, (40, 2)) @ rng.gamma(0.5, 1.0, (2, 30))) * rng.geometric(0.3, (40, 30))
    for element in ("raw", "binary", "geometric"):
        model = dcpf.DCPF(2, element, max_iter=10, tol=0, random_state=0).fit(counts)
        y, n = figures.sessions_by_count(model)
        data, sessions = model.history_.data, model.sessions().data
        assert (y[0], n[0]) == (1.0, 1.0)
        assert n[1] == pytest.approx(sessions[data == 2].mean(dtype=np.float64))
        assert (np.diff(y) > 0).all()
        assert ((n >= 1.0 - 1e-9) & (n <= y + 1e-9)).all()
        assert {"raw": np.allclose(n, y), "binary": np.allclose(n, 1.0)}.get(element, True)
    assert y[-1] < data.max()  # the largest counts are too few to be shown alone
    model.save(tmp_path / "bare", history=False)
    with pytest.raises(ValueError, match="without its training counts"):
        figures.sessions_by_count(dcpf.load(tmp_path / "bare"))


def test_a_model_has_the_same_colour_in_all_figures() -> None:
    left, _ = figures.element_laws().axes
    others = [
        figures.predictive_check(check_of("log", (1, 1, 1, 1))).axes[0],
        figures.bound_against_time({"ZTP": TRACES["Sh. NB"], "Log": TRACES["PFraw"]}).axes[0],
        figures.distortion({"Log": ([1, 2], [1, 2])}).axes[0],
    ]
    assert {colour(axes, "Log") for axes in (left, *others)} == {colour(left, "Log")}
    looks = style.lines(LABELS)
    for part in ("color", "marker"):
        assert len({look[part] for look in looks}) == len(LABELS)


@pytest.mark.parametrize(
    ("label", "same"),
    [
        ("shifted-nb", "Sh. NB"),
        ("Sh. NB", "Sh. NB"),
        ("snb, start 2", "Sh. NB"),
        ("zero_truncated_poisson", "ZTP"),
        ("Logarithmic", "Log"),
        ("raw", "PFraw"),
        ("binary", "PFbin"),
        ("Geometric", "Geo"),
    ],
)
def test_a_model_is_known_by_any_of_its_names(label: str, same: str) -> None:
    (one,), (other,) = style.lines([label]), style.lines([same])
    assert one == other | {"label": label}


def test_other_labels_get_colours_of_their_own() -> None:
    looks = style.lines(["ours", "Log", "theirs"])
    assert len({look["color"] for look in looks}) == 3
    assert not {looks[0]["color"], looks[2]["color"]} & {look["color"] for look in style.lines(LABELS)}


def test_labels_are_those_of_the_paper_and_else_the_name_of_the_element() -> None:
    names = ("raw", "binary", "log", "ztp", "geo", "snb")
    assert [figures.label(name) for name in names] == LABELS
    assert figures.label(Geometric(p=0.1)) == "Geo"


@pytest.mark.parametrize("which", ["laws.svg", "check.svg", "bounds.svg", "distortion.svg", "check.png", "check.pdf"])
def test_a_figure_is_saved_by_the_ending_with_the_same_bytes_each_time(which: str, tmp_path: Path) -> None:
    name, ending = which.split(".")
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        figures.save(all_figures()[name](), tmp_path / folder / which)
    first, second = ((tmp_path / folder / which).read_bytes() for folder in ("first", "second"))
    assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending])
    assert first == second


def test_the_look_is_ours_whatever_the_user_has_set_and_leaves_it_as_it_was(tmp_path: Path) -> None:
    figures.save(figures.element_laws(), tmp_path / "plain.svg")
    with matplotlib.rc_context({"font.size": 30, "lines.linewidth": 9, "axes.facecolor": "black"}):
        figures.save(figures.element_laws(), tmp_path / "odd.svg")
        assert matplotlib.rcParams["font.size"] == 30
    assert (tmp_path / "plain.svg").read_bytes() == (tmp_path / "odd.svg").read_bytes()


def test_pyplot_is_not_touched() -> None:
    code = (
        "from dcpf.paper import figures; import sys; early = 'matplotlib' in sys.modules; "
        "figures.element_laws(); sys.exit(early or 'matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_ending_that_is_no_picture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must be one of \.png, \.svg, \.pdf, found '\.csv'"):
        figures.save(figures.element_laws(), tmp_path / "figure.csv")
    with pytest.raises(ValueError, match="found 'none'"):
        figures.save(figures.element_laws(), tmp_path / "figure")


@pytest.mark.parametrize("name", all_figures())
def test_without_matplotlib_it_is_said_how_to_get_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'dcpf\[plots\]'"):
        all_figures()[name]()
