"""The app: addresses and the question of each, behind a gate. Every error has the same form."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from starlette.exceptions import HTTPException

import dcpf
from dcpf.serve import answers, browsing, questions
from dcpf.serve.examples import EXAMPLES
from dcpf.serve.gate import Gate, Rules
from dcpf.serve.page import page
from dcpf.serve.requests import (
    ExplainQuestion,
    PredictQuestion,
    QueryId,
    QueryLimit,
    QueryN,
    QueryNumber,
    QuerySearch,
    QueryWhy,
    RecommendQuestion,
)
from dcpf.serve.responses import error_response, json_response
from dcpf.serve.service import Service, with_revision

_ABOUT = (
    "Questions to one model of counts: recommendations, predictions, explanations. Scores are expected sessions. "
    "Send the token in the header `Authorization: Bearer TOKEN`."
)
_METRICS = 'dcpf_requests_total{method="GET",route="/api/recommend",status="200"} 12\n'
_FEW = 100  # items of a list that is made in the event loop
_SHOWN = 3  # mistakes named in an answer
_ALWAYS = (401, 408, 413, 421, 422, 500, 503)
_FAILURES = {
    400: "The body cannot be read.",
    401: "The token is missing or wrong.",
    404: "No such user, item or component.",
    408: "The body did not arrive in time.",
    409: "The model was saved without the training counts that this needs.",
    413: "The body is too large.",
    421: "The service may not be called by this name.",
    422: "A value cannot be used.",
    500: "An error of the service.",
    503: "Too many concurrent requests.",
}


def make_app(service: Service, rules: Rules) -> Gate:
    """The whole service, to be run by any ASGI server."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.prepare()
        yield
        service.close()

    app = FastAPI(
        title="dcpf", version=dcpf.__version__, description=_ABOUT, lifespan=lifespan, docs_url=None, redoc_url=None
    )
    routers = (api(service), operations(service), page())
    for router in routers:
        app.include_router(router)
    app.add_exception_handler(RequestValidationError, _wrong_value)
    app.add_exception_handler(HTTPException, _wrong_address)
    paths = {str(getattr(route, "path", "")) for router in routers for route in router.routes}
    return Gate(app, rules, service.metrics, frozenset(path for path in paths if path and "{" not in path))


async def _wrong_value(request: Request, error: Exception) -> Response:
    """Where the wrong values are, and what is wrong. They may be long, so they are not repeated."""
    assert isinstance(error, RequestValidationError)
    mistakes = error.errors()
    if mistakes[0]["loc"] == ("body",) and "json" not in request.headers.get("content-type", ""):
        message = "the body must be JSON, sent with the header Content-Type: application/json"
    else:
        message = "; ".join(_mistake(one) for one in mistakes[:_SHOWN])
        message += f"; and {len(mistakes) - _SHOWN} more" if len(mistakes) > _SHOWN else ""
    unreadable = any(one["type"] == "json_invalid" for one in mistakes)
    return error_response(400 if unreadable else 422, message)


def _mistake(one: dict[str, Any]) -> str:
    place = ".".join(str(part) for part in one["loc"][1:6])[:100]
    message = str(one["msg"]).removeprefix("Value error, ")
    return f"{place}: {message}" if place else message


