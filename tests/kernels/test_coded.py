"""Strengths in 16 bits: what is rounded can be said, and is added as it is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.kernels.compiled import compiled

from dcpf.kernels import coded
from dcpf.kernels.coded import PLACES, coding_of, keep_12_bits

code_of, strength_of = compiled(coded.code_of), compiled(coded.strength_of)
add_line = compiled(coded.add_line)

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
    coding = coding_of(strength)
    strength = np.append(strength, np.zeros(-len(strength) % PLACES, np.float32))
    codes = np.array([code_of(one, coding) for one in strength], np.int64)
    assert coding.spare > 0
    assert codes.min(initial=0) >= 0
    assert codes.max(initial=0) < 2**16
    codes = codes.astype(np.uint16)
    assert [strength_of(code, coding) * coding.unit for code in codes] == strength.tolist()
    x, out = np.float32(x), np.full(len(strength), np.float32(0.3))
    for line in range(len(strength) // PLACES):
        add_line(x * coding.unit, codes, PLACES * line, out, line)
    np.testing.assert_array_equal(out, np.float32(0.3) + x * strength)  # of float32, product and sum rounded


@pytest.mark.parametrize(
    "strength", [[1.0 / 3.0], [1.0, 2.0**-31], [1024.0], [2.0**100], [1.0, -1.0], [np.nan, 1.0]], ids=str
)
def test_what_16_bits_cannot_say_keeps_all_its_bits(strength: list[float]) -> None:
    strengths = np.array(strength, np.float32)
    coding = coding_of(strengths)
    assert coding.spare == 0
    codes = np.array([code_of(one, coding) & 0xFFFFFFFF for one in strengths], np.uint32)
    np.testing.assert_array_equal([strength_of(code, coding) for code in codes], strengths)


@pytest.mark.parametrize("strength", [[], [0.0, 0.0], [1.0, 2.0**-30], [2.0**-60], [1023.5]], ids=str)
def test_16_bits_say_thirty_powers_of_two(strength: list[float]) -> None:
    assert coding_of(np.array(strength, np.float32)).spare > 0


@pytest.mark.parametrize("some", [1, 3, 100])
def test_pieces_make_no_difference(some: int, monkeypatch: pytest.MonkeyPatch) -> None:
    strength = np.random.default_rng(0).lognormal(-5.0, 8.0, 40).astype(np.float32)
    whole, pieces = strength.copy(), strength.copy()
    keep_12_bits(whole)
    monkeypatch.setattr(coded, "_AT_A_TIME", some)
    keep_12_bits(pieces)
    np.testing.assert_array_equal(pieces, whole)
