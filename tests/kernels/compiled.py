"""Steps of kernels, which Python cannot call, made into what it can."""

from collections.abc import Callable
from typing import Any

import numba

from dcpf.kernels import posterior


def compiled(step: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that does nothing but this step."""

    @numba.njit(error_model="numpy")
    def call(*arguments):
        return step(*arguments)

    return call


look_up = compiled(posterior.look_up)
