"""The few calls to Dask that a fit needs. The other files here take nothing from Dask but the type of a client."""

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

# Raised when a worker, or an input that it held, is gone: the task is then given to another worker. Any other error
# comes from the function itself. CommClosedError is Dask's ConnectionError, and is an OSError too.
_LOST = (KilledWorker, CancelledError, CommClosedError, ConnectionError, TimeoutError)
_TRIES = 5
_PATIENCE = 300.0  # seconds without any worker, or without any answer, before a fit gives up


class AnswerLost(Exception):  # noqa: N818 - the name says it
    """The answer will never come, and the function is not to blame."""


class DaskCluster:
    """Workers that run functions."""

    def __init__(self, client: Client, *, insecure: bool = False) -> None:
        self._client: Any = client
        check_secure(str(client.scheduler and client.scheduler.address), insecure=insecure)

    @property
    def dashboard(self) -> str:
        """The address of Dask's dashboard, empty if there is none."""
        if self._client.cluster is not None and find_spec("bokeh") is None:  # a dashboard on this machine needs it
            return ""
        services = self._client.scheduler_info(n_workers=0).get("services", {})
        return str(self._client.dashboard_link) if services.get("dashboard") else ""

    def workers(self) -> dict[str, int]:
        """Threads of each worker, by its address. Waits until there is a worker."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            known = self._client.scheduler_info(n_workers=-1)["workers"]
            if known:
                return {address: int(facts["nthreads"]) for address, facts in sorted(known.items())}
            time.sleep(0.1)
        raise TimeoutError(
            f"the cluster has had no worker for {_PATIENCE:.0f} seconds; start some, then fit again from the "
            "checkpoint"
        )

    def put(self, value: Any) -> Any:
        """Send a value to the workers, to pass to functions."""
        try:
            return self._client.scatter([value], hash=False, direct=True, timeout=60)[0]
        except Exception as error:  # the arrays can always be sent: it is a worker that is gone
            raise AnswerLost(str(error)) from error

    def submit(self, worker: str | None, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function on this worker, or on another one if it is gone or None."""
        if worker is None:
            return self._client.submit(function, *arguments, pure=False)
        return self._client.submit(function, *arguments, workers=[worker], allow_other_workers=True, pure=False)

    def gone(self, futures: Sequence[Any]) -> set[Any]:
        """The values put on the cluster that no worker holds any more. Dask does not always say so by itself."""
        holders = self._client.who_has(list(futures)) if futures else {}
        return {future for future in futures if future.status != "finished" or not holders.get(future.key)}

    def first(self, futures: Iterable[Any], seconds: float) -> list[Any]:
        """The futures that are done, as soon as one is; an empty list if none is done in time."""
        until, futures = time.monotonic() + seconds, list(futures)
        while True:
            done = [future for future in futures if future.status != "pending"]
            if done or time.monotonic() >= until:
                return done
            time.sleep(0.002)

    def result(self, future: Any) -> Any:
        """What a function returned. Raises what the function raised, or AnswerLost."""
        try:
            return self._client.gather(future, direct=True)
        except _LOST as error:
            raise AnswerLost(str(error)) from error

    def cancel(self, futures: Iterable[Any]) -> None:
        """Give up on these futures."""
        self._client.cancel(list(futures), force=True)

    def each(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], shared: Any = None) -> list[Any]:
        """The results of function(shared, *call) for each call, in order. The function must be stateless."""
        answers: list[Any] = [None] * len(calls)
        waiting, tries, last = set(range(len(calls))), 0, time.monotonic()
        while waiting:
            try:
                held = self.put(shared)
                asked = {self.submit(None, function, held, *calls[number]): number for number in sorted(waiting)}
                while asked:
                    for future in self.first(asked, 1.0):
                        answers[asked[future]] = self.result(future)
                        waiting.discard(asked.pop(future))
                        tries, last = 0, time.monotonic()
                    if self.gone([held]) or time.monotonic() - last > _PATIENCE:
                        raise AnswerLost("a worker is gone or does not answer")
            except AnswerLost:
                tries, last = tries + 1, time.monotonic()
                if tries > _TRIES:
                    raise
                self.workers()  # waits until there are some
        return answers

    def everywhere(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Run a function on every worker, without waiting for it."""
        for worker in self._client.scheduler_info(n_workers=-1)["workers"]:
            fire_and_forget(self.submit(worker, function, *arguments))  # type: ignore[no-untyped-call]


def threads_here() -> int:
    """The number of threads of the worker that runs this; 1 outside of a worker."""
    try:
        return max(1, int(get_worker().state.nthreads))
    except ValueError:  # not on a worker
        return 1


def check_secure(address: str, *, insecure: bool) -> None:
    """Refuse a scheduler on another host without TLS."""
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
            f"the scheduler at {address} is on another host and does not use TLS: anyone who can reach its port can "
            "run programs on the cluster. Set up TLS (tls://...), or pass insecure=True if you trust "
            "everyone on the network"
        )


@contextmanager
def connected(address: str, *, insecure: bool = False) -> Iterator[Client]:
    """A client of a running cluster. Dask's configuration says where the TLS certificates are."""
    check_secure(address, insecure=insecure)
    try:
        client = Client(address, timeout="30s")  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError) as error:
        raise OSError(f"no scheduler answers at {address}: {error}") from None
    with client:
        yield client


@contextmanager
def local_cluster(workers: int, threads: int) -> Iterator[Client]:
    """A cluster of worker processes on this machine, which ends with the block."""
    settings = {
        "distributed.scheduler.work-stealing": False,  # a task belongs where its block is
        "distributed.scheduler.worker-ttl": "60s",
        "distributed.deploy.lost-worker-timeout": "1h",  # a dead worker is restarted, however long that takes
        "distributed.comm.timeouts.connect": "30s",
        "distributed.worker.memory.terminate": False,  # arrays that do not fit are in memory-mapped files
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
