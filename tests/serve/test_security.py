"""Who may ask, how much, and what is told to nobody: each line of it."""

import asyncio
import concurrent.futures
import hmac
import json
import logging
import re
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from tests.serve.models import HOSTILE, TOKEN, app_of, get, post, save, serving, serving_app

from dcpf.model import FittedModel
from dcpf.serve import browsing
from dcpf.serve.app import make_app
from dcpf.serve.gate import LARGEST_BODY, Gate, Rules, hostname
from dcpf.serve.metrics import Metrics
from dcpf.serve.running import ServerOptions, is_this_machine, rules_of
from dcpf.serve.served import Current, load
from dcpf.serve.service import Service
from dcpf.store import ModelFormatError

RULES = Rules(token=TOKEN, cap=4)


@pytest.fixture(scope="module")
def closed(folder: Path, model: FittedModel) -> Iterator[httpx.Client]:
    with serving(folder / "plays.safetensors", RULES) as made:
        yield made


@pytest.fixture(scope="module")
def stranger(closed: httpx.Client) -> Iterator[httpx.Client]:
    """Who has no token."""
    with httpx.Client(base_url=closed.base_url, trust_env=False) as made:
        yield made


def raw(client: httpx.Client, sent: bytes) -> bytes:
    """What comes back to bytes that no decent client would send."""
    with socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=30) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(2**16), b""))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]", "LOCALHOST"])
def test_this_machine_may_do_without_a_token(host: str) -> None:
    assert is_this_machine(host)
    assert rules_of(ServerOptions(Path("m"), host, no_token=True)).token is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", "128.0.0.1"])
def test_any_other_address_has_a_token_or_is_refused(host: str) -> None:
    assert not is_this_machine(host)
    with pytest.raises(ValueError, match="would let anyone ask"):
        rules_of(ServerOptions(Path("m"), host, no_token=True))
    drawn = {rules_of(ServerOptions(Path("m"), host)).token for _ in range(20)}
    assert len(drawn) == 20
    assert all(token is not None and len(token) >= 32 for token in drawn)
    assert rules_of(ServerOptions(Path("m"), host, token="abc")).token == "abc"


@pytest.mark.parametrize("token", ["", "two words", "ünï", "line\n", "\x07"])
def test_a_token_that_no_header_can_carry_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="token must be"):
        rules_of(ServerOptions(Path("m"), token=token))
    with pytest.raises(ValueError, match="exclude each other"):
        rules_of(ServerOptions(Path("m"), token="abc", no_token=True))


@pytest.mark.parametrize(
    "given", [None, "", "Bearer", "Bearer x", TOKEN, f"bearer {TOKEN}", f"Bearer {TOKEN}x", "Basic x"]
)
@pytest.mark.parametrize("path", ["/api/model", "/api/recommend?user=alice", "/metrics", "/openapi.json", "/nothing"])
def test_without_the_token_nothing_is_told(stranger: httpx.Client, path: str, given: str | None) -> None:
    answer = stranger.get(path, headers={} if given is None else {"Authorization": given})
    assert answer.status_code == 401
    assert answer.json()["error"]["kind"] == "no_token"
    assert answer.headers["www-authenticate"] == "Bearer"
    assert TOKEN not in answer.text


def test_a_token_in_the_address_is_no_token(stranger: httpx.Client) -> None:
    for query in ("token", "access_token", "Authorization"):
        assert stranger.get("/api/model", params={query: TOKEN}).status_code == 401


def test_the_page_and_the_probes_need_no_token(stranger: httpx.Client) -> None:
    for path in ("/", "/healthz", "/readyz"):
        assert stranger.get(path).status_code == 200
        head = stranger.head(path)  # as some that watch services ask
        assert (head.status_code, head.content) == (200, b"")
    assert stranger.get("/static/nothing").status_code == 404
    assert get(stranger, "/healthz") == {"status": "ok"}


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch, closed: httpx.Client) -> None:
    compared = []

    def compare(given: bytes, wanted: bytes) -> bool:
        compared.append((given, wanted))
        return hmac_compare(given, wanted)

    hmac_compare = hmac.compare_digest
    monkeypatch.setattr("dcpf.serve.gate.hmac.compare_digest", compare)
    assert closed.get("/api/users").status_code == 200
    assert compared == [(f"Bearer {TOKEN}".encode(), f"Bearer {TOKEN}".encode())]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "[::2]", "", "a b"])
