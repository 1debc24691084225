"""A newer model is taken into use without a dropped request, and a broken one never is."""

import asyncio
import json
import logging
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.models import get, save, serving_app

from dcpf import store
from dcpf.serve.app import make_app
from dcpf.serve.gate import Rules
from dcpf.serve.served import Current, ServedModel, Watcher, load, signature_of
from dcpf.serve.service import Service


def broken_files(path: Path) -> dict[str, bytes]:
    """Files that are no whole model."""
    good = path.read_bytes()
    flipped = bytearray(good)
    flipped[-5] ^= 1
    return {
        "empty": b"",
        "no model": b"garbage" * 100,
        "cut": good[: len(good) // 2],
        "a bit of the body flipped": bytes(flipped),
        "a pickle": b"\x80\x04\x95",
    }


def test_a_newer_file_is_taken_into_use_and_an_unchanged_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    save(path)
    current, swaps = Current(load(path)), []
    signature = signature_of(path)
    watcher = Watcher(path, current, 1.0, signature, lambda: swaps.append(current.served.revision))
    first = current.served
    watcher.look()
    os.utime(path)
    watcher.look()  # touched: read again, and found to be the same
    assert current.served is first
    save(path, seed=1)
    watcher.look()
    assert current.served.revision != first.revision
    assert (current.swaps, current.failures, swaps) == (1, 0, [current.served.revision])


@pytest.mark.parametrize("in_place", [True, False], ids=["written over", "renamed"])
def test_a_broken_file_never_replaces_a_good_model(
    tmp_path: Path, in_place: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("propagate", True), ("disabled", False)):  # whatever was run before in this process
        monkeypatch.setattr(logging.getLogger("dcpf.serve"), name, value)
    path = tmp_path / "m.safetensors"
    save(path)
    others = broken_files(path)
    service = Service(Current(load(path)), threads=2)
    current = service.current
    watcher = Watcher(path, current, 1.0, signature_of(path))
    with serving_app(make_app(service, rules=_open())) as client:
        before = get(client, "/api/recommend", user="alice", why=1)
        for number, (kind, content) in enumerate(others.items(), 1):
            if in_place:
                path.write_bytes(content)  # into the very file that the model was read from
            else:
                (tmp_path / "new").write_bytes(content)
                (tmp_path / "new").replace(path)
            watcher.look()
            watcher.look()  # what could not be used is not read again and again
            assert current.failures == number, kind
            assert get(client, "/api/recommend", user="alice", why=1) == before
            assert get(client, "/readyz")["ready"]
            said = [one.getMessage() for one in caplog.records if one.levelname == "ERROR"]
            assert said[-1].startswith("m.safetensors cannot be used, the model in use stays")
            assert str(tmp_path) not in client.get("/metrics").text
        path.unlink()
        watcher.look()
        assert get(client, "/api/recommend", user="alice", why=1) == before
        save(path, seed=1)
        watcher.look()
        assert (current.swaps, current.failures) == (1, len(others))
        assert get(client, "/api/recommend", user="alice", why=1) != before
        assert f"dcpf_model_swap_failures_total {len(others)}" in client.get("/metrics").text


def _open() -> Rules:
    return Rules()


def test_a_model_that_cannot_answer_is_not_taken_into_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.safetensors"
    save(path)
    current = Current(load(path))
    watcher = Watcher(path, current, 1.0, signature_of(path))
    save(path, seed=1)

    def broken(*_: object, **__: object) -> None:
        raise ArithmeticError("no answer")

    first = current.served
    monkeypatch.setattr("dcpf.model.FittedModel.recommend", broken)
    watcher.look()
    assert current.served is first
    assert current.failures == 1


def test_no_request_is_dropped_while_models_are_swapped(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    files = []
    for seed in (0, 1):
        save(tmp_path / f"{seed}", seed=seed)
        files.append((tmp_path / f"{seed}").read_bytes())
    path.write_bytes(files[0])
    service = Service(Current(load(path)), threads=2)
    watcher = Watcher(path, service.current, 0.01, signature_of(path))
    lists: dict[str, set[str]] = {}
    failures: list[object] = []
    done = threading.Event()

    def ask(client: httpx.Client) -> None:
        try:
            while not done.is_set():
                answer = client.get("/api/recommend", params={"user": "alice"})
                lists.setdefault(answer.headers["x-model-revision"], set()).add(answer.text)
                if answer.status_code != 200:
                    failures.append(answer.text)
        except Exception as error:
            failures.append(error)

    with serving_app(make_app(service, _open())) as client:
        watcher.start()
        asking = [threading.Thread(target=ask, args=(client,)) for _ in range(3)]
        for thread in asking:
            thread.start()
        try:
            for number in range(1, 9):
                (tmp_path / "new").write_bytes(files[number % 2])
                (tmp_path / "new").replace(path)
                _wait_for(lambda number=number: service.current.swaps >= number or failures)
        finally:
            done.set()
            for thread in asking:
                thread.join()
            watcher.stop()
            watcher._thread.join()
    assert failures == []
    assert service.current.failures == 0
    assert len(lists) == 2  # a revision has one list, whenever it was asked for
    assert all(len(texts) == 1 for texts in lists.values())


def _wait_for(happened: Callable[[], object]) -> None:
    """Without end: a test has no clock of its own."""
    pause = threading.Event()
    while not happened():
        pause.wait(0.005)


def test_requests_under_way_end_with_the_model_that_they_began_with(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    save(path)
    service = Service(Current(load(path)), threads=1)
    first, entered, free = service.current.served, threading.Event(), threading.Event()
    told: list[Any] = []

    def slow(served: ServedModel) -> str:
        entered.set()
        assert free.wait(60)
        return served.revision

    async def ask() -> None:  # the second waits for the only thread
        told.extend(await asyncio.gather(service.ask(slow), service.ask(lambda served: served.revision)))

    thread = threading.Thread(target=lambda: asyncio.run(ask()))
    thread.start()
    assert entered.wait(60)
    save(path, seed=1)
    service.current.served = load(path)
    free.set()
    thread.join()
    service.close()
    for answer in told:
        assert json.loads(answer.body) == answer.headers["x-model-revision"] == first.revision


def test_nothing_is_left_of_the_copy_that_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "m.safetensors")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    served = load(tmp_path / "m.safetensors")
    assert served.model.item_side.is_laid_out  # compiled code ranks, from the first request on
    assert list(temporary.iterdir()) == []
    (tmp_path / "bad").write_bytes(b"garbage")
    with pytest.raises(store.ModelFormatError, match="bad") as caught:
        load(tmp_path / "bad")
    assert "temporary" not in str(caught.value)
    assert list(temporary.iterdir()) == []
    assert len(served.model.recommend(["alice"], n=3).ranked.columns) == 3
