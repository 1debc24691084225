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
from dcpf.serve.served import Current, ServedModel, Watcher, load, signature_of
from dcpf.serve.service import Service

_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
_GRACE = 10  # seconds that requests under way may take at the end


@dataclass(frozen=True)
class ServerOptions:
    """How a model is served."""

    path: Path
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None  # None draws one at random
    no_token: bool = False
    allow_hosts: Sequence[str] = ()
    cap: int = 64
    threads: int = 2
    every: float = 1.0


def serve(options: ServerOptions, ready: Callable[[ServedModel, str], object]) -> None:
    """Serve until a signal. `ready` is called with the model and the address once requests are taken."""
    rules = rules_of(options)
    with listening(options.host, options.port) as listener, one_blas_thread():  # requests are the threads
        signature = signature_of(options.path)
        current = Current(load(options.path))
        service = Service(current, options.threads)
        watcher = Watcher(options.path, current, options.every, signature, service.prepare)
        address = address_of(options.host, listener.getsockname()[1], rules.token)
        server = Server(configured(make_app(service, rules)), current, lambda: ready(current.served, address))
        gc.collect()
        gc.freeze()  # later collections skip what is there by now; looking through it would delay requests
        watcher.start()
        try:
            asyncio.run(server.serve(sockets=[listener]))
        finally:
            watcher.stop()


def configured(app: Gate) -> uvicorn.Config:
    """How uvicorn runs the app. Its access log would show queries, so the gate logs instead."""
    logging.getLogger("uvicorn.access").disabled = True
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        ws="none",
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE,
    )


class Server(uvicorn.Server):
    """A server that finishes the requests under way on SIGINT or SIGTERM, and stops at once on a second signal."""

    def __init__(self, config: uvicorn.Config, current: Current, ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._current, self._ready = current, ready

    async def main_loop(self) -> None:
        """Announce that requests are taken, and wait for a signal."""
        self._ready()
        await super().main_loop()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM while the server runs, and restore the handlers afterwards."""
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


def rules_of(options: ServerOptions) -> Rules:
    """Who may ask. An address that other machines can reach must have a token."""
    token = options.token
    if options.no_token:
        if token is not None:
            raise ValueError("token= and no_token=True exclude each other; give one of them")
        if not is_this_machine(options.host):
            raise ValueError(
                f"no_token=True with host={options.host} would let anyone ask who can reach this machine: "
                "leave out no_token=True, or listen on 127.0.0.1"
            )
    elif token is None:
        token = secrets.token_urlsafe(24)
    if token is not None and (not token or not token.isascii() or not token.isprintable() or " " in token):
        raise ValueError("the token must be printable ASCII without spaces, such as a long random number")
    names = {options.host.strip("[]").lower(), *(name.strip("[]").lower() for name in options.allow_hosts)}
    return Rules(token, _THIS_MACHINE | names, options.cap)


def is_this_machine(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@contextlib.contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens on this address."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ValueError(f"host={host}: {error.strerror or error}") from None
    with socket.socket(family, kind, protocol) as listener:
        if os.name == "posix":
            # So that a restart need not wait
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(where)
            listener.listen(128)
        except OSError as error:
            raise ValueError(
                f"cannot listen on {host} port {port}: {error.strerror or error}; choose another port, "
                "or port=0 for any free one"
            ) from None
        yield listener


def address_of(host: str, port: int, token: str | None) -> str:
    """The URL to open, with the token percent-encoded behind the #, which browsers never send."""
    name = host.strip("[]")
    if name in ("0.0.0.0", "::"):
        name = "127.0.0.1"
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{port}/" + ("" if token is None else f"#token={quote(token, safe='')}")
