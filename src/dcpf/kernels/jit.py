"""The one place where a Python function becomes machine code."""

import functools
import gc
import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import event, types
from numba.extending import intrinsic, overload

_NOWHERE_TO_KEEP = (
    "nowhere to keep compiled code: every run compiles anew, which takes some 10 seconds; set NUMBA_CACHE_DIR to a "
    "folder that you may write to"
)

_COMPILING = "compiling for this machine, once: this can take half a minute"

log = logging.getLogger("dcpf.kernels")

_homeless: list[str] = []  # kernels whose machine code is compiled in each process

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"error_model": "numpy"}  # of kernels and of their steps


def kernel(function: F) -> F:
    """Compile a loop that Python calls. Sums are done in the order as written; a * b + c may be one operation."""
    return _compiled(function, {"fastmath": {"contract"}})


def exact_kernel(function: F) -> F:
    """Compile a loop that Python calls, in which a * b + c is always two operations, as in numpy."""
    return _compiled(function, {})


def _compiled(function: F, arithmetic: dict[str, Any]) -> F:
    # Types are found at the first call, the machine code is kept on disk, the GIL is released so that plain Python
    # threads run kernels side by side. Nobody asks for the address of a kernel, so it needs no entry for C.
    options = _OPTIONS | arithmetic | {"nogil": True, "no_cfunc_wrapper": True}
    try:
        compiled: F = numba.njit(**options, cache=True)(function)
    except (RuntimeError, OSError):  # nowhere to keep machine code: then it is compiled in each process
        _homeless.append(function.__name__)
        compiled = numba.njit(**options)(function)
    return compiled


def step(function: F) -> F:
    """Compile what kernels alone call, with their arithmetic: an entry for Python would take long to compile."""
    return _step(function, {"fastmath": {"contract"}})


def unfused_step(function: F) -> F:
    """Compile what kernels alone call, in which a * b + c is always two operations.

    So a sum has the same bits whether it is made of numbers or of vectors, whatever the processor has.
    """
    return _step(function, {})


def summing_step(function: F) -> F:
    """Compile a loop whose sums may be reassociated, so that they vectorise. NaN and inf are honoured.

    It becomes part of the kernels that call it, and allocates nothing: to hand over arrays, and to count who holds
    them, takes longer than a short loop does. A loop that adds up must not store: where arrays lie close to each
    other, the compiler would have it run one by one, and the sum would have other bits.
    """
    return _step(function, {"fastmath": {"reassoc", "nsz", "contract"}, "forceinline": True, "_nrt": False})


def _step(function: F, options: dict[str, Any]) -> F:
    @functools.wraps(function)
    def called(*arguments: Any) -> Any:
        raise TypeError(f"{function.__name__} is a step of compiled kernels, which alone can call it")

    cast(Any, overload)(called, jit_options=_OPTIONS | options, strict=False)(lambda *arguments: function)
    return cast(F, called)


@functools.cache
def _log_compiling() -> None:
    """Say, once in a process, why the first call takes long."""
    if _homeless:
        log.warning(_NOWHERE_TO_KEEP)
    else:
        log.info(_COMPILING)


class _Compiling(event.Listener):
    """Logs that numba compiles, and lets no garbage be collected meanwhile: that took a tenth of the time.

    One thread compiles at a time. What a kernel calls is compiled in between, so that there is a stack of them.
    """

    def __init__(self) -> None:
        self._collected: list[bool] = []

    def on_start(self, event: Any) -> None:
        """Stop the collector."""
        _log_compiling()
        self._collected.append(gc.isenabled())
        gc.disable()

    def on_end(self, event: Any) -> None:
        """Let it go on, unless it stood still before."""
        if self._collected.pop():
            gc.enable()


cast(Any, event).register("numba:compile", _Compiling())


def nowhere_to_keep() -> str:
    """What to say where machine code cannot be kept; nothing where it can."""
    return _NOWHERE_TO_KEEP if _homeless else ""


def _reinterpret(result: Any, argument: Any, llvm_type: ir.Type) -> Callable[[Any], Any]:
    def same_bits(typing_context: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], llvm_type)

        return result(argument), generate

    return cast(Callable[[Any], Any], intrinsic(same_bits))


# The float64 that has these 64 bits, and the 64 bits of a float64; the same for float32.
float_of_bits: Callable[[int], float] = _reinterpret(types.float64, types.int64, ir.DoubleType())
bits_of_float: Callable[[float], int] = _reinterpret(types.int64, types.float64, ir.IntType(64))
single_of_bits: Callable[[int], np.float32] = _reinterpret(types.float32, types.int32, ir.FloatType())
bits_of_single: Callable[[np.float32], int] = _reinterpret(types.int32, types.float32, ir.IntType(32))
