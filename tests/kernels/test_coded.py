"""Strengths in 16 bits: what is rounded can be said, and is added as it is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.kernels.compiled import compiled

from dcpf.kernels import coded
from dcpf.kernels.coded import PLACES, keep_12_bits, unit_of

code_of, add_line = compiled(coded.code_of), compiled(coded.add_line)

SIZES = st.floats(2.0**-60, 1000.0, width=32)
STRENGTHS = arrays(np.float32, st.integers(0, 50), elements=st.one_of(st.just(0.0), SIZES))


@settings(deadline=None)
@given(STRENGTHS)
def test_what_is_rounded_is_near_and_stays_as_it_is(strength: np.ndarray) -> None:
    rounded = strength.copy()
    keep_12_bits(rounded)
    small = strength < 2.0**-29 * strength.max(initial=0.0)
    np.testing.assert_allclose(rounded[~small], strength[~small], rtol=2.0**-12)
    assert (rounded[small] <= strength[small] * (1.0 + 2.0**-12)).all()
    again = rounded.copy()
    keep_12_bits(again)
    np.testing.assert_array_equal(again, rounded)


@settings(deadline=None)
@given(STRENGTHS, st.floats(2.0**-20, 2.0**10, width=32))
def test_codes_say_what_is_rounded_and_are_added_as_it_would_be(strength: np.ndarray, x: float) -> None:
    keep_12_bits(strength)
    unit = unit_of(strength)
    if not strength.any():
        assert unit == 0.0
        return
    strength = np.append(strength, np.zeros(-len(strength) % PLACES, np.float32)).reshape(-1, PLACES)
    codes = np.array([[code_of(one, unit) for one in line] for line in strength])
    assert codes.min() >= 0
    assert codes.max() < 2**16
    x, out = np.float32(x), np.full(strength.size, np.float32(0.3))
    for line in range(len(strength)):
        add_line(x * unit, codes.astype(np.uint16), line, out, line)
    exact = np.float64(x) * strength.ravel().astype(np.float64) + np.float64(np.float32(0.3))
    np.testing.assert_array_max_ulp(out, exact.astype(np.float32), 1)


@pytest.mark.parametrize("strength", [[], [0.0, 0.0], [1.0 / 3.0], [1.0, 2.0**-31], [1024.0], [2.0**100]], ids=str)
def test_what_codes_cannot_say_has_no_unit(strength: list[float]) -> None:
    assert unit_of(np.array(strength, np.float32)) == 0.0


def test_codes_say_thirty_powers_of_two() -> None:
    assert unit_of(np.array([1.0, 2.0**-30], np.float32)) > 0.0


@pytest.mark.parametrize("some", [1, 3, 100])
def test_pieces_make_no_difference(some: int, monkeypatch: pytest.MonkeyPatch) -> None:
    strength = np.random.default_rng(0).lognormal(-5.0, 8.0, 40).astype(np.float32)
    whole, pieces = strength.copy(), strength.copy()
    keep_12_bits(whole)
    monkeypatch.setattr(coded, "_AT_A_TIME", some)
    keep_12_bits(pieces)
    np.testing.assert_array_equal(pieces, whole)
