"""Strengths in 16 bits, one by one, or eight neighbouring places to a line where many lie together.

Strengths have 12 significant bits, and but for zeros none is smaller than 2^-30 of the largest. So 5 bits for the
power of two and 11 for the rest say it all. Moved to where float32 has these bits, a code is the strength divided by
a unit. What cannot be said so keeps all its bits: none are spared, and the unit is 1.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dcpf.kernels.jit import bits_of_single, single_of_bits, step
from dcpf.kernels.lines import Lines

Singles = NDArray[np.float32]

PLACES = 8  # of a line
_SPARE = 12  # bits of a float32 that a strength does without
_POWERS = 31  # of two, that a code can have
_LARGEST = 2.0**10  # so that x times the unit is still a float32, up to an x of 2^23
_AT_A_TIME = 2**20  # strengths


class Coding(NamedTuple):
    """How strengths are said."""

    unit: np.float32  # of codes
    spare: int  # bits of a float32 that they do without


_WHOLE = Coding(np.float32(1.0), 0)


def keep_12_bits(strength: Singles) -> None:
    """Round strengths, in place, to what codes can say."""
    for some in _pieces(strength):
        bits = some.view(np.uint32)
        bits += (bits >> _SPARE & 1) + (2 ** (_SPARE - 1) - 1)  # halves go to what is even
        bits &= -(2**_SPARE) & 0xFFFFFFFF
    least = _least(strength)
    for some in _pieces(strength):
        some[some < least] = 0.0


def coding_of(strength: Singles) -> Coding:
    """In 16 bits, if codes can say all of these, or else in 32."""
    largest, least = float(strength.max(initial=0.0)), _least(strength)
    for some in _pieces(strength):
        if (some.view(np.uint32) & (2**_SPARE - 1)).any() or ((some < least) & (some != 0.0)).any():
            return _WHOLE
    _, power = math.frexp(largest)
    return Coding(np.float32(math.ldexp(1.0, power + 126 - _POWERS)), _SPARE) if largest < _LARGEST else _WHOLE


def _least(strength: Singles) -> float:
    return math.ldexp(float(strength.max(initial=0.0)), 1 - _POWERS)


def _pieces(strength: Singles) -> Iterator[Singles]:
    for start in range(0, len(strength), _AT_A_TIME):
        yield strength[start : start + _AT_A_TIME]


@step
def code_of(strength: np.float32, coding: Coding) -> int:
    """The code of a strength."""
    return bits_of_single(np.float32(strength / coding.unit)) >> coding.spare


@step
def strength_of(code: int, coding: Coding) -> np.float32:
    """The strength that has this code, divided by the unit."""
    return single_of_bits(code << coding.spare)


def _add_line(typing_context: Any, weight: Any, codes: Any, first: Any, out: Any, line: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines = Lines(context, builder, types.float32, PLACES)
        bits, small = (ir.VectorType(ir.IntType(size), PLACES) for size in (32, 16))
        row = builder.gep(lines.array(codes, arguments[1]).data, [arguments[2]])
        code = builder.load(builder.bitcast(row, small.as_pointer()), align=2)
        moved = builder.shl(builder.zext(code, bits), ir.Constant(bits, [_SPARE] * PLACES))
        x, strengths = lines.all_of(arguments[0]), builder.bitcast(moved, lines.vector)
        product = builder.fmul(x, strengths)  # which may not be fused with the sum
        sums = lines.array(out, arguments[3]).data
        lines.store(lines.plus(product, lines.load(sums, arguments[4])), sums, arguments[4])
        return context.get_dummy_value()

    return types.void(types.float32, codes, types.int64, out, types.int64), generate


# add_line(x, codes, first, out, line): out[8 * line + i] += x * codes[first + i] for all 8 codes, which have 16 bits;
# x has the unit in it
add_line: Callable[..., None] = intrinsic(_add_line)