@pytest.mark.parametrize("path", ["/", "/api/users", "/healthz"])
def test_a_name_that_is_not_ours_is_refused(closed: httpx.Client, path: str, host: str) -> None:
    answer = closed.get(path, headers={"Host": host})
    assert answer.status_code == 421
    assert answer.json()["error"]["kind"] == "wrong_host"
    assert "among its allowed hosts" in answer.json()["error"]["message"]


def test_names_of_this_machine_and_those_allowed_are_ours(closed: httpx.Client) -> None:
    for host in ("localhost", "localhost:1", "127.0.0.1:99", "[::1]:8000", "LocalHost.", "127.0.0.1"):
        assert closed.get("/api/users", headers={"Host": host}).status_code == 200
    allowed = rules_of(ServerOptions(Path("m"), "10.0.0.7", allow_hosts=("Music.Example", "[fe80::1]"))).hosts
    assert {"music.example", "10.0.0.7", "fe80::1", "localhost"} <= allowed
    assert hostname("Music.Example:443") in allowed
    assert hostname("[fe80::1]:443") in allowed
    assert hostname("other.example") not in allowed


def test_no_other_site_may_read_an_answer(closed: httpx.Client) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    preflight = closed.request("OPTIONS", "/api/recommend", headers=asked)
    assert preflight.status_code == 405
    for answer in (preflight, closed.get("/api/users", headers=asked), closed.get("/", headers=asked)):
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_every_answer_has_the_strict_headers(closed: httpx.Client) -> None:
    answers = [closed.get(path) for path in ("/", "/api/users", "/api/nothing", "/metrics", "/healthz", "/static/x")]
    answers += [closed.get("/api/users", headers={"Authorization": "no"}), closed.get("/", headers={"Host": "evil"})]
    for answer in answers:
        policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["form-action"] == "'none'"
        assert set(policy.values()) == {"'none'", "'self'"}  # nothing from elsewhere, nothing inline
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "server" not in answer.headers


def test_a_body_of_a_mebibyte_is_taken_and_one_byte_more_is_not(closed: httpx.Client) -> None:
    body = json.dumps({"user": "alice"}).encode()
    kind = {"Content-Type": "application/json"}
    for extra, status in ((0, 200), (1, 413)):
        padded = body.ljust(LARGEST_BODY + extra)
        answer = closed.post("/api/recommend", content=padded, headers=kind)
        assert answer.status_code == status
        streamed = closed.post("/api/recommend", content=iter([padded[: 2**19], padded[2**19 :]]), headers=kind)
        assert streamed.status_code == status
    assert answer.json()["error"]["kind"] == streamed.json()["error"]["kind"] == "too_large"


def test_a_body_is_counted_as_it_comes_and_not_kept(model: FittedModel, folder: Path) -> None:
    taken = 0

    async def receive() -> dict[str, Any]:
        nonlocal taken
        taken += 2**16
        assert taken < 2 * LARGEST_BODY, "nobody counts"
        return {"type": "http.request", "body": bytes(2**16), "more_body": True}  # without end

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    app = app_of(Current(load(folder / "plays.safetensors")))
    asyncio.run(app(_scope("/api/recommend"), receive, send))
    assert sent[0]["status"] == 413
    assert taken == LARGEST_BODY + 2**16
    for length in (b"1048577", b"99999999999999999999999", b"-1", b"x"):  # refused by what it says, before it is read
        sent.clear()
        taken = 0
        asyncio.run(app(_scope("/api/recommend", (b"content-length", length)), receive, send))
        assert (sent[0]["status"], taken) == (413, 0)


def test_a_body_that_does_not_come_is_given_up(
    monkeypatch: pytest.MonkeyPatch, folder: Path, model: FittedModel
) -> None:
    monkeypatch.setattr("dcpf.serve.gate._LONGEST_WAIT", 0.05)
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    app = app_of(Current(load(folder / "plays.safetensors")))
    asyncio.run(asyncio.wait_for(app(_scope("/api/recommend"), receive, send), timeout=60.0))
    assert sent[0]["status"] == 408


