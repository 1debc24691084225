"""What the kernels of ranking still use of an older compile.py."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from dcpf.kernels.compile import kernel, step, summing_step, unfused_step

__all__ = ["bits_of_single", "kernel", "single_of_bits", "step", "summing_step", "unfused_step"]


def _reinterpret(result: Any, argument: Any, llvm_type: ir.Type) -> Callable[[Any], Any]:
    def same_bits(typing_context: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], llvm_type)

        return result(argument), generate

    return cast(Callable[[Any], Any], intrinsic(same_bits))


# The float32 that has these 32 bits, and the 32 bits of a float32.
single_of_bits: Callable[[int], np.float32] = _reinterpret(types.float32, types.int32, ir.FloatType())
bits_of_single: Callable[[np.float32], int] = _reinterpret(types.int32, types.float32, ir.IntType(32))
