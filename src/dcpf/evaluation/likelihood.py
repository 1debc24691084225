"""The likelihood of held-out counts, zeros included."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from dcpf.counts import Counts, Ids
from dcpf.evaluation.task import seen_by, stored_in, with_ids, with_known_columns, without
from dcpf.inference.posterior import log_likelihood_of_counts
from dcpf.kernels.threads import Threads
from dcpf.model import DCPF, FittedModel
from dcpf.model.fitted import fitted_of
from dcpf.parts import UserBatch


@dataclass(frozen=True)
class Likelihood:
    """The log-likelihood in nats of held-out pairs: all pairs of the users with a test count, except training pairs.

    `counts` is the log-likelihood of the counts; compare elements, and the raw limit, by it. It is NaN for the binary
    limit, which is improper as a law of counts. `occurrence` is the log-likelihood of whether there is a count, with
    P(y > 0) = 1 - exp(-rate): compare the binary limit by it.
    """

    users: int
    pairs: int
    entries: int  # pairs with a count
    counts: float
    occurrence: float
    notes: tuple[str, ...] = ()

    @property
    def counts_per_entry(self) -> float:
        """The log-likelihood of the counts, zeros included, divided by the number of pairs with a count."""
        return self.counts / self.entries

    @property
    def occurrence_per_entry(self) -> float:
        """The log-likelihood of occurrence, zeros included, divided by the number of pairs with a count."""
        return self.occurrence / self.entries

    def to_dict(self) -> dict[str, Any]:
        """The same as plain numbers, strings, lists and dicts."""
        per_entry = {"counts_per_entry": self.counts_per_entry, "occurrence_per_entry": self.occurrence_per_entry}
        return asdict(self) | per_entry | {"notes": list(self.notes)}

    def __str__(self) -> str:
        improper = " (the binary limit is improper as a law of counts)" if np.isnan(self.counts) else ""
        return "\n".join(
            [
                f"Held-out log-likelihood of {self.pairs:,} pairs, {self.entries:,} with a count; in nats per count:",
                f"counts     {self.counts_per_entry:.4f}{improper}",
                f"occurrence {self.occurrence_per_entry:.4f} (whether there is a count)",
                *(f"note: {note}" for note in self.notes),
            ]
        )


def log_likelihood(
    model: DCPF | FittedModel, test: Any, *, history: Any = None, n_jobs: int | None = None
) -> Likelihood:
    """The log-likelihood of held-out counts and of the zeros beside them, in O(entries x components).

    It covers all pairs of the users with a test count, except those with a training count only; a pair with both is
    judged by its test count (`evaluate` leaves such pairs out). A zero contributes -rate, so all zeros together need
    only the sum of all rates, less the rates of the training pairs. With `history`, users are known by that alone, as
    in `evaluate`.
    """
    fitted = fitted_of(model)
    asked = DCPF.from_fitted(fitted)
    users, matrix, before, notes = _held_out(asked, test, history)
    rows = fitted.users.find_all(users) if before is None else np.full(len(users), -1, dtype=np.int64)
    have = seen_by(asked, before, users, fitted.items)
    batch = UserBatch(rows, rows < 0, have)
    if have is None:
        have = sparse.csr_array((len(users), len(fitted.items)), dtype=np.int64)
        notes.append("the model has no training counts: their pairs count as if they had been held out")
    seen = without(have, stored_in(have, matrix))
    with Threads(n_jobs) as threads:
        everything = fitted.rates(fitted.meet(batch, threads))
        rates, of_seen = everything.at(matrix, threads), everything.at(seen, threads)
        zeros = float(everything.by_user().sum()) - float(of_seen.sum())
        of_counts = np.nan
        if fitted.element.limit != "binary":
            of_counts = float(log_likelihood_of_counts(matrix, rates, fitted.element, threads).sum()) - zeros
    occurrence = float(np.log(-np.expm1(-rates)).sum() + rates.sum()) - zeros
    pairs = matrix.shape[0] * matrix.shape[1] - seen.nnz
    return Likelihood(len(users), pairs, matrix.nnz, of_counts, occurrence, tuple(notes))


def _held_out(model: DCPF, test: Any, history: Any) -> tuple[Ids, sparse.csr_array, Counts | None, list[str]]:
    """The known users, their test counts in the columns of the model, the history, and notes on what was left out."""
    counts, before, notes = with_ids(model, test, history)
    known = model.users_ if before is None else before.users
    some = np.flatnonzero(np.diff(counts.matrix.indptr) > 0)
    there = some[known.find_all(counts.users)[some] >= 0]
    if len(there) == 0:
        first = counts.users[int(some[0])]
        raise ValueError(f"none of the {len(some):,} users of the test counts, such as {first!r}, is known")
    if len(there) < len(some):
        notes.append(f"{len(some) - len(there):,} of {len(some):,} users are unknown and were left out")
    matrix, unknown = with_known_columns(counts.matrix[there], counts.items, model.items_)
    if not matrix.nnz:
        raise ValueError(f"the model knows no item of the test counts, {counts.items[0]!r} for one")
    if unknown:
        notes.append(f"test counts of items that the model does not know, left out: {unknown:,}")
    return counts.users.take(there), matrix, before, notes