def _scope(path: str, *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"localhost"), *headers],
    }


def test_more_requests_than_the_cap_are_told_to_come_back(
    folder: Path, model: FittedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, entered = threading.Event(), threading.Semaphore(0)

    def slow(*_: object) -> dict[str, str]:
        entered.release()
        assert free.wait(60)
        return {"state": "done"}

    monkeypatch.setattr(browsing, "components", slow)
    app = make_app(Service(Current(load(folder / "plays.safetensors")), threads=4), RULES)
    with serving_app(app, RULES) as client, concurrent.futures.ThreadPoolExecutor(4) as pool:
        try:
            waiting = [pool.submit(client.get, "/api/components") for _ in range(RULES.cap)]
            assert all(entered.acquire(timeout=60) for _ in waiting)
            refused = client.get("/api/users")
            assert refused.status_code == 503
            assert refused.json()["error"]["kind"] == "busy"
            assert refused.headers["retry-after"] == "1"
            assert client.get("/healthz").status_code == 200  # whoever watches the service is not refused
        finally:
            free.set()
        assert [one.result().status_code for one in waiting] == [200] * RULES.cap
        assert client.get("/api/users").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/..\\app.py", "/static/%00",
        "/static//etc/passwd", "/static/%2Fetc%2Fpasswd", "/../../etc/passwd", "/static/.", "/static/",
        "/static/index.html/..", "/static/__init__.py", "/docs", "/redoc", "/api/user/alice",
        "/api/file?path=/etc/passwd",
    ],
)  # fmt: skip
def test_no_path_leads_to_a_file(closed: httpx.Client, path: str) -> None:
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
    told = raw(closed, head.encode())
    assert re.match(rb"HTTP/1.1 (404|400|405|307) ", told), told
    assert b"root:" not in told
    assert b"import" not in told


def test_a_user_called_like_a_path_is_a_user(closed: httpx.Client) -> None:
    assert get(closed, "/api/user", id="../../etc/passwd")["id"] == "../../etc/passwd"
    assert get(closed, "/api/user", 404, id="/etc/passwd")["error"]["kind"] == "unknown_id"


def test_names_are_told_as_json_whatever_they_hold(closed: httpx.Client) -> None:
    answer = closed.get("/api/item", params={"id": HOSTILE})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["id"] == HOSTILE


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/api/recommend", {"user": "alice", "n": 1001}), ("/api/recommend", {"user": "alice", "n": 0}),
        ("/api/recommend", {"user": "alice", "n": "ten"}), ("/api/recommend", {}),
        ("/api/recommend", {"user": "alice", "n": 1000, "why": 2}), ("/api/recommend", {"user": "a" * 1001}),
        ("/api/similar/items", {"item": "song 3", "n": 1001}), ("/api/similar/users", {"user": "alice", "n": -1}),
        ("/api/user", {"id": "alice", "n": 10**30}), ("/api/users", {"limit": 101}),
        ("/api/items", {"search": "x" * 1001}), ("/api/component", {"number": -1}),
        ("/api/component", {"number": 2**40}), ("/api/component", {"number": "NaN"}),
    ],
)  # fmt: skip
def test_values_beyond_the_limits_are_refused(closed: httpx.Client, path: str, query: dict[str, Any]) -> None:
    error = get(closed, path, 422, **query)["error"]
    assert error["kind"] == "wrong_value"
    assert len(error["message"]) < 600


