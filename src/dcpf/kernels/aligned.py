"""Arrays that start a line of the processor's cache."""

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.compile import step
from dcpf.kernels.lines import LINE


@step
def aligned_zeros(size: int) -> NDArray[np.float32]:
    """So many zeros, which start a line: for kernels that write a line at a time."""
    room = np.zeros(size + LINE // 4, np.float32)
    first = (LINE - room.ctypes.data % LINE) % LINE // 4
    return room[first : first + size]
