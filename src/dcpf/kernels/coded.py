"""Strengths in 16 bits, eight neighbouring places to a line: the quickest way to add them where many lie together.

Strengths have 12 significant bits, and but for zeros none is smaller than 2^-30 of the largest. So 5 bits for the
power of two and 11 for the rest say it all. Moved to where float32 has these bits, a code is the strength divided by
a unit.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dcpf.kernels.jit import bits_of_single, step
from dcpf.kernels.lines import Lines

Singles = NDArray[np.float32]

PLACES = 8  # of a line
_SPARE = 12  # bits of a float32 that a strength does without
_POWERS = 31  # of two, that a code can have
_LARGEST = 2.0**10  # so that x times the unit is still a float32
_AT_A_TIME = 2**20  # strengths


def keep_12_bits(strength: Singles) -> None:
    """Round strengths, in place, to what codes can say."""
    for some in _pieces(strength):
        bits = some.view(np.uint32)
        bits += (bits >> _SPARE & 1) + (2 ** (_SPARE - 1) - 1)  # halves go to what is even
        bits &= -(2**_SPARE) & 0xFFFFFFFF
    least = _least(strength)
    for some in _pieces(strength):
        some[some < least] = 0.0


def unit_of(strength: Singles) -> np.float32:
    """What codes of these strengths are to be multiplied by; 0 if codes cannot say them."""
    largest, least = float(strength.max(initial=0.0)), _least(strength)
    for some in _pieces(strength):
        if (some.view(np.uint32) & (2**_SPARE - 1)).any() or ((some < least) & (some > 0.0)).any():
            return np.float32(0.0)
    _, power = math.frexp(largest)
    return np.float32(math.ldexp(1.0, power + 126 - _POWERS) if 0.0 < largest < _LARGEST else 0.0)


def _least(strength: Singles) -> float:
    return math.ldexp(float(strength.max(initial=0.0)), 1 - _POWERS)


def _pieces(strength: Singles) -> Iterator[Singles]:
    for start in range(0, len(strength), _AT_A_TIME):
        yield strength[start : start + _AT_A_TIME]


@step
def code_of(strength: np.float32, unit: np.float32) -> int:
    """The code of a strength."""
    return bits_of_single(np.float32(strength / unit)) >> _SPARE


def _add_line(typing_context: Any, x: Any, codes: Any, number: Any, out: Any, line: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines = Lines(context, builder, types.float32, PLACES)
        bits, small = (ir.VectorType(ir.IntType(size), PLACES) for size in (32, 16))
        row = lines.row(lines.array(codes, arguments[1]), arguments[2])
        code = builder.load(builder.bitcast(row, small.as_pointer()), align=2)
        moved = builder.shl(builder.zext(code, bits), ir.Constant(bits, [_SPARE] * PLACES))
        product = lines.times(lines.all_of(arguments[0]), builder.bitcast(moved, lines.vector))
        sums = lines.array(out, arguments[3]).data
        lines.store(lines.plus(product, lines.load(sums, arguments[4])), sums, arguments[4])
        return context.get_dummy_value()

    return types.void(types.float32, codes, types.int64, out, types.int64), generate


# add_line(x, codes, number, out, line): out[8 * line + i] += x * codes[number, i] for all 8, where x has the unit
# in it
add_line: Callable[..., None] = intrinsic(_add_line)
