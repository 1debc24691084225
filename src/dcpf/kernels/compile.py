"""Decorators that compile Python functions with numba. All options of numba are set here."""

import functools
import gc
import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numba.extending import overload

_NO_CACHE = (
    "no folder to cache compiled code in, so every run compiles anew, which takes some 10 seconds: set "
    "NUMBA_CACHE_DIR to a folder that you may write to"
)

_COMPILING = "compiling for this machine, once: this can take half a minute"

log = logging.getLogger("dcpf.kernels")
log.addHandler(logging.NullHandler())  # a library is silent unless it is asked

_uncached: list[str] = []  # kernels that are compiled in each process

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"error_model": "numpy"}  # of kernels and of their steps


def kernel(function: F) -> F:
    """Compile a function that Python calls. Sums keep the order as written; a * b + c may be one operation."""
    return _compiled(function, {"fastmath": {"contract"}})


def exact_kernel(function: F) -> F:
    """Compile a function that Python calls, in which a * b + c is always two operations, as in numpy."""
    return _compiled(function, {})


def _compiled(function: F, arithmetic: dict[str, Any]) -> F:
    # Compiled for the types of the first call and cached on disk. The GIL is released, so that plain Python threads
    # run kernels in parallel. Nobody takes the address of a kernel, so it needs no entry point for C.
    options = _OPTIONS | arithmetic | {"nogil": True, "no_cfunc_wrapper": True}
    try:
        compiled: F = numba.njit(**options, cache=True)(function)
    except (RuntimeError, OSError):  # no folder to cache in
        _uncached.append(function.__name__)
        compiled = numba.njit(**options)(function)
    return compiled


def step(function: F) -> F:
    """Compile a function that only kernels call. Without an entry point for Python it compiles faster."""
    return _step(function, {"fastmath": {"contract"}})


def unfused_step(function: F) -> F:
    """Compile a function that only kernels call, in which a * b + c is always two operations.

    A sum then has the same bits on every processor, vectorised or not.
    """
    return _step(function, {})


def summing_step(function: F) -> F:
    """Compile a loop whose sums may be reassociated, so that they vectorise. NaN and inf are honoured.

    The function is inlined and must not allocate: passing arrays and counting references would take longer than a
    short loop. A loop that sums must not store as well: where arrays may overlap, the compiler would choose a scalar
    version at run time, whose sum has other bits.
    """
    return _step(function, {"fastmath": {"reassoc", "nsz", "contract"}, "forceinline": True, "_nrt": False})


def _step(function: F, options: dict[str, Any]) -> F:
    @functools.wraps(function)
    def called(*arguments: Any) -> Any:
        raise TypeError(f"{function.__name__} can only be called from compiled kernels")

    cast(Any, overload)(called, jit_options=_OPTIONS | options, strict=False)(lambda *arguments: function)
    return cast(F, called)


@functools.cache
def _log_compiling() -> None:
    """Say, once in a process, why the first call takes long."""
    if _uncached:
        log.warning(_NO_CACHE)
    else:
        log.info(_COMPILING)


class _Compiling(event.Listener):
    """Logs that numba compiles, and pauses garbage collection meanwhile, which saves a tenth of the time.

    One thread compiles at a time. Compilations nest, since compiling a kernel compiles the functions that it calls.
    """

    def __init__(self) -> None:
        self._was_enabled: list[bool] = []

    def on_start(self, event: Any) -> None:
        """Pause the collector."""
        _log_compiling()
        self._was_enabled.append(gc.isenabled())
        gc.disable()

    def on_end(self, event: Any) -> None:
        """Resume the collector, unless it was off before."""
        if self._was_enabled.pop():
            gc.enable()


cast(Any, event).register("numba:compile", _Compiling())


def cache_warning() -> str:
    """A warning if compiled code could not be cached on disk, else an empty string."""
    return _NO_CACHE if _uncached else ""
