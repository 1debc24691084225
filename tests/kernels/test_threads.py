"""Rows are shared out once each, whatever they cost and whoever computes them."""

import threading

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcpf.kernels.threads import Threads, thread_count


def visits(work, n_jobs):
    """How often each row is computed."""
    rows = np.zeros(len(work) - 1, dtype=int)
    lock = threading.Lock()

    def visit(start, stop, step):
        with lock:
            rows[start:stop] += step

    with Threads(n_jobs) as threads:
        threads.run(visit, np.asarray(work), 1)
    return rows


@pytest.mark.parametrize("n_jobs", [1, 2, 4, 33])
@settings(max_examples=40, deadline=None, derandomize=True)
@given(costs=st.lists(st.integers(0, 10**6), min_size=1, max_size=200))
def test_each_row_is_computed_once(n_jobs, costs):
    assert np.all(visits(np.concatenate([[0], np.cumsum(costs)]), n_jobs) == 1)


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_rows_that_cost_nothing_are_computed_too(n_jobs):
    assert np.all(visits(np.zeros(50, dtype=int), n_jobs) == 1)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rows_of_the_same_cost_are_given_by_their_number(n_jobs):
    done = np.zeros(1001, dtype=int)

    def count(start, stop, out):
        out[start:stop] += 1

    with Threads(n_jobs) as threads:
        threads.run(count, 1001, done)
        threads.run(count, 0, done)
    assert (done == 1).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_there_may_be_no_rows(n_jobs):
    assert len(visits([0], n_jobs)) == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_a_row_is_not_lost(n_jobs):
    def fail(start, stop):
        raise ArithmeticError(f"rows {start} to {stop}")

    with Threads(n_jobs) as threads, pytest.raises(ArithmeticError, match=r"rows \d to"):
        threads.run(fail, np.arange(9))


def test_one_thread_is_the_callers():
    seen = []
    with Threads(1) as threads:
        threads.run(lambda start, stop: seen.append(threading.get_ident()), np.arange(9))
    assert seen == [threading.get_ident()]


def test_work_is_shared_by_cost_not_by_rows():
    """One row as heavy as all others together is a piece of its own."""
    pieces = []
    with Threads(2) as threads:
        threads.run(lambda start, stop: pieces.append((start, stop)), np.array([0, *range(100, 200)]))
    assert min(pieces) == (0, 1)


def test_there_are_never_more_threads_than_help():
    assert thread_count(10**6) == max(64, joblib.cpu_count())


def test_a_thread_count_is_taken_as_it_is():
    assert [thread_count(n) for n in (1, 2, 64)] == [1, 2, 64]


def test_none_and_minus_one_are_all_cores():
    assert thread_count(None) == thread_count(-1) == joblib.cpu_count()


def test_negative_counts_leave_cores_free_but_never_all():
    assert thread_count(-2) == max(1, joblib.cpu_count() - 1)
    assert thread_count(-1000) == 1


def test_no_threads_at_all_is_an_error():
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        thread_count(0)


def test_the_pool_is_closed_with_the_block():
    with Threads(2) as threads:
        pass
    with pytest.raises(RuntimeError, match="after shutdown"):
        threads.run(lambda start, stop: None, np.arange(9))
