"""Arrays whose rows each start a line of the processor's cache."""

import numpy as np
from numpy.typing import NDArray

from dcpf import memory
from dcpf.kernels.jit import step
from dcpf.kernels.lines import LINE


def aligned_empty(rows: int, columns: int, dtype: np.dtype[np.floating]) -> NDArray[np.floating]:
    """An array to be filled in, with as many more columns as fill whole lines. These are to be zeros.

    Then sums over all columns are those over the first ones, and a third quicker than over rows that straddle lines.
    """
    width = -(-columns * dtype.itemsize // LINE) * LINE
    buffer = memory.empty(rows * width + LINE, np.uint8)
    offset = -buffer.ctypes.data % LINE
    return buffer[offset : offset + rows * width].view(dtype).reshape(rows, width // dtype.itemsize)


def aligned_copy(matrix: NDArray[np.floating]) -> NDArray[np.floating]:
    """A matrix with columns of zeros at its end that fill whole lines."""
    rows, columns = matrix.shape
    copy = aligned_empty(rows, columns, matrix.dtype)
    copy[:, :columns], copy[:, columns:] = matrix, 0.0
    return copy


@step
def aligned_zeros(size: int) -> NDArray[np.float32]:
    """So many zeros, which start a line: for kernels that write a line at a time."""
    room = np.zeros(size + LINE // 4, np.float32)
    first = (LINE - room.ctypes.data % LINE) % LINE // 4
    return room[first : first + size]
