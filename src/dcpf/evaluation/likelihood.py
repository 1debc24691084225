"""How probable a model finds the counts that it has not seen, and the zeros among them."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from dcpf.counts import Counts, Ids
from dcpf.evaluation.task import seen_by, stored_in, with_columns, with_ids, without
from dcpf.inference.posterior import log_likelihood_of_counts
from dcpf.kernels.threads import Threads

if TYPE_CHECKING:
    from dcpf.model import DCPF


@dataclass(frozen=True)
class Likelihood:
    """The log-likelihood of held-out pairs in nats: of all pairs of users with a test count, less the training pairs.

    `counts` is that of the counts themselves; elements can be compared by it, and so can the raw limit. The binary
    limit is improper as a law of counts, so that it is NaN there. `occurrence` is the log-likelihood of whether there
    is a count at all, by P(y > 0) = 1 - exp(-rate): the only one by which the binary limit can be compared.
    """

    users: int
    pairs: int
    entries: int  # pairs with a count
    counts: float
    occurrence: float
    notes: tuple[str, ...] = ()

    @property
    def counts_per_entry(self) -> float:
        """The log-likelihood of the counts, zeros included, over the number of pairs that have one."""
        return self.counts / self.entries

    @property
    def occurrence_per_entry(self) -> float:
        """The log-likelihood of who has what, whatever the count, over the number of pairs that have one."""
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
                f"occurrence {self.occurrence_per_entry:.4f} (whether there is any)",
                *(f"note: {note}" for note in self.notes),
            ]
        )


def log_likelihood(model: "DCPF", test: Any, *, history: Any = None) -> Likelihood:
    """The log-likelihood of held-out counts and of the zeros beside them, at a cost of O(entries x components).

    Of the users who have a test count, all pairs are judged but those of the training counts; one that has a test
    count as well is judged by that (`evaluate` leaves it out). The rate of a pair is its score. Each adds -rate,
    which is all there is for a zero: that is one product of sums over users and items, and a sum over what users
    have, less the pairs of the training counts. With `history`, users are known by that alone, as in `evaluate`.
    """
    users, matrix, before, notes = _held_out(model, test, history)
    if before is None:
        W = model.user_factors[model.users_.positions(users, "user")]
    else:
        W = model.transform(before.select(users=before.users.positions(users, "user")))
    have = seen_by(model, before, users, model.items_)
    if have is None:
        have = model._nothing_of(len(users))
        notes.append("the model has no training counts: their pairs count as if they had been held out")
    seen = without(have, stored_in(have, matrix))
    with Threads(model.n_jobs) as threads:
        rates, of_seen = model._rates(W, matrix, have, threads), model._rates(W, seen, have, threads)
        zeros = model._total_rate(W, have) - float(of_seen.sum())
        of_counts = np.nan
        if model.element_.limit != "binary":
            of_counts = float(log_likelihood_of_counts(matrix, rates, model.element_, threads).sum()) - zeros
    occurrence = float(np.log(-np.expm1(-rates)).sum() + rates.sum()) - zeros
    pairs = matrix.shape[0] * matrix.shape[1] - seen.nnz
    return Likelihood(len(users), pairs, matrix.nnz, of_counts, occurrence, tuple(notes))


def _held_out(model: "DCPF", test: Any, history: Any) -> tuple[Ids, sparse.csr_array, Counts | None, list[str]]:
    """The users who are known, their test counts in the model's columns, the history, and what was left out."""
    counts, before, notes = with_ids(model, test, history)
    known = model.users_ if before is None else before.users
    some = np.flatnonzero(np.diff(counts.matrix.indptr) > 0)
    there = some[known.find_all(counts.users)[some] >= 0]
    if len(there) == 0:
        first = counts.users[int(some[0])]
        raise ValueError(f"none of the {len(some):,} users of the test counts, such as {first!r}, is known")
    if len(there) < len(some):
        notes.append(f"{len(some) - len(there):,} of {len(some):,} users are unknown and were left out")
    matrix, unknown = with_columns(counts.matrix[there], counts.items, model.items_)
    if unknown:
        if unknown == matrix.nnz:
            raise ValueError(f"the model knows no item of the test counts, {counts.items[0]!r} for one")
        notes.append(f"test counts of items that the model does not know, left out: {unknown:,}")
        matrix = without(matrix, matrix.indices >= len(model.items_))[:, : len(model.items_)]
    return counts.users.take(there), matrix, before, notes
