"""Small models to serve, and clients that ask them over a socket of this machine."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import uvicorn

import dcpf
from dcpf.counts import Counts
from dcpf.model import FittedModel
from dcpf.serve.app import make_app
from dcpf.serve.gate import Gate, Rules
from dcpf.serve.running import configured, listening
from dcpf.serve.served import Current, load
from dcpf.serve.service import Service

HOSTILE = '<img src=x onerror=alert(1)> & "quotes" \\ \u202e \x07'
TOKEN = "a-secret-of-the-tests"
USERS = ["alice", "Bob", "../../etc/passwd", *(f"user {u}" for u in range(3, 30))]
ITEMS = ["song 0", HOSTILE, "song/2", *(f"song {i}" for i in range(3, 24))]


def plays(seed: int = 0) -> Counts:
    """Two camps, long-tailed counts, names that are told apart by case only, and one that two songs have."""
    rng = np.random.default_rng(seed)
    camp = np.add.outer(np.arange(30), np.arange(24)) % 2 == 0
    rates = np.where(camp, 0.9, 0.1)
    counts = rng.poisson(rates) * rng.geometric(0.3, rates.shape)
    counts[np.arange(30), np.arange(30) % 24] += 1
    counts[0, :3] = (40, 2, 7)
    names = {item: f"Name of {item}" for item in ITEMS} | {"song 3": "Twice", "song 4": "Twice", "song 5": "twice"}
    return Counts.from_matrix(counts, USERS, ITEMS).with_names(names | {"song 6": "Ünïcode Straße"})


def save(path: Path, *, seed: int = 0, history: bool = True, numbered: bool = False, **options: Any) -> FittedModel:
    """Fit a model and write it to a file."""
    counts = plays(seed)
    if numbered:
        counts = Counts.from_matrix(counts.matrix, np.arange(100, 130), np.arange(500, 524))
    settings = {"n_components": 3, "n_neighbors": 8, "max_iter": 20, "tol": 0.0, "random_state": seed, "n_jobs": 1}
    model = dcpf.DCPF(**settings | options).fit(counts)
    model.save(path, history=history)
    return dcpf.load(path)


def app_of(current: Current, rules: Rules | None = None) -> Gate:
    """The whole service, with a model in use."""
    return make_app(Service(current, threads=2), rules or Rules())


@contextmanager
def serving(path: Path, rules: Rules | None = None) -> Iterator[httpx.Client]:
    """A client of a service with this model; it has the token, if there is one."""
    with serving_app(app_of(Current(load(path)), rules), rules) as made:
        yield made


@contextmanager
def serving_app(app: Gate, rules: Rules | None = None) -> Iterator[httpx.Client]:
    """A client of an app, over a socket of this machine."""
    headers = {} if rules is None or rules.token is None else {"Authorization": f"Bearer {rules.token}"}
    server = uvicorn.Server(configured(app))
    with listening("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            with httpx.Client(base_url=address, headers=headers, trust_env=False, timeout=60.0) as made:
                yield made
        finally:
            server.should_exit = True
            thread.join()


def get(asking: httpx.Client, path: str, status: int = 200, **query: Any) -> Any:
    """The answer to a GET."""
    answer = asking.get(path, params=query)
    assert answer.status_code == status, answer.text
    return answer.json()


def post(asking: httpx.Client, path: str, body: Any, status: int = 200) -> Any:
    """The answer to a POST."""
    answer = asking.post(path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()
