"""Damaged files are read or refused, and nothing worse. `python -m tests.fuzzing` does the same for longer."""

import sys

import pytest
from tests.fuzzing.bombs import BOMBS
from tests.fuzzing.originals import KINDS
from tests.fuzzing.running import run
from tests.fuzzing.worker import TRAPS, input_of

linux = pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is limited and read as on Linux")

INPUTS = 200  # of each kind


@linux
def test_whatever_is_damaged_is_read_or_refused() -> None:
    told = list(run(0, 0, INPUTS * len(KINDS), list(KINDS)))
    assert [one for one in told if not one.is_good] == []
    outcomes = {(one.kind, one.outcome) for one in told}
    assert outcomes == {(kind, outcome) for kind in KINDS for outcome in ("read", "refused")}


@linux
def test_a_small_file_that_unpacks_to_a_lot_takes_little_memory() -> None:
    told = list(run(0, 0, len(BOMBS), list(BOMBS)))
    assert [one.kind for one in told] == list(BOMBS)
    assert [one for one in told if not one.is_good] == []


@linux
def test_a_crash_a_wait_and_greed_would_be_seen() -> None:
    kinds = ["csv", "crash", "csv", "wait", "csv", "greed", "csv", "exit", "csv"]
    told = list(run(0, 0, len(kinds), kinds, patience=3.0))
    assert [one.kind for one in told] == kinds
    assert {one.kind for one in told if not one.is_good} == set(TRAPS)
    outcomes = {one.kind: one.outcome for one in told}
    assert outcomes["crash"] == "the process ended with code -6"
    assert outcomes["wait"] == "no end after 3 seconds"
    assert outcomes["greed"].startswith("MemoryError")
    assert outcomes["exit"] == "SystemExit: gone"


@pytest.mark.parametrize("kind", KINDS)
def test_an_input_depends_on_its_seed_and_number_alone(kind: str) -> None:
    kinds = list(KINDS)
    number = kinds.index(kind) + 3 * len(kinds)
    assert input_of(1, number, kinds) == input_of(1, number, kinds)
    inputs = {input_of(seed, number, kinds)[1] for seed in range(20)}
    assert len(inputs) > 10
