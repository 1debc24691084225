"""Addresses, and the question that each puts to the model."""

from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from dcpf.serve import answers, looking, recommending
from dcpf.serve.card import card
from dcpf.serve.examples import EXAMPLES
from dcpf.serve.page import File
from dcpf.serve.questions import (
    ExplainQuestion,
    PredictQuestion,
    QueryId,
    QueryLimit,
    QueryN,
    QueryNumber,
    QuerySearch,
    QueryWhy,
    RecommendQuestion,
    check_reasons,
)
from dcpf.serve.recommending import Wishes
from dcpf.serve.replies import answered, failed
from dcpf.serve.service import Service, respond


def told(kind: Any, example: str, *errors: int) -> dict[str, Any]:
    """How an operation is described: what it answers, with an example, and how it fails."""
    failures = {status: {"model": answers.Failed, "description": _FAILURES[status]} for status in (*_ALWAYS, *errors)}
    good = {"model": kind, "content": {"application/json": {"example": EXAMPLES[example]}}}
    return {"responses": {200: good, **failures}, "response_model": None}


def _told_check() -> dict[str, Any]:
    described = told(answers.Check, "check")
    computing = {"model": answers.Check, "content": {"application/json": {"example": {"state": "computing"}}}}
    described["responses"][202] = {**computing, "description": "It is being made."}
    return described


def _told_readiness() -> dict[str, Any]:
    """Its 503 is no failure: it is the same answer, and no probe is ever one request too many."""
    described = told(answers.Readiness, "readyz")
    leaving = {**EXAMPLES["readyz"], "ready": False}
    not_ready = {"model": answers.Readiness, "content": {"application/json": {"example": leaving}}}
    described["responses"][503] = {**not_ready, "description": "The service is about to end."}
    return described


_METRICS = 'dcpf_requests_total{method="GET",route="/api/recommend",status="200"} 12\n'
_FEW = 100  # items of a list that is made in a moment
_ALWAYS = (401, 408, 413, 421, 422, 500, 503)
_FAILURES = {
    400: "The body cannot be read.",
    401: "The token is missing or wrong.",
    404: "No such user, item or component.",
    408: "The body did not arrive in time.",
    409: "The model was saved without the counts that this needs.",
    413: "The body is too large.",
    421: "The service may not be called by this name.",
    422: "A value cannot be used.",
    500: "A mistake of the service.",
    503: "Too many requests at a time.",
}


