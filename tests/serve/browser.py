"""A small model that is served, and a browser to look at it: what the tests of the page share."""

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from tests.serve.command import running

from dcpf import DCPF, Counts

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><b>bold</b>"
LONG = "Donaudampfschifffahrtsgesellschaftskapitän" * 5
TOKEN = "50%41-of/the?tests&more+#1"  # signs that mean something in an address


def chromium() -> str:
    """Where the browser of the system is; what is missing is told as a RuntimeError."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        raise RuntimeError("there is no chromium: apt-get install chromium brings one")
    if importlib.util.find_spec("playwright") is None:
        raise RuntimeError("there is no playwright: pip install playwright brings it")
    return found


@contextmanager
def browsing() -> Iterator[Any]:
    """A browser without a window."""
    program = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])  # only our own pages
        yield started
        started.close()


def fitted(seed: int = 0, users: int = 30) -> DCPF:
    """Two camps of users and two of items, some counts large; the first items have names that are trouble."""
    rng = np.random.default_rng(seed)
    rates = np.full((users, 24), 0.08)
    rates[: users // 2, :12] = rates[users // 2 :, 12:] = 1.0
    sessions = rng.poisson(rates)
    counts = np.where(sessions > 0, sessions + rng.negative_binomial(np.maximum(sessions, 1), 0.02), 0)
    counts[0, :4] = [400, 1, 1, 2]
    ids = [f"i{j}" for j in range(24)]
    names = {one: f"Song {j}" for j, one in enumerate(ids)} | {"i0": HOSTILE, "i1": LONG, "i2": "Nina Simone"}
    people = ["alice", "bob", *(f"user {j}" for j in range(2, users))]
    made = Counts.from_matrix(counts, people, ids).with_names(names)
    return DCPF(n_components=3, n_neighbors=8, max_iter=30, tol=0, random_state=0).fit(made)


@contextmanager
def served(path: Path) -> Iterator[str]:
    """`dcpf serve` in a process of its own; gives the address that it prints."""
    with running(path, "--check-every", "0.1", "--quiet", DCPF_TOKEN=TOKEN) as (_, address):
        yield address


class Seen:
    """What happened in a page that nobody looks at: errors, and whom it has asked."""

    def __init__(self, page: Any) -> None:
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        page.on("console", lambda message: message.type in ("error", "warning") and self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
