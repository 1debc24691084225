"""What all routes share: the model in use, the threads that ask it, the predictive check and the metrics."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Concatenate, ParamSpec

from fastapi import Response

from dcpf.counts import UnknownId
from dcpf.serve.browsing import card
from dcpf.serve.check import Checks
from dcpf.serve.metrics import Metrics
from dcpf.serve.questions import NoHistory
from dcpf.serve.responses import error_response, json_response
from dcpf.serve.served import Current, ServedModel

log = logging.getLogger("dcpf.serve")

P = ParamSpec("P")
AskModel = Callable[Concatenate[ServedModel, P], Any]


class Service:
    """Puts questions to the model in threads, so that the event loop stays free to take and refuse requests."""

    def __init__(self, current: Current, threads: int) -> None:
        self.current, self.checks, self.metrics = current, Checks(), Metrics()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="dcpf-ask")

    async def ask(self, question: AskModel[P], *args: P.args, **more: P.kwargs) -> Response:
        """Put a question to the model in use; the answer, or what is wrong, as JSON."""
        served = self.current.served
        ask = asyncio.get_running_loop().run_in_executor
        return await ask(self._pool, lambda: answer(question, served, *args, **more))

    def ask_briefly(self, question: AskModel[P], *args: P.args, **more: P.kwargs) -> Response:
        """The same in the event loop, for questions that take no longer than waking a thread."""
        return answer(question, self.current.served, *args, **more)

    def prepare(self) -> None:
        """Compute in the background what takes long and the page will ask for."""
        self._pool.submit(_prepare, self.current.served)

    def close(self) -> None:
        """Take no more questions. Those under way are answered."""
        self.checks.stop()
        self._pool.shutdown(wait=False, cancel_futures=True)


def answer(question: AskModel[P], served: ServedModel, *args: P.args, **more: P.kwargs) -> Response:
    """The response to a question. An error that the client can correct is explained; any other goes to the log."""
    try:
        response = json_response(question(served, *args, **more))
    except NoHistory as error:
        response = error_response(409, str(error))
    except UnknownId as error:
        response = error_response(404, str(error), "unknown_id")
    except (ValueError, TypeError) as error:
        response = error_response(422, str(error))
    except Exception:
        log.exception("a question could not be answered")
        response = error_response(500, "something went wrong; the log of the service has more")
    return with_revision(response, served)


def with_revision(response: Response, served: ServedModel) -> Response:
    """A response that says which model it comes from."""
    response.headers["x-model-revision"] = served.revision
    return response


def _prepare(served: ServedModel) -> None:
    try:
        _ = card(served), served.components, served.model.popularity
    except Exception:
        log.exception("the model card could not be made")
