"""One step further in the logarithm."""

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.elementary import fast_exp, fast_exp_single, fast_log, fast_log_single
from dcpf.kernels.jit import kernel


@kernel
def extrapolate(
    start: int,
    stop: int,
    new: NDArray[np.float64],
    old: NDArray[np.float64],
    out: NDArray[np.float64],
    push: float,
    least: float,
) -> None:
    """Equivalent to out = np.maximum(new * (new / old) ** push, least), for positive numbers."""
    new, old, out = new[start:stop], old[start:stop], out[start:stop]  # or it is not vectorised
    for i in range(len(out)):
        out[i] = max(new[i] * fast_exp(push * fast_log(new[i] / old[i])), least)


@kernel
def extrapolate_single(
    start: int,
    stop: int,
    new: NDArray[np.float32],
    old: NDArray[np.float32],
    out: NDArray[np.float32],
    push: float,
    least: float,
) -> None:
    """As extrapolate, in float32."""
    push_single, least_single = np.float32(push), np.float32(least)
    new, old, out = new[start:stop], old[start:stop], out[start:stop]
    for i in range(len(out)):
        out[i] = max(new[i] * fast_exp_single(push_single * fast_log_single(new[i] / old[i])), least_single)
