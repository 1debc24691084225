"""Errors of functions that workers run: what is asked again, and what is told at once."""

import errno
from typing import Any

import pytest

from dcpf.distributed.engine import Engine, Lost


def fail(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        FileNotFoundError(errno.ENOENT, "gone"),
        IsADirectoryError(errno.EISDIR, "a folder"),
        ValueError("no such value"),
    ],
    ids=repr,
)
def test_an_error_of_the_function_is_told(error: Exception, client: Any) -> None:
    engine = Engine(client)
    with pytest.raises(type(error), match=str(error.args[-1])):
        engine.result(engine.submit(None, fail, error))


@pytest.mark.parametrize("error", [ConnectionResetError("reset"), TimeoutError("late")], ids=repr)
def test_what_a_network_does_is_not(error: Exception, client: Any) -> None:
    engine = Engine(client)
    with pytest.raises(Lost, match=str(error)):
        engine.result(engine.submit(None, fail, error))


def test_a_task_that_was_given_up_is_lost(client: Any) -> None:
    engine = Engine(client)
    future = engine.submit(None, pow, 2, 3)
    engine.cancel([future])
    with pytest.raises(Lost):
        engine.result(future)