@pytest.mark.parametrize(
    "body",
    [
        {}, [], None, 3, "alice", {"user": 1.5}, {"user": True}, {"user": ["alice"]}, {"user": {"a": 1}},
        {"user": "alice", "users": ["Bob"]}, {"users": []}, {"users": ["alice"] * 101},
        {"users": ["alice"], "why": 1}, {"user": "alice", "n": 1001}, {"user": "alice", "n": "10"},
        {"user": "alice", "n": 1.5}, {"user": "alice", "m": 1},
        {"user": "alice", "why": 21}, {"user": "alice", "exclude_seen": "no"},
        {"history": {"song 3": -1}}, {"history": {"song 3": 1.5}}, {"history": {"song 3": 2**31}},
        {"history": {"song 3": "2"}}, {"history": {"song 3": None}}, {"history": [["song 3", 1]]},
        {"history": [{"item": "song 3"}]}, {"history": [{"item": "song 3", "count": 1, "more": 1}]},
        {"history": {str(j): 1 for j in range(10_001)}}, {"user": "alice", "deny": ["x"] * 10_001},
        {"user": "alice", "allow": "song 3"}, {"user": "alice", "deny": [None]},
    ],
    ids=lambda body: repr(body)[:40],
)  # fmt: skip
def test_bodies_that_cannot_be_used_are_refused(closed: httpx.Client, body: Any) -> None:
    assert post(closed, "/api/recommend", body, 422)["error"]["kind"] == "wrong_value"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"user": "alice"} x',
        b"[" * 100_000,
        b'{"n": ' + b"9" * 10_000 + b"}",
        b'{"user": NaN}',
    ],
    ids=lambda content: repr(content[:12]),
)
@pytest.mark.parametrize("path", ["/api/recommend", "/api/predict", "/api/explain"])
def test_bodies_that_are_no_json_are_refused_without_a_trace(
    closed: httpx.Client, path: str, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    answer = closed.post(path, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.json()["error"].keys() == {"kind", "message"}
    assert not [one for one in caplog.records if one.exc_info]


def test_half_of_a_surrogate_pair_is_no_text(closed: httpx.Client) -> None:
    for body in (b'{"history": {"\\ud800": 1}}', b'{"user": "\\udfff"}', b'{"user": "alice", "deny": ["\\ud800"]}'):
        answer = closed.post("/api/recommend", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 422
        assert answer.json()["error"]["kind"] == "wrong_value"


def test_a_mistake_of_ours_is_told_without_a_trace_and_logged(
    closed: httpx.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(browsing, "components", broken)
    with caplog.at_level(logging.ERROR, "dcpf.serve"):
        answer = closed.get("/api/components")
    assert answer.status_code == 500
    assert answer.json()["error"]["kind"] == "internal"
    for secret in ("Traceback", "ZeroDivisionError", "secret", ".py"):
        assert secret not in answer.text
    assert "ZeroDivisionError: secret detail" in caplog.text
    assert closed.get("/api/users").status_code == 200


def test_the_log_has_neither_tokens_nor_queries_nor_ids(
    closed: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        closed.get("/api/user", params={"id": "user 7", "token": TOKEN})
        closed.get(f"/private-path-{TOKEN}")
        post(closed, "/api/recommend", {"history": {"song 11": 3}})
        while len(told := [one.getMessage() for one in caplog.records if one.name == "dcpf.serve"]) < 3:
            time.sleep(0.01)  # a line is written once the answer is on its way
    assert re.fullmatch(r"GET /api/user 200 [\d.]+ ms", told[0])
    assert re.fullmatch(r"GET other 404 [\d.]+ ms", told[1])
    ours = "\n".join(one.getMessage() for one in caplog.records if not one.name.startswith("http"))
    for secret in (TOKEN, "user 7", "user+7", "song 11", "private"):
        assert secret not in ours


def test_requests_that_are_not_http_end_with_an_error_of_the_client(closed: httpx.Client) -> None:
    for sent in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTTP/1.1\r\n\r\n", b"hello\r\n\r\n"):
        assert not raw(closed, sent) or b" 400 " in raw(closed, sent) or b" 421 " in raw(closed, sent)
    upgrade = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n"
    assert b" 101 " not in raw(closed, upgrade + b"Sec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13\r\n\r\n")
    assert closed.get("/api/users").status_code == 200


def test_a_websocket_is_not_answered() -> None:
    async def never(*_: Any) -> None:
        raise AssertionError("nothing may be asked")

    asyncio.run(Gate(never, Rules(), Metrics(), frozenset())({"type": "websocket"}, never, never))


def test_a_model_with_a_damaged_number_is_not_served(tmp_path: Path) -> None:
    model = save(tmp_path / "m.safetensors")
    damaged = replace(model, facts=replace(model.facts, bounds=np.array([np.nan, -1.0])))
    damaged.save(tmp_path / "m.safetensors")
    with (
        pytest.raises(ModelFormatError, match="the bounds are no list of finite numbers"),
        serving(tmp_path / "m.safetensors"),
    ):
        pass
