"""Dask behind a handful of calls. The rest of this room takes nothing of it but the client that a caller brings."""

import ipaddress
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import dask
from distributed import CancelledError, Client, LocalCluster, fire_and_forget, get_worker
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

# What is said of a task whose worker, or whose input, has gone: it is given to another one. Other errors are the
# function's own. CommClosedError is Dask's word for a ConnectionError, and is an OSError as that is.
_LOST = (KilledWorker, CancelledError, CommClosedError, ConnectionError, TimeoutError)
_TRIES = 5
_PATIENCE = 300.0  # seconds without a single worker, or without an answer from any, after which a fit gives up


class Lost(Exception):  # noqa: N818 - the name says it
    """The answer will never come, through no fault of the question."""


class Engine:
    """Workers that run functions."""

    def __init__(self, client: Client, *, insecure: bool = False) -> None:
        self._client: Any = client
        check_secure(str(client.scheduler and client.scheduler.address), insecure=insecure)

    @property
    def dashboard(self) -> str:
        """The address of Dask's own page, where one sees what workers do; empty if there is none."""
        if self._client.cluster is not None and find_spec("bokeh") is None:  # the page needs it, here
            return ""
        served = self._client.scheduler_info(n_workers=0).get("services", {})
        return str(self._client.dashboard_link) if served.get("dashboard") else ""

    def workers(self) -> dict[str, int]:
        """The addresses of the workers there are, and the threads that each may use. Waits until there is one."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            known = self._client.scheduler_info(n_workers=-1)["workers"]
            if known:
                return {address: int(facts["nthreads"]) for address, facts in sorted(known.items())}
            time.sleep(0.1)
        raise TimeoutError(
            f"no worker has been there for {_PATIENCE:.0f} seconds; start some, and go on with --resume"
        )

    def put(self, value: Any) -> Any:
        """Bring a value to the workers, for arguments of functions."""
        try:
            return self._client.scatter([value], hash=False, direct=True, timeout=60)[0]
        except Exception as error:  # arrays always go over the wire: it is the worker that is not there, or no more
            raise Lost(str(error)) from error

    def submit(self, worker: str | None, function: Callable[..., Any], *arguments: Any) -> Any:
        """Have a worker run a function: this one if it can, else another."""
        if worker is None:
            return self._client.submit(function, *arguments, pure=False)
        return self._client.submit(function, *arguments, workers=[worker], allow_other_workers=True, pure=False)

    def gone(self, futures: Sequence[Any]) -> set[Any]:
        """Those of which no worker has any more what was put there. Dask does not always tell by itself."""
        there = self._client.who_has(list(futures)) if futures else {}
        return {one for one in futures if one.status != "finished" or not there.get(one.key)}

    def first(self, futures: Iterable[Any], seconds: float) -> list[Any]:
        """Those that are done, as soon as there is one; none if there is none after so many seconds."""
        until, futures = time.monotonic() + seconds, list(futures)
        while True:
            done = [one for one in futures if one.status != "pending"]
            if done or time.monotonic() >= until:
                return done
            time.sleep(0.002)

    def result(self, future: Any) -> Any:
        """What a function has answered. Raises what it has raised, or Lost."""
        try:
            return self._client.gather(future, direct=True)
        except _LOST as error:
            raise Lost(str(error)) from error

    def cancel(self, futures: Iterable[Any]) -> None:
        """Do without these."""
        self._client.cancel(list(futures), force=True)

    def each(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], shared: Any = None) -> list[Any]:
        """A function of no memory for each of these arguments, after one that all share; answers in their order."""
        answers: list[Any] = [None] * len(calls)
        waiting, tries, last = set(range(len(calls))), 0, time.monotonic()
        while waiting:
            try:
                brought = self.put(shared)
                asked = {self.submit(None, function, brought, *calls[j]): j for j in sorted(waiting)}
                while asked:
                    for future in self.first(asked, 1.0):
                        answers[asked[future]] = self.result(future)
                        waiting.discard(asked.pop(future))
                        tries, last = 0, time.monotonic()
                    if self.gone([brought]) or time.monotonic() - last > _PATIENCE:
                        raise Lost("a worker has gone, or does not answer")
            except Lost:
                tries, last = tries + 1, time.monotonic()
                if tries > _TRIES:
                    raise
                self.workers()  # waits until there are some
        return answers

    def everywhere(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Run a function on all workers there are, and do not wait for them."""
        for worker in self._client.scheduler_info(n_workers=-1)["workers"]:
            fire_and_forget(self.submit(worker, function, *arguments))  # type: ignore[no-untyped-call]


def threads_here() -> int:
    """As many threads as the worker may use that runs this; 1 elsewhere."""
    try:
        return max(1, int(get_worker().state.nthreads))
    except ValueError:  # not on a worker
        return 1


def check_secure(address: str, *, insecure: bool) -> None:
    """Refuse a scheduler on another host that anyone can talk to."""
    parts = urlsplit(address)
    if insecure or parts.scheme in ("tls", "wss", "inproc", "ucxx"):
        return
    host = parts.hostname or ""
    try:
        here = ipaddress.ip_address(host).is_loopback
    except ValueError:
        here = host == "localhost"
    if not here:
        raise ValueError(
            f"the scheduler at {address} is on another host and does not use TLS: whoever reaches its port can run "
            "programs on the cluster. Set up TLS (tls://...), or pass insecure=True (--insecure) if the network is "
            "yours alone"
        )


@contextmanager
def connected(address: str, *, insecure: bool = False) -> Iterator[Client]:
    """A client of a cluster that is there. What TLS needs is taken from Dask's own settings."""
    check_secure(address, insecure=insecure)
    try:
        client = Client(address, timeout="30s")  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError) as error:
        raise OSError(f"no scheduler answers at {address}: {error}") from None
    with client:
        yield client


@contextmanager
def local_cluster(workers: int, threads: int) -> Iterator[Client]:
    """A cluster of processes on this machine, which ends with the block."""
    settings = {
        "distributed.scheduler.work-stealing": False,  # a block is where its state is
        "distributed.scheduler.worker-ttl": "60s",
        "distributed.deploy.lost-worker-timeout": "1h",  # one that died is started again, however long that takes
        "distributed.comm.timeouts.connect": "30s",
        "distributed.worker.memory.terminate": False,  # what does not fit lies in mapped files
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.target": False,
        "distributed.admin.large-graph-warning-threshold": "1GB",
    }
    with (
        dask.config.set(settings),
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=workers, threads_per_worker=threads, processes=True, host="127.0.0.1", memory_limit=0,
            dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):  # fmt: skip
        yield client
