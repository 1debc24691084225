"""Which tiles a source excites, and so a row that has some sources: a bit for each. Others need not be looked at."""

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.compile import step
from dcpf.kernels.large import first_bit
from dcpf.kernels.lines import LINE
from dcpf.kernels.tiles import WIDTH

Bits = NDArray[np.int64]

_BITS = 64  # of a word
WORDS = LINE // 8  # of a line
_MOST = 4  # lines: where more tiles are, a row excites most of them, and it takes longer to find out which


def no_bits(sources: int, places: int) -> Bits:
    """The bits of each source, none of them set: whole lines, or nothing at all if there are too many tiles."""
    lines = -(-places // (WIDTH * 8 * LINE))
    return np.zeros((sources, lines * WORDS if lines <= _MOST else 0), np.int64)


@step
def mark(bits: Bits, source: int, place: int) -> None:
    """Set the bit of the tile that a place is in."""
    if bits.shape[1] > 0:
        tile = place // WIDTH
        bits[source, tile // _BITS] |= 1 << (tile % _BITS)


@step
def tiles_of(bits: Bits, out: NDArray[np.int64]) -> int:
    """Write down the tiles whose bits are set, ascending. How many there are."""
    size = 0
    for word in range(len(bits)):
        left = bits[word]
        while left != 0:
            out[size] = _BITS * word + first_bit(left)
            size += 1
            left &= left - 1
    return size
