"""How many sessions stand behind counts, and the factors of new users."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.kernels.threads import Threads
from dcpf.model.checks import has_ids
from dcpf.model.fitted import FittedModel
from dcpf.model.users import ask_for_rows, counts_of, known_history
from dcpf.parts import Met, UserBatch

Floats = NDArray[np.floating]
Doubles = NDArray[np.float64]

_FEW = 4096  # counts that numpy reads, without tables
_MANY = 2_000_000  # counts; of more, some are enough for a mean of three digits


def sessions(model: FittedModel, X: Any, n_jobs: int | None) -> sparse.csr_array:
    """See `FittedModel.sessions`."""
    matrix = training_counts(model) if X is None else _known_users(model, X)
    rows = np.arange(len(model.users))
    with Threads(n_jobs) as threads:
        met = model.meet(UserBatch(rows, np.zeros(len(rows), dtype=bool), matrix), threads)
        mean = read_counts(model, met, matrix, threads)
    return sparse.csr_array((mean, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)


def sessions_per_count(model: FittedModel, n_jobs: int | None) -> float:
    """The mean sessions behind a training count; of many counts, by those of evenly spaced users."""
    matrix, users = training_counts(model), len(model.users)
    wanted = users if matrix.nnz <= _MANY else max(1, users * _MANY // matrix.nnz)
    asked = ask_for_rows(model, np.unique(np.linspace(0, users - 1, wanted).astype(np.int64)))
    with Threads(n_jobs) as threads:
        counts = known_history(model, asked.batch)
        return float(read_counts(model, model.meet(asked.batch, threads), counts, threads).mean())


def read_counts(model: FittedModel, met: Sequence[Met], counts: sparse.csr_array, threads: Threads) -> Doubles:
    """E[n] behind the counts of the users whom the parts have met."""
    rates = model.session_rates(met).at(counts, threads)
    if counts.nnz <= _FEW:
        return model.element.expected_sessions(counts.data, rates)
    from dcpf.inference.data import CountRows
    from dcpf.inference.posterior import sessions_at

    return sessions_at(CountRows.from_matrix(counts), rates, model.element, threads)


def transform(model: FittedModel, X: Any, n_jobs: int | None) -> Floats:
    """See `FittedModel.transform`."""
    with Threads(n_jobs) as threads:
        found: Floats = model.part("factors").fold_in(counts_of(model, X).matrix, model.element, threads).mean
        return found


def training_counts(model: FittedModel) -> sparse.csr_array:
    """The counts of the fit, which must have been kept."""
    if model.history is None:
        raise ValueError("the model was saved without its training counts: pass counts to ask about")
    return model.history


def _known_users(model: FittedModel, X: Any) -> sparse.csr_array:
    """Counts with the rows and columns of the model."""
    counts, n_users = counts_of(model, X), len(model.users)
    if has_ids(X):
        places = model.users.positions(counts.users, "user")
        entries = counts.matrix.tocoo()
        found = sparse.csr_array((entries.data, (places[entries.row], entries.col)), (n_users, len(model.items)))
        found.sort_indices()
        return found
    if counts.shape[0] != n_users:
        raise ValueError(
            f"sessions() is about the {n_users:,} users of the fit, found {counts.shape[0]:,} rows; "
            "give a row for each of them, empty where there is nothing to ask"
        )
    return counts.matrix
