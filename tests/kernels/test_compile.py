"""Machine code: what Python may call, and that no garbage is collected while it is made."""

import gc
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import event
from tests.kernels.compiled import compiled

from dcpf.kernels.special import trigamma

_compiled: Any = numba.njit  # not kept on disk, so that it is compiled each time


class _Seen(event.Listener):
    """Whether garbage was collected when a compilation began, and when it was over."""

    def __init__(self) -> None:
        self.at_start: list[bool] = []
        self.at_end: list[bool] = []

    def on_start(self, event: event.Event) -> None:
        self.at_start.append(gc.isenabled())

    def on_end(self, event: event.Event) -> None:
        self.at_end.append(gc.isenabled())


@pytest.fixture(params=[True, False], ids=["collecting", "not collecting"])
def collecting(request: pytest.FixtureRequest) -> Iterator[bool]:
    """The state that a user has chosen, which must be the same afterwards."""
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_a_step_says_that_python_cannot_call_it() -> None:
    with pytest.raises(TypeError, match="trigamma can only be called from compiled kernels"):
        trigamma(1.0)
    assert compiled(trigamma)(1.0) == pytest.approx(np.pi**2 / 6.0)


def test_no_garbage_is_collected_while_kernels_are_compiled(collecting: bool) -> None:
    @_compiled  # type: ignore[untyped-decorator]
    def doubled(x: float) -> float:
        return 2.0 * x

    @_compiled  # type: ignore[untyped-decorator]
    def total(x: np.ndarray) -> float:
        s = 0.0
        for i in range(len(x)):
            s += doubled(x[i])
        return s

    with event.install_listener("numba:compile", _Seen()) as seen:
        assert total(np.arange(4.0)) == 12.0
    assert len(seen.at_start) >= 2  # one within the other
    assert not any(seen.at_start)
    assert seen.at_end == [False] * (len(seen.at_end) - 1) + [collecting]
    assert gc.isenabled() is collecting


def test_garbage_is_collected_again_when_a_compilation_fails(collecting: bool) -> None:
    @_compiled  # type: ignore[untyped-decorator]
    def impossible(x: float) -> float:
        return x.nothing_of_that_name  # type: ignore[attr-defined, no-any-return]

    with pytest.raises(numba.TypingError):
        impossible(1.0)
    assert gc.isenabled() is collecting
