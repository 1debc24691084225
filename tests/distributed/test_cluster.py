"""Errors of functions that workers run: those raised at once, and those after which the function runs again."""

import errno
import re
from pathlib import Path
from typing import Any

import pytest

from dcpf.distributed import cluster as cluster_module
from dcpf.distributed.cluster import AnswerLost, DaskCluster, threads_here


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
    cluster = DaskCluster(client)
    with pytest.raises(type(error), match=str(error.args[-1])):
        cluster.result(cluster.submit(None, fail, error))


@pytest.mark.parametrize("error", [ConnectionResetError("reset"), TimeoutError("late")], ids=repr)
def test_an_error_of_the_network_means_that_the_answer_is_lost(error: Exception, client: Any) -> None:
    cluster = DaskCluster(client)
    with pytest.raises(AnswerLost, match=str(error)):
        cluster.result(cluster.submit(None, fail, error))


def test_the_answer_to_a_cancelled_task_is_lost(client: Any) -> None:
    cluster = DaskCluster(client)
    future = cluster.submit(None, pow, 2, 3)
    cluster.cancel([future])
    with pytest.raises(AnswerLost):
        cluster.result(future)


def test_a_worker_knows_how_many_threads_it_may_use(client: Any) -> None:
    cluster = DaskCluster(client)
    assert cluster.result(cluster.submit(None, threads_here)) == 1  # as the fixture has it
    assert threads_here() == 1  # not on a worker


def test_the_others_import_nothing_of_dask_but_the_type_of_a_client() -> None:
    room = Path(cluster_module.__file__).parent
    found = {
        line.strip()
        for path in room.glob("*.py")
        if path.name not in ("cluster.py", "__init__.py")
        for line in re.findall(r"^ *(?:import|from) (?:dask|distributed)\b.*", path.read_text(), re.MULTILINE)
    }
    assert found == {"from distributed import Client"}
