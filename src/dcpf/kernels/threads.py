"""Kernels over ranges of rows, run by threads. The result of a row never depends on the thread."""

import contextlib
import itertools
import math
import numbers
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

# Each piece is this part of a thread's share of the remaining work: pieces shrink, so that threads finish together.
# The last one is a small part of a share, yet large enough that handing it out costs next to nothing.
_PART, _LAST = 0.5, 1.0 / 64.0
_MOST = 64  # threads, unless there are more cores


def thread_count(n_jobs: Any) -> int:
    """The number of threads for `n_jobs`: None and -1 mean all cores, -2 all but one, and so on."""
    if n_jobs is None:
        return _cores()
    if not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must not be 0: None or -1 uses all cores, n uses n; found {n_jobs!r}")
    if n_jobs < 0:
        return max(1, _cores() + 1 + int(n_jobs))
    return int(n_jobs) if n_jobs <= _MOST else min(int(n_jobs), max(_MOST, _cores()))


def _cores() -> int:
    import joblib  # slow to import, and one thread needs no count

    return int(joblib.cpu_count())


class Threads:
    """A pool of threads that runs kernels `kernel(start, stop, *arguments)` over ranges of rows."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.count = thread_count(n_jobs)
        self._pool = ThreadPoolExecutor(self.count - 1) if self.count > 1 else None
        pieces = math.ceil(math.log(_LAST / self.count) / math.log(1.0 - _PART / self.count))
        self._ends = 1.0 - (1.0 - _PART / self.count) ** np.arange(1, pieces)  # of pieces but the last, of all work

    def run(self, kernel: Callable[..., None], work: NDArray[Any] | int, *arguments: Any) -> None:
        """Run `kernel` over the rows 0 .. len(work) - 2, where row i costs work[i + 1] - work[i].

        A number of rows instead of `work` means that all rows cost the same.
        """
        rows = work if isinstance(work, int) else len(work) - 1
        if self._pool is None:
            kernel(0, rows, *arguments)
            return
        if isinstance(work, int):
            inner = (self._ends * work).astype(np.int64)
        else:
            inner = np.searchsorted(work, work[0] + self._ends * (work[-1] - work[0]))
        cuts = sorted({0, *inner.tolist(), rows})
        pieces = iter(list(itertools.pairwise(cuts)))  # next() on it is atomic

        def take_pieces() -> None:
            for start, stop in pieces:
                kernel(start, stop, *arguments)

        others = [self._pool.submit(take_pieces) for _ in range(self.count - 1)]
        take_pieces()
        for other in others:
            other.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()


_blas_lock = threading.Lock()
_blas_users = 0
_blas_limits: Any = None


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread while any thread of the process is in such a block."""
    global _blas_users, _blas_limits
    with _blas_lock:
        _blas_users += 1
        if _blas_users == 1:
            from threadpoolctl import threadpool_limits

            _blas_limits = threadpool_limits(1, user_api="blas")
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                _blas_limits.restore_original_limits()
