"""What every request passes: concurrency limit, Host header, token, size of the body; headers, metrics and log."""

import asyncio
import hmac
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from fastapi import Response

from dcpf.serve.metrics import Metrics
from dcpf.serve.responses import error_response

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

log = logging.getLogger("dcpf.serve")

PROBES = frozenset({"/healthz", "/readyz"})
LARGEST_BODY = 2**20
_TOO_LARGE = f"a body may have {LARGEST_BODY:,} bytes at most"
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
    """Who may ask, and how many requests may run at a time."""

    token: str | None = None  # None lets everyone ask
    hosts: frozenset[str] = frozenset({"localhost", "127.0.0.1", "::1"})
    cap: int = 64


class Gate:
    """The outermost layer of the app. It checks a request before anything else looks at it."""

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
            self._record(scope, path, status, time.perf_counter() - began)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        refusal = self._refusal(scope, path)
        if refusal is None:
            body = await _read_body(scope, receive)
            if isinstance(body, bytes):
                await self._app(scope, _replayed(body, receive), send)
                return
            refusal = body
        if refusal is not None:
            await refusal(scope, receive, send)

    def _refusal(self, scope: Scope, path: str) -> Response | None:
        """Why this request is refused before its body is read, or None."""
        rules, headers = self._rules, dict(scope["headers"])
        if path not in PROBES and self._metrics.in_flight > rules.cap:
            message = f"{rules.cap} requests are being answered; try again in a second"
            return error_response(503, message, headers={"retry-after": "1"})
        host = hostname(headers.get(b"host", b"").decode("latin-1"))
        if host not in rules.hosts:
            message = "the Host header names no allowed host; restart the service with it among its allowed hosts"
            return error_response(421, message)
        if rules.token is not None and not is_open(path):
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, b"Bearer " + rules.token.encode()):
                message = "send the token that dcpf serve printed in the header Authorization: Bearer TOKEN"
                return error_response(401, message, headers={"www-authenticate": "Bearer"})
        return None

    def _record(self, scope: Scope, path: str, status: int, seconds: float) -> None:
        """Count and log by route. Queries and unknown paths may be secret, so they appear nowhere."""
        route = path if path in self._routes else "/static" if path.startswith("/static/") else "other"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.count(method, route, status, seconds)
        log.info("%s %s %d %.1f ms", method, route, status, 1e3 * seconds)


def is_open(path: str) -> bool:
    """Whether a path needs no token: the probes, and the files of the page, which say nothing about the model."""
    return path in PROBES or path == "/" or path.startswith("/static/")


def hostname(header: str) -> str:
    """The name in a Host header, without its port and brackets."""
    name = header.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0].removesuffix(".")


async def _read_body(scope: Scope, receive: Receive) -> bytes | Response | None:
    """The whole body, or why it is refused; None if the client has disconnected."""
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if not length.isdigit() or len(length) > 15 or int(length) > LARGEST_BODY:
        return _closing(413, _TOO_LARGE)
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
                    return _closing(413, _TOO_LARGE)
                if not message.get("more_body", False):
                    return b"".join(pieces)
    except TimeoutError:
        return _closing(408, f"the body did not arrive within {_LONGEST_WAIT:.0f} seconds")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Receive a body that has been read already."""
    given = False

    async def receiving() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving


def _closing(status: int, message: str) -> Response:
    """An error that closes the connection, because the rest of the body is not read."""
    return error_response(status, message, headers={"connection": "close"})