async def _wrong_address(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    messages = {
        404: "there is nothing at this address; /openapi.json lists all addresses",
        405: "this address does not take this method; /openapi.json lists all addresses and their methods",
    }
    return error_response(error.status_code, messages.get(error.status_code, str(error.detail)))


def documented(kind: Any, example: str, *errors: int) -> dict[str, Any]:
    """How an operation is described: its answer, with an example, and its errors."""
    failures = {status: {"model": answers.Failed, "description": _FAILURES[status]} for status in (*_ALWAYS, *errors)}
    return {"responses": {200: _described(kind, EXAMPLES[example]), **failures}, "response_model": None}


def _described(kind: Any, example: Any) -> dict[str, Any]:
    return {"model": kind, "content": {"application/json": {"example": example}}}


def _documented_check() -> dict[str, Any]:
    about = documented(answers.Check, "check")
    computing = _described(answers.Check, {"state": "computing"})
    about["responses"][202] = {**computing, "description": "The check is being made."}
    return about


def _documented_readiness() -> dict[str, Any]:
    """Its 503 is no error but the same answer: probes do not count as concurrent requests."""
    about = documented(answers.Readiness, "readyz")
    leaving = _described(answers.Readiness, {**EXAMPLES["readyz"], "ready": False})
    about["responses"][503] = {**leaving, "description": "The service is shutting down."}
    return about


def api(service: Service) -> APIRouter:
    """The addresses for programs and the page."""
    router, ask = APIRouter(prefix="/api"), service.ask

    @router.get("/model", **documented(answers.Card, "model"))
    async def model() -> Response:
        """The model at a glance."""
        return await ask(browsing.card)

    @router.get("/users", **documented(answers.FoundUsers, "users"))
    async def users(search: QuerySearch = "", limit: QueryLimit = 20) -> Response:
        """Users by their id; the most active ones without a search text."""
        return await ask(browsing.find_users, search, limit)

    @router.get("/items", **documented(answers.FoundItems, "items"))
    async def items(search: QuerySearch = "", limit: QueryLimit = 20) -> Response:
        """Items by their name or id; the most popular ones without a search text."""
        return await ask(browsing.find_items, search, limit)

    @router.get("/user", **documented(answers.User, "user", 404, 409))
    async def user(id: QueryId, n: QueryN = 50) -> Response:  # noqa: A002
        """A user's counts, the sessions behind them, and the user's components."""
        return await ask(browsing.user, id, n)

    @router.get("/item", **documented(answers.ItemInFull, "item", 404))
    async def item(id: QueryId) -> Response:  # noqa: A002
        """Who has an item, what is similar, its components, and what excites it."""
        return await ask(browsing.item, id)

    @router.get("/recommend", **documented(answers.OneList, "recommend", 404, 409))
    async def recommend(
        user: QueryId, n: QueryN = 10, exclude_seen: bool = True, why: QueryWhy = 0, popular: bool = False
    ) -> Response:
        """Recommend items to a user."""
        question = RecommendQuestion.model_construct(
            user=user, n=n, exclude_seen=exclude_seen, why=why, popular=popular
        )
        if n <= _FEW and not why and not popular and service.current.served.is_small:
            return service.ask_briefly(questions.recommend, question)
        return await ask(questions.recommend, question)

    @router.post("/recommend", **documented(answers.OneList | answers.ManyLists, "recommend", 400, 404, 409))
    async def recommend_to(question: RecommendQuestion) -> Response:
        """Recommend items to a user, to several users, or for a history."""
        if question.users is not None:
            return await ask(questions.recommend_to_many, question)
        return await ask(questions.recommend, question)

    @router.post("/predict", **documented(answers.Predictions, "predict", 400, 404, 409))
    async def predict(question: PredictQuestion) -> Response:
        """Expected sessions and counts of some items, for a user or a history."""
        return await ask(questions.predict, question)

    @router.get("/explain", **documented(answers.Explanation, "explain", 404, 409))
    async def explain(user: QueryId, item: QueryId) -> Response:
        """Why an item is recommended to a user: a score and its parts."""
        return await ask(questions.explain, ExplainQuestion.model_construct(user=user, item=item))

    @router.post("/explain", **documented(answers.Explanation, "explain", 400, 404, 409))
    async def explain_to(question: ExplainQuestion) -> Response:
        """Why an item is recommended to a user, or for a history."""
        return await ask(questions.explain, question)

    @router.get("/similar/items", **documented(answers.SimilarItems, "similar items", 404))
    async def similar_items(item: QueryId, n: QueryN = 10) -> Response:
        """Items that go best with an item."""
        return await ask(browsing.similar_items, item, n)

    @router.get("/similar/users", **documented(answers.SimilarUsers, "similar users", 404))
    async def similar_users(user: QueryId, n: QueryN = 10) -> Response:
        """Users with the most similar tastes."""
        return await ask(browsing.similar_users, user, n)

    @router.get("/components", **documented(answers.Components, "components"))
    async def components() -> Response:
        """All components with their top items, the largest first."""
        return await ask(browsing.components)

    @router.get("/component", **documented(answers.ComponentInFull, "component", 404))
    async def component(number: QueryNumber, n: QueryN = 50) -> Response:
        """One component with more of its items."""
        return await ask(browsing.component, number, n)

    @router.get("/check", **_documented_check())
    async def check() -> Response:
        """The predictive check. The first request starts it; the status is 202 until it is ready."""
        served = service.current.served
        found = service.checks.ask(served)
        return with_revision(json_response(found, 202 if found["state"] == "computing" else 200), served)

    return router


def operations(service: Service) -> APIRouter:
    """The addresses for those who run the service."""
    router = APIRouter()

    @router.head("/healthz", include_in_schema=False)
    @router.get("/healthz", **documented(answers.Health, "healthz"))
    async def healthz() -> Response:
        """The process answers."""
        return with_revision(json_response({"status": "ok"}), service.current.served)

    @router.head("/readyz", include_in_schema=False)
    @router.get("/readyz", **_documented_readiness())
    async def readyz() -> Response:
        """There is a model to ask, and the service is not shutting down."""
        current = service.current
        ready: answers.Readiness = {"ready": not current.leaving, "revision": current.served.revision}
        return with_revision(json_response(ready, 200 if ready["ready"] else 503), current.served)

    @router.get(
        "/metrics",
        response_class=PlainTextResponse,
        responses={200: {"content": {"text/plain": {"example": _METRICS}}}},
    )
    async def metrics() -> Response:
        """Metrics in Prometheus' text format."""
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return Response(service.metrics.text(service.current), 200, {"cache-control": "no-store"}, kind)

    return router
