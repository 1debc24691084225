"""What the routes share: the model in use, a few threads that ask it, and what is counted."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Concatenate, ParamSpec

from fastapi import Response

from dcpf.serve.card import card
from dcpf.serve.checking import Checks
from dcpf.serve.loaded import Loaded
from dcpf.serve.metrics import Metrics
from dcpf.serve.replies import Reply, answered, failed, of_error
from dcpf.serve.watching import Current

log = logging.getLogger("dcpf.serve")

P = ParamSpec("P")


class Service:
    """Asks the model in threads of its own, so that the loop is free to take and refuse requests.

    What is answered sooner than a thread is woken and has called back is answered in the loop.
    """

    def __init__(self, current: Current, threads: int) -> None:
        self.current, self.checks, self.metrics = current, Checks(), Metrics()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="dcpf-ask")

    async def ask(self, question: Callable[Concatenate[Loaded, P], Any], *args: P.args, **more: P.kwargs) -> Response:
        """Put a question to the model in use, and answer with JSON, or with what is wrong."""
        loaded = self.current.loaded
        reply = await asyncio.get_running_loop().run_in_executor(
            self._pool, _answer, lambda model: question(model, *args, **more), loaded
        )
        return respond(reply, loaded)

    def ask_briefly(self, question: Callable[[Loaded], Any]) -> Response:
        """The same for a question of a millisecond or a few, which holds up the loop as long."""
        loaded = self.current.loaded
        return respond(_answer(question, loaded), loaded)

    def prepare(self) -> None:
        """Work out what takes long and is asked for by the page, before it is."""
        self._pool.submit(_prepare, self.current.loaded)

    def close(self) -> None:
        """Answer what was asked, and end."""
        self.checks.stop()
        self._pool.shutdown(wait=False, cancel_futures=True)


def respond(reply: Reply, loaded: Loaded) -> Response:
    """A reply of the API, which says by which model it was made and is never kept."""
    headers = {"x-model-revision": loaded.revision, "cache-control": "no-store"}
    return Response(reply.body, reply.status, headers, "application/json")


def _answer(question: Callable[[Loaded], Any], loaded: Loaded) -> Reply:
    try:
        return answered(question(loaded))
    except Exception as error:
        reply = of_error(error)
        if reply is None:
            log.exception("a question could not be answered")
        return reply or failed(500, "something went wrong; the log of the service has more")


def _prepare(loaded: Loaded) -> None:
    try:
        _ = card(loaded), loaded.components, loaded.popularity
    except Exception:
        log.exception("the model card could not be made")
