"""Fewer iterations, never a lower bound."""

import dataclasses

import numpy as np
import pytest

import dcpf
from dcpf.inference.blocks import LocalBlocks, random_start
from dcpf.inference.data import Data
from dcpf.inference.momentum import accelerate
from dcpf.inference.settings import FitSettings
from dcpf.inference.vbem import Ascent, Point, Visit, iterate
from dcpf.kernels.threads import Threads
from dcpf.simulation import listening_data

COUNTS = listening_data(np.random.default_rng(0), n_users=150, n_songs=90).counts
ELEMENTS = dcpf.elements.names()


def fitted(element: str = "shifted-nb", **changes: object) -> dcpf.DCPF:
    settings = {"n_components": 6, "tol": 0.0, "dtype": "float64", "random_state": 0, "max_iter": 60} | changes
    return dcpf.DCPF(element=element, **settings).fit(COUNTS)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("element", ELEMENTS)
def test_the_bound_never_falls(element: str, dtype: str) -> None:
    bounds = fitted(element, dtype=dtype, max_iter=150).bounds_
    rounding = 1e-9 if dtype == "float64" else 1e-7
    assert (np.diff(bounds) >= -rounding * np.abs(bounds[1:])).all()


@pytest.mark.parametrize("element", ELEMENTS)
def test_it_is_far_ahead_of_as_many_plain_iterations(element: str) -> None:
    quick, plain, long = (
        np.mean([fitted(element, random_state=seed, **changes).bounds_[-1] for seed in range(4)])
        for changes in ({}, {"accelerate": False}, {"accelerate": False, "max_iter": 400})
    )
    assert long - quick < 0.5 * (long - plain)


def test_the_first_sixteen_iterations_are_plain() -> None:
    quick, plain = fitted(max_iter=18).bounds_, fitted(max_iter=18, accelerate=False).bounds_
    np.testing.assert_array_equal(quick[:16], plain[:16])
    assert quick[-1] > plain[-1]


def test_the_state_has_the_bound_that_is_told() -> None:
    """Whether a push was kept or not, the parameters are those at which the bound was found."""
    model = fitted(max_iter=30)
    data = Data.from_matrix(model.history_)
    with Threads(1) as threads:
        settings = FitSettings((0.3, 0.3), True, True)
        ascent = Ascent(LocalBlocks(data, settings, threads), model.element_, settings, threads)
        again = ascent.visit(Point(model.element_, model.user_posterior_, model.item_posterior_))
    assert again.bound == pytest.approx(model.bounds_[-1], rel=1e-12)


def test_a_push_that_lowers_the_bound_is_taken_back() -> None:
    """With a visit that finds every push bad, what is left are the plain iterations."""

    class Suspicious(Ascent):
        plain: Point | None = None

        def improve(self, here: Visit) -> Point:
            self.plain = super().improve(here)
            return self.plain

        def visit(self, point: Point) -> Visit:
            found = super().visit(point)
            if point is not self.plain:
                object.__setattr__(found, "bound", float("nan"))
            return found

    data, element = Data.from_matrix(COUNTS), dcpf.elements.get("geometric")
    start = random_start(data, 3, np.random.default_rng(0), np.dtype("float64"))
    with Threads(1) as threads:
        settings = FitSettings((0.3, 0.3), True, True)
        users = LocalBlocks(data, settings, threads)
        ascents = [kind(users, element, settings, threads) for kind in (Ascent, Suspicious)]
        plain = iterate(ascents[0], ascents[0].begin(start, element))
        wary = accelerate(ascents[1], ascents[1].begin(start, element))
        for _ in range(24):  # pushes are tried from the 17th on
            one, other = next(plain), next(wary)
            assert one.bound == other.bound
            assert one.W.shape.tobytes() == other.W.shape.tobytes()


def test_the_same_bits_for_any_number_of_threads() -> None:
    one, four = fitted(n_jobs=1, dtype="float32"), fitted(n_jobs=4, dtype="float32")
    assert one.user_factors.tobytes() == four.user_factors.tobytes()
    assert one.bounds_.tobytes() == four.bounds_.tobytes()


def test_after_many_successes_a_few_failures_make_pushes_short_again() -> None:
    """Nothing moves here: what the bound says of a push is made up."""

    class MadeUp(Ascent):
        good = True
        plain: Point | None = None

        def improve(self, here: Visit) -> Point:
            self.plain = super().improve(here)
            return self.plain

        def visit(self, point: Point) -> Visit:
            return dataclasses.replace(start, bound=0.0 if self.good or point is self.plain else -1.0)

    data, element = Data.from_matrix(COUNTS), dcpf.elements.get("geometric")
    with Threads(1) as threads:
        settings = FitSettings((0.3, 0.3), True, True)
        ascent = MadeUp(LocalBlocks(data, settings, threads), element, settings, threads)
        start = ascent.begin(random_start(data, 3, np.random.default_rng(0), np.dtype("float64")), element)
        pushes = accelerate(ascent, start)
        lengths = [next(pushes).push or 0.0 for _ in range(300)]
        assert 0.9 < lengths[-1] < 1.0
        ascent.good = False
        lengths = [next(pushes).push for _ in range(16)]  # each second iteration is plain
    assert lengths[-1] == 0.5
