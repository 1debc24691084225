"""Run the service: where it listens, who may ask, and how it ends."""

import asyncio
import contextlib
import gc
import ipaddress
import logging
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import uvicorn

from dcpf.kernels.threads import one_blas_thread
from dcpf.serve.app import make_app
from dcpf.serve.gate import Gate, Rules
from dcpf.serve.loaded import Loaded
from dcpf.serve.loading import load
from dcpf.serve.service import Service
from dcpf.serve.watching import Current, Watcher, signature

_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
_ENDING = 10  # seconds that requests under way may take at the end


@dataclass(frozen=True)
class Settings:
    """How a model is served."""

    path: Path
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None  # None: drawn at random
    no_token: bool = False
    allow_hosts: Sequence[str] = ()
    cap: int = 64
    threads: int = 2
    every: float = 1.0


def serve(settings: Settings, ready: Callable[[Loaded, str], object]) -> None:
    """Serve until a signal asks to end. `ready` is told the model and the address once requests are taken."""
    rules = rules_of(settings)
    with listening(settings.host, settings.port) as listener, one_blas_thread():  # requests are the threads
        known = signature(settings.path)
        current = Current(load(settings.path))
        service = Service(current, settings.threads)
        watcher = Watcher(settings.path, current, settings.every, service.prepare)
        address = address_of(settings.host, listener.getsockname()[1], rules.token)
        server = Server(configured(make_app(service, rules)), current, lambda: ready(current.loaded, address))
        gc.collect()
        gc.freeze()  # what is there by now stays: to look through it again and again would hold up requests
        watcher.start(known)
        try:
            asyncio.run(server.serve(sockets=[listener]))
        finally:
            watcher.stop()


def configured(app: Gate) -> uvicorn.Config:
    """How uvicorn runs the app. Its own log of requests would show queries: ours is in the gate."""
    logging.getLogger("uvicorn.access").disabled = True
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        ws="none",
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_ENDING,
    )


class Server(uvicorn.Server):
    """Ends by SIGINT and SIGTERM, after the requests under way; that is no error. A second signal ends at once."""

    def __init__(self, config: uvicorn.Config, current: Current, ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._current, self._ready = current, ready

    async def main_loop(self) -> None:
        """Tell that requests are taken, and wait for a signal: from here on one ends it in order."""
        self._ready()
        await super().main_loop()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM as long as requests are taken, and give them back afterwards."""
        before = {one: signal.signal(one, self._take) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _take(self, number: int, _: object) -> None:
        self._current.leaving = True
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True


def rules_of(settings: Settings) -> Rules:
    """Who may ask. An address that others reach needs a token, or nothing is started."""
    token = settings.token
    if settings.no_token:
        if token is not None:
            raise ValueError("--token and --no-token say different things; give one of them")
        if not is_this_machine(settings.host):
            raise ValueError(
                f"--no-token with --host {settings.host} would let everyone ask who reaches this machine: "
                "leave --no-token out, or serve 127.0.0.1"
            )
    elif token is None:
        token = secrets.token_urlsafe(24)
    if token is not None and (not token or not token.isascii() or not token.isprintable() or " " in token):
        raise ValueError("the token must be letters, digits and signs of ASCII without blanks, such as a long number")
    names = {settings.host.strip("[]").lower(), *(name.strip("[]").lower() for name in settings.allow_hosts)}
    return Rules(token, _THIS_MACHINE | names, settings.cap)


def is_this_machine(host: str) -> bool:
    """Whether only this machine itself reaches an address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@contextlib.contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket at this address. One that is taken is an error in one line."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ValueError(f"--host {host}: {error.strerror or error}") from None
    with socket.socket(family, kind, protocol) as listener:
        if os.name == "posix":
            # A service that ended a moment ago is not in the way
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(where)
            listener.listen(128)
        except OSError as error:
            raise ValueError(
                f"cannot listen on {host} port {port}: {error.strerror or error}; another --port may be free, "
                "and --port 0 takes any that is"
            ) from None
        yield listener


def address_of(host: str, port: int, token: str | None) -> str:
    """What to open. The token is behind the #, which browsers send to nobody; signs in it are percent-encoded."""
    name = host.strip("[]")
    if name in ("0.0.0.0", "::"):
        name = "127.0.0.1"
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{port}/" + ("" if token is None else f"#token={quote(token, safe='')}")
