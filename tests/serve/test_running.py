"""The command: where it listens, what it prints, how it ends."""

import logging
import re
import signal
import socket
import sys
import time
from pathlib import Path

import httpx
import pytest
from tests.cli.running import refused
from tests.serve.command import running
from tests.serve.models import TOKEN, save

import dcpf
from dcpf.serve.running import ServerOptions, address_of, is_this_machine, rules_of


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("running") / "plays.safetensors"
    save(made)
    return made


@pytest.fixture(autouse=True)
def logs_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the command sets up for the log of its process is not for the tests after it."""
    for logger in (logging.getLogger("dcpf.serve"), logging.getLogger("uvicorn")):
        for name in ("handlers", "propagate", "level"):
            monkeypatch.setattr(logger, name, getattr(logger, name))


def test_it_prints_an_address_with_a_token_serves_swaps_and_ends_by_a_signal(path: Path) -> None:
    with running(path, "--check-every", "0.05") as (process, address):
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/#token=([\w-]{32,})", address)
        assert found, address
        base, token = found.groups()
        assert httpx.get(f"{base}/api/users", trust_env=False).status_code == 401
        with httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}, trust_env=False) as client:
            before = client.get("/readyz").json()["revision"]
            assert client.get("/api/user", params={"id": "user 7"}).status_code == 200
            save(path, seed=1)
            while client.get("/readyz").json()["revision"] == before:
                time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate()
        assert process.returncode == 0
        assert "GET /api/user 200" in log
        assert "replaces" in log
        for secret in (token, "user 7", "user+7", "Traceback"):
            assert secret not in log


def test_ctrl_c_ends_it_without_a_traceback_and_the_token_may_come_from_the_environment(path: Path) -> None:
    with running(path, "--host", "localhost", DCPF_TOKEN=TOKEN) as (process, address):
        assert address.endswith(f"/#token={TOKEN}")
        process.send_signal(signal.SIGINT)
        rest, log = process.communicate()
        assert process.returncode == 0
        assert rest == ""
        assert "Traceback" not in log


def test_a_request_under_way_is_answered_before_the_end(path: Path) -> None:
    with running(path, "--no-token", "--quiet") as (process, address):
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            body = b'{"user": "alice"}'
            head = f"POST /api/recommend HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
            connection.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body[:5])
            while httpx.get(f"{address}metrics", trust_env=False).text.find("dcpf_requests_in_flight 2") < 0:
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
            connection.sendall(body[5:])
            assert connection.recv(2**16).startswith(b"HTTP/1.1 200 OK")
        _, log = process.communicate()
        assert process.returncode == 0
        assert log == ""


def test_a_port_that_is_taken_is_one_line(path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        told = refused("serve", path, "--port", port)
    assert f"cannot listen on 127.0.0.1 port {port}: Address already in use" in told
    assert "--port 0" in told


def test_what_cannot_be_served_is_one_line(path: Path, tmp_path: Path) -> None:
    assert "No such file" in refused("serve", tmp_path / "none.safetensors", "--port", 0)
    (tmp_path / "bad").write_bytes(b"garbage")
    assert str(tmp_path / "bad") in refused("serve", tmp_path / "bad", "--port", 0)
    assert "would let anyone ask" in refused("serve", path, "--host", "0.0.0.0", "--no-token")
    assert "exclude each other" in refused("serve", path, "--token", "abc", "--no-token")
    assert "--port must be at most 65535" in refused("serve", path, "--port", 65536)
    assert "--max-requests must be at least 1" in refused("serve", path, "--max-requests", 0)
    assert "--host no.such.host.invalid" in refused("serve", path, "--host", "no.such.host.invalid")


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn"])
def test_without_the_extra_it_says_what_to_install(path: Path, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dcpf, "serve", dcpf.serve)  # what is imported anew stays here otherwise, for all later tests
    for name in [name for name in sys.modules if name.startswith(("dcpf.serve", missing))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    assert f"dcpf serve needs {missing}: install it with pip install 'dcpf[serve]'" in refused("serve", path)


def test_the_address_is_one_that_can_be_opened() -> None:
    assert address_of("0.0.0.0", 80, "abc") == "http://127.0.0.1:80/#token=abc"
    assert address_of("::", 80, None) == "http://127.0.0.1:80/"
    assert address_of("::1", 80, None) == "http://[::1]:80/"
    assert address_of("music.example", 80, None) == "http://music.example:80/"
    assert address_of("::1", 80, "50%41#/?&+") == "http://[::1]:80/#token=50%2541%23%2F%3F%26%2B"


def test_it_listens_to_this_machine_only_unless_told_otherwise() -> None:
    settings = ServerOptions(Path("m"))
    assert is_this_machine(settings.host)
    assert rules_of(settings).token is not None
