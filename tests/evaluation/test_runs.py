"""Finished fits come back from a journal, what is not of it is refused, and workers end when they should."""

import math
import os
import signal
import sys
import time
from collections.abc import Hashable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import active_children
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcpf.evaluation.runs import Journal, Worker, peak_memory, reset_peak_memory

ABOUT = {"version": "1", "data": "abc"}
WAY_OUT = "choose another folder (-o), or start over (--restart)"


@dataclass(frozen=True)
class Fit:
    model: str
    start: int
    bound: float
    ndcg: dict[str, float]
    trace: tuple[tuple[float, float], ...]

    @property
    def key(self) -> Hashable:
        return self.model, self.start

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        ndcg = {at: math.nan if value is None else value for at, value in plain["ndcg"].items()}
        return cls(**plain | {"ndcg": ndcg, "trace": tuple(map(tuple, plain["trace"]))})


def fit(model: str = "Log", start: int = 0, *, ndcg: float = 0.25) -> Fit:
    return Fit(model, start, -1 / 3, {"0": ndcg, "5": math.nan}, ((0.1, -2.0), (0.2, -1 / 3)))


def opened(path: Path, about: dict[str, object] = ABOUT, *, restart: bool = False) -> Journal[Fit]:
    return Journal(path, Fit, about, way_out=WAY_OUT, restart=restart)


def test_records_come_back_bit_by_bit(tmp_path: Path) -> None:
    with opened(tmp_path / "j") as journal:
        journal.add(fit())
        journal.add(fit("Geo", 1))
    with opened(tmp_path / "j") as journal:
        assert list(journal.records) == [fit().key, fit("Geo", 1).key]
        found = journal.records[fit().key]
    assert repr(found) == repr(fit())  # NaN is not equal to itself


def test_a_record_is_in_the_file_as_soon_as_it_is_added(tmp_path: Path) -> None:
    with opened(tmp_path / "j") as journal:
        assert (tmp_path / "j").read_bytes() == b""
        journal.add(fit())
        lines = (tmp_path / "j").read_bytes().splitlines(keepends=True)
        assert [line[-2:] for line in lines] == [b"}\n", b"}\n"]
        assert b'"5": null' in lines[1]


@settings(max_examples=40, deadline=None)
@given(cut=st.integers(0, 600))
def test_whatever_is_cut_off_the_lines_before_are_kept(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("cut") / "j"
    every = [fit(start=start) for start in range(3)]
    with opened(path) as journal:
        for one in every:
            journal.add(one)
    whole = path.read_bytes()
    path.write_bytes(whole[: max(len(whole) - cut, 0)])
    kept = max(path.read_bytes().count(b"\n") - 1, 0)
    with opened(path) as journal:
        assert list(journal.records) == [one.key for one in every[:kept]]
        for one in every[kept:]:
            journal.add(one)
    assert path.read_bytes() == whole


def test_the_last_record_of_a_job_counts(tmp_path: Path) -> None:
    with opened(tmp_path / "j") as journal:
        journal.add(fit(ndcg=0.1))
        journal.add(fit(ndcg=0.9))
    with opened(tmp_path / "j") as journal:
        assert [one.ndcg["0"] for one in journal.records.values()] == [0.9]


@pytest.mark.parametrize("line", [b"{}\n", b"nonsense\n", b"[1, 2]\n", b'{"model": 1}\n', b"\xff\n"])
def test_a_broken_line_in_the_middle_is_named_and_nothing_is_changed(tmp_path: Path, line: bytes) -> None:
    with opened(tmp_path / "j") as journal:
        journal.add(fit())
    whole = (tmp_path / "j").read_bytes()
    broken = whole + line + whole.splitlines(keepends=True)[1]
    (tmp_path / "j").write_bytes(broken)
    with (
        pytest.raises(ValueError, match=r"j, line 3: not what a run writes .*-o.*--restart"),
        opened(tmp_path / "j"),
    ):
        pass
    assert (tmp_path / "j").read_bytes() == broken


@pytest.mark.parametrize("first", [b"thesis\n", b"[]\n", b'"x"\n'])
def test_a_file_that_is_no_journal_is_refused(tmp_path: Path, first: bytes) -> None:
    (tmp_path / "j").write_bytes(first)
    with pytest.raises(ValueError, match="line 1: not what a run writes"), opened(tmp_path / "j"):
        pass
    assert (tmp_path / "j").read_bytes() == first


def test_a_journal_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "j").write_bytes(b'{"format": 2, "version": "1", "data": "abc", "new": 1}\n')
    with (
        pytest.raises(ValueError, match="format 2 there, 1 here; new 1 there, None here"),
        opened(tmp_path / "j"),
    ):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_two_runs_do_not_write_to_one_journal(tmp_path: Path) -> None:
    with opened(tmp_path / "j") as first:
        first.add(fit())
        with (
            pytest.raises(ValueError, match="being written by another run"),
            opened(tmp_path / "j", restart=True),
        ):
            pass
    with opened(tmp_path / "j") as again:
        assert len(again.records) == 1


def test_a_file_of_something_else_is_not_cut(tmp_path: Path) -> None:
    (tmp_path / "j").write_text("user,item")  # one line, without an end
    with pytest.raises(ValueError, match="line 1: not what a run writes"), opened(tmp_path / "j"):
        pass
    assert (tmp_path / "j").read_text() == "user,item"


def add(shared: int, *others: int) -> int:
    return sum(others, shared)


def crash(shared: object) -> None:
    os._exit(1)


def heard(shared: object) -> object:
    return signal.getsignal(signal.SIGINT)


def sleep(shared: object) -> None:
    time.sleep(60)


def memory_of_an_array(megabytes: int) -> int:
    before = reset_peak_memory()
    np.ones(megabytes * 2**17)
    return peak_memory() - before


def test_a_worker_calls_functions_with_what_they_share_and_survives_a_crash() -> None:
    with Worker(40) as worker:
        assert worker.call(add, 1, 1) == 42
        with pytest.raises(TypeError):
            worker.call(add, "x")
        with pytest.raises(BrokenProcessPool):
            worker.call(crash)
        assert worker.call(add, 2) == 42


@pytest.mark.skipif(sys.platform == "win32", reason="the peak is not known there")
def test_the_peak_of_memory_is_that_since_it_was_reset() -> None:
    with Worker(64) as worker:
        assert 60 * 2**20 < worker.call(memory_of_an_array) < 100 * 2**20


def test_an_interrupt_ends_a_worker_at_once_which_never_heard_of_it() -> None:
    before = active_children()
    with pytest.raises(KeyboardInterrupt), Worker(None) as worker:
        ignored = worker.call(heard)
        worker._submit(sleep)  # a fit that has long to go
        raise KeyboardInterrupt
    assert ignored == signal.SIG_IGN
    assert active_children() == before


@pytest.mark.skipif(sys.platform == "win32", reason="there signals cannot be put off")
def test_an_interrupt_while_a_process_is_started_comes_when_it_has_been(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Half of what starts a process would be an error there; and until it ignores Ctrl-C, it must not get it."""
    reached = []
    launch = ProcessPoolExecutor.submit

    def interrupted(pool: ProcessPoolExecutor, *asked: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        future = launch(pool, *asked)
        reached.append(signal.pthread_sigmask(signal.SIG_BLOCK, []))  # which the process has inherited
        return future

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in the background
    try:
        with pytest.raises(KeyboardInterrupt), Worker(1) as worker:
            monkeypatch.setattr(ProcessPoolExecutor, "submit", interrupted)
            worker.call(add)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert [signal.SIGINT in mask for mask in reached] == [True]