def api(service: Service) -> APIRouter:
    """The addresses that programs and the page use."""
    router, ask = APIRouter(prefix="/api"), service.ask

    @router.get("/model", **told(answers.Card, "model"))
    async def model() -> Response:
        """The model at a glance."""
        return await ask(card)

    @router.get("/users", **told(answers.FoundUsers, "users"))
    async def users(search: QuerySearch = "", limit: QueryLimit = 20) -> Response:
        """Users by their id; the most active without a text."""
        return await ask(looking.find_users, search, limit)

    @router.get("/items", **told(answers.FoundItems, "items"))
    async def items(search: QuerySearch = "", limit: QueryLimit = 20) -> Response:
        """Items by their name or id; the most popular without a text."""
        return await ask(looking.find_items, search, limit)

    @router.get("/user", **told(answers.User, "user", 404, 409))
    async def user(id: QueryId, n: QueryN = 50) -> Response:  # noqa: A002
        """What a user has, as how many sessions it is read, and the user's components."""
        return await ask(looking.user, id, n)

    @router.get("/item", **told(answers.ItemInFull, "item", 404))
    async def item(id: QueryId) -> Response:  # noqa: A002
        """Who has an item, what is similar, its components, and what excites it."""
        return await ask(looking.item, id)

    @router.get("/recommend", **told(answers.OneList, "recommend", 404, 409))
    async def recommend(
        user: QueryId, n: QueryN = 10, exclude_seen: bool = True, why: QueryWhy = 0, popular: bool = False
    ) -> Response:
        """What to recommend to a user."""

        def question(loaded: Any) -> answers.OneList:
            check_reasons(n, why)
            wishes = Wishes(n=n, exclude_seen=exclude_seen, why=why, popular=popular)
            return recommending.recommend(loaded, user, None, wishes)

        brief = n <= _FEW and not why and not popular and service.current.loaded.is_small
        return service.ask_briefly(question) if brief else await ask(question)

    @router.post("/recommend", **told(answers.OneList | answers.ManyLists, "recommend", 400, 404, 409))
    async def recommend_to(question: RecommendQuestion) -> Response:
        """What to recommend to a user, to several, or to one with a history."""
        wishes = Wishes(
            question.n, question.exclude_seen, question.allow, question.deny, question.why, question.popular
        )
        if question.users is not None:
            return await ask(recommending.recommend_to_many, question.users, wishes)
        return await ask(recommending.recommend, question.user, question.counts, wishes)

    @router.post("/predict", **told(answers.Predictions, "predict", 400, 404, 409))
    async def predict(question: PredictQuestion) -> Response:
        """What is expected of a user and some items."""
        return await ask(recommending.predict, question.user, question.counts, question.items)

    @router.get("/explain", **told(answers.Explanation, "explain", 404, 409))
    async def explain(user: QueryId, item: QueryId) -> Response:
        """Why an item is recommended to a user: a score and its parts."""
        return await ask(recommending.explain, user, None, item)

    @router.post("/explain", **told(answers.Explanation, "explain", 400, 404, 409))
    async def explain_to(question: ExplainQuestion) -> Response:
        """The same, also to one with a history."""
        return await ask(recommending.explain, question.user, question.counts, question.item)

    @router.get("/similar/items", **told(answers.SimilarItems, "similar items", 404))
    async def similar_items(item: QueryId, n: QueryN = 10) -> Response:
        """Items that go best with one."""
        return await ask(looking.similar_items, item, n)

    @router.get("/similar/users", **told(answers.SimilarUsers, "similar users", 404))
    async def similar_users(user: QueryId, n: QueryN = 10) -> Response:
        """Users whose tastes are most alike."""
        return await ask(looking.similar_users, user, n)

    @router.get("/components", **told(answers.Components, "components"))
    async def components() -> Response:
        """All components with their top items, the largest first."""
        return await ask(looking.components)

    @router.get("/component", **told(answers.ComponentInFull, "component", 404))
    async def component(number: QueryNumber, n: QueryN = 50) -> Response:
        """One component, with more of its items."""
        return await ask(looking.component, number, n)

    @router.get("/check", **_told_check())
    async def check() -> Response:
        """The predictive check. It is made when it is first asked for: 202 until it is there."""
        loaded = service.current.loaded
        answer = service.checks.ask(loaded)
        return respond(answered(answer, 202 if answer["state"] == "computing" else 200), loaded)

    return router


def operations(service: Service) -> APIRouter:
    """The addresses for those who run the service."""
    router = APIRouter()

    @router.head("/healthz", include_in_schema=False)
    @router.get("/healthz", **told(answers.Health, "healthz"))
    async def healthz() -> Response:
        """The process answers."""
        return respond(answered({"status": "ok"}), service.current.loaded)

    @router.head("/readyz", include_in_schema=False)
    @router.get("/readyz", **_told_readiness())
    async def readyz() -> Response:
        """There is a model to ask, and the service is not about to end."""
        current = service.current
        ready: answers.Readiness = {"ready": not current.leaving, "revision": current.loaded.revision}
        return respond(answered(ready, 200 if ready["ready"] else 503), current.loaded)

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


def page(files: dict[str, File]) -> APIRouter:
    """The page itself. A name is looked up among the files that were read, never on the disk."""
    router = APIRouter(include_in_schema=False)

    def served(name: str) -> Response:
        if name not in files:
            reply = failed(404, "there is no such file")
            return Response(reply.body, reply.status, media_type="application/json")
        return Response(files[name].content, 200, {"cache-control": "no-cache"}, files[name].kind)

    @router.head("/")
    @router.get("/")
    async def index() -> Response:
        return served("index.html")

    @router.get("/static/{name}")
    async def static(name: str) -> Response:
        return served(name)

    return router
