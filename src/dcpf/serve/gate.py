"""What every request passes: a cap, the Host header, the token, the size of the body; headers, metrics and log."""

import asyncio
import hmac
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from dcpf.serve.metrics import Metrics
from dcpf.serve.replies import Reply, failed

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

log = logging.getLogger("dcpf.serve")

PROBES = frozenset({"/healthz", "/readyz"})
LARGEST_BODY = 2**20
_LONGEST_WAIT = 10.0  # seconds for a body to arrive
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


@dataclass(frozen=True)
class Rules:
    """Who may ask, and how much at a time."""

    token: str | None = None  # None: everyone
    hosts: frozenset[str] = frozenset({"localhost", "127.0.0.1", "::1"})
    cap: int = 64


class Gate:
    """The outermost part of the app. Its checks come before anything of a request is looked at further."""

    def __init__(self, app: App, rules: Rules, metrics: Metrics, routes: frozenset[str]) -> None:
        self._app, self._rules, self._metrics, self._routes = app, rules, metrics, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        began, status, path = time.perf_counter(), 500, str(scope["path"])
        free = path in PROBES

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        self._metrics.in_flight += not free
        try:
            await self._answer(scope, receive, sending, path)
        finally:
            self._metrics.in_flight -= not free
            self._tell(scope, path, status, time.perf_counter() - began)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        refused = self._refused(scope, path)
        if refused is None:
            body = await _body(scope, receive)
            if isinstance(body, bytes):
                await self._app(scope, _again(body, receive), send)
                return
            refused = body
        if refused is not None:
            await _reply(send, refused)

    def _refused(self, scope: Scope, path: str) -> Reply | None:
        """What stands against this request, before its body is read."""
        rules, headers = self._rules, dict(scope["headers"])
        if path not in PROBES and self._metrics.in_flight > rules.cap:
            return failed(503, f"{rules.cap} requests are under way; try again in a second")
        host = hostname(headers.get(b"host", b"").decode("latin-1"))
        if host not in rules.hosts:
            return failed(421, "the service is not called so; start it with --allow-host and this name to allow it")
        if rules.token is not None and not is_open(path):
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, b"Bearer " + rules.token.encode()):
                return failed(401, "give the token that dcpf serve printed: Authorization: Bearer TOKEN")
        return None

    def _tell(self, scope: Scope, path: str, status: int, seconds: float) -> None:
        """Count and log by route. What is asked for may be secret, and is neither counted nor logged."""
        route = path if path in self._routes else "/static" if path.startswith("/static/") else "other"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.count(method, route, status, seconds)
        log.info("%s %s %d %.1f ms", method, route, status, 1e3 * seconds)


def is_open(path: str) -> bool:
    """Whether a path needs no token: the probes, and the page, which holds nothing of the model."""
    return path in PROBES or path == "/" or path.startswith("/static/")


def hostname(header: str) -> str:
    """The name in a Host header, without its port and brackets."""
    name = header.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0].removesuffix(".")


async def _body(scope: Scope, receive: Receive) -> bytes | Reply | None:
    """The whole body, or why it is not taken; None if the client has gone."""
    too_large = failed(413, f"a body may have {LARGEST_BODY:,} bytes")
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if not length.isdigit() or len(length) > 15 or int(length) > LARGEST_BODY:
        return too_large
    pieces, size = [], 0
    try:
        async with asyncio.timeout(_LONGEST_WAIT):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                pieces.append(message.get("body", b""))
                size += len(pieces[-1])
                if size > LARGEST_BODY:
                    return too_large
                if not message.get("more_body", False):
                    return b"".join(pieces)
    except TimeoutError:
        return failed(408, f"the body did not arrive within {_LONGEST_WAIT:.0f} seconds")


def _again(body: bytes, receive: Receive) -> Receive:
    """Give a body that has been read."""
    given = False

    async def receiving() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving


async def _reply(send: Send, reply: Reply) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(reply.body)).encode())]
    if reply.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if reply.status == 503:
        headers.append((b"retry-after", b"1"))
    if reply.status in (408, 413):
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
