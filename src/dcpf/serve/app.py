"""The app: routes behind a gate, and every error in one form."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

import dcpf
from dcpf.serve.gate import Gate, Rules
from dcpf.serve.page import read_files
from dcpf.serve.replies import failed
from dcpf.serve.routes import api, operations, page
from dcpf.serve.service import Service

_ABOUT = (
    "Questions to one model of counts: recommendations, predictions, explanations. Scores are expected sessions. "
    "The token goes into the header `Authorization: Bearer TOKEN`."
)
_SHOWN = 3  # mistakes in a request that are told


def make_app(service: Service, rules: Rules) -> Gate:
    """The whole service, to be run by any server that speaks ASGI."""

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        service.prepare()
        yield
        service.close()

    app = FastAPI(
        title="dcpf", version=dcpf.__version__, description=_ABOUT, lifespan=living, docs_url=None, redoc_url=None
    )
    routers = (api(service), operations(service), page(read_files()))
    for router in routers:
        app.include_router(router)
    app.add_exception_handler(RequestValidationError, _wrong_value)
    app.add_exception_handler(HTTPException, _of_framework)
    paths = {str(getattr(route, "path", "")) for router in routers for route in router.routes}
    return Gate(app, rules, service.metrics, frozenset(path for path in paths if path and "{" not in path))


async def _wrong_value(request: Request, error: Exception) -> Response:
    """Which values, where, and what is wrong with them. The values themselves may be long, and are not repeated."""
    assert isinstance(error, RequestValidationError)
    mistakes = error.errors()
    unreadable = any(one["type"] == "json_invalid" for one in mistakes)
    said = "; ".join(_mistake(one) for one in mistakes[:_SHOWN])
    more = f"; and {len(mistakes) - _SHOWN} more" if len(mistakes) > _SHOWN else ""
    if mistakes[0]["loc"] == ("body",) and "json" not in request.headers.get("content-type", ""):
        said, more = "the question must be JSON, sent with the header Content-Type: application/json", ""
    return _response(400 if unreadable else 422, said + more)


def _mistake(one: dict[str, Any]) -> str:
    place = ".".join(str(part) for part in one["loc"][1:6])[:100]
    said = str(one["msg"]).removeprefix("Value error, ")
    return f"{place}: {said}" if place else said


async def _of_framework(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = {
        404: "there is nothing at this address; /openapi.json lists what there is",
        405: "this address is not asked by this method; /openapi.json lists what there is",
    }
    return _response(error.status_code, said.get(error.status_code, str(error.detail)))


def _response(status: int, message: str) -> Response:
    reply = failed(status, message)
    return Response(reply.body, reply.status, {"cache-control": "no-store"}, "application/json")
