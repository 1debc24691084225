"""Who asks: users whom the model knows, users with a history of their own, or anybody."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Counts, Id, Ids, InvalidCounts, UnknownId, align, count_matrix
from dcpf.model.checks import has_ids, warn_caller
from dcpf.model.fitted import FittedModel
from dcpf.parts import UserBatch

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Asked:
    """The users of a question."""

    ids: Sequence[Id | None]  # as the history or the model spells them; None for a history without a name
    batch: UserBatch
    fresh: Ids | None = None  # users of the history that came with the question


def ask(model: FittedModel, users: Any, history: Any, *, popular: bool = False) -> Asked:
    """Look for users in the history first, then in the model. Anybody else is an error, or with `popular` average."""
    history = as_mapping(history)
    wanted = None if users is None else one_or_several(users, "users")
    fresh = None if history is None else _fresh(model, history, wanted)
    if wanted is None:
        wanted = list(model.users if fresh is None else fresh.users)
    nowhere = np.full(len(wanted), -1, dtype=np.int64)
    in_fresh = nowhere if fresh is None else fresh.users.find_all(wanted)
    in_model = nowhere if (in_fresh >= 0).all() else model.users.find_all(wanted)
    if fresh is not None and wanted and not (in_fresh >= 0).any():
        raise ValueError(
            f"the history has none of these users, such as {wanted[0]!r}: its users are such as {fresh.users[0]!r}; "
            "leave users out to ask for all of them"
        )
    lost = (in_fresh < 0) & (in_model < 0)
    if lost.any() and not popular:
        model.users.positions([wanted[j] for j in np.flatnonzero(lost)], "user")  # raises, naming the first
    ids: list[Id | None] = [
        model.users[m] if m >= 0 > f else fresh.users[f] if fresh is not None and f >= 0 else one
        for one, f, m in zip(wanted, in_fresh.tolist(), in_model.tolist(), strict=True)
    ]
    if users is None and isinstance(history, Mapping):
        ids = [None]
    rows = np.where(in_fresh >= 0, -1, in_model)
    given, histories = in_fresh >= 0, _histories(model, rows, fresh, in_fresh)
    brought = fresh.matrix[in_fresh[given]] if histories is None and fresh is not None else None
    batch = UserBatch(rows, given, histories, brought)
    return Asked(ids, batch, None if fresh is None else fresh.users)


def ask_for_rows(model: FittedModel, rows: Positions) -> Asked:
    """Users of the model by where they stand there."""
    return Asked(model.users.at(rows), UserBatch(rows, np.zeros(len(rows), dtype=bool), _histories(model, rows)))


def everyone(model: FittedModel) -> Asked:
    """All users of the model."""
    rows = np.arange(len(model.users))
    return Asked(list(model.users), UserBatch(rows, np.zeros(len(rows), dtype=bool), model.history))


def known_history(model: FittedModel, batch: UserBatch) -> sparse.csr_array:
    """What the users have, which must be known."""
    if batch.history is None:
        raise ValueError(no_history(model))
    return batch.history


def no_history(model: FittedModel) -> str:
    """What to say where a question needs what users have, and the model does not know it."""
    needs_it = model.item_side.S.shape[0] > 0  # X is made of what users have
    return (
        "the model was saved without its training counts, so it does not know what its users already have: pass "
        "these counts as history" + ("" if needs_it else ", or exclude_seen=False to allow items that they have")
    )


def counts_of(model: FittedModel, X: Any) -> Counts:
    """Counts of whatever users, with the columns of the model.

    A matrix must have a column for each item of the model. Where there are ids, items that the model does not know
    are left out, with a warning that says how many.
    """
    if not has_ids(X):
        matrix = count_matrix(X, allow_empty=True)
        if matrix.shape[1] != len(model.items):
            raise ValueError(
                f"X has {matrix.shape[1]} features, but DCPF is expecting {len(model.items)} features as input"
            )
        return Counts.from_matrix(matrix, items=model.items, allow_empty=True)
    return aligned(model, Counts.of(X, allow_empty=True), axis=1)


def aligned(model: FittedModel, counts: Counts, axis: int) -> Counts:
    """The same with the rows (axis 0) or columns (axis 1) of the model; unknown ones are left out with a warning."""
    found = align(counts, users=model.users) if axis == 0 else align(counts, items=model.items)
    for note in found.notes("the model"):
        first = counts.items[int(found.unknown_items[0])] if axis else None
        named = first is not None and id_of(model, first) in model.items
        warn_caller(f"{note}, which is a name: tables have ids, here {id_of(model, first)!r}" if named else note)
    return replace(found.counts, names=None) if axis == 1 else found.counts


def id_of(model: FittedModel, item: Any) -> Any:
    """The id of an item that is called by its name; anything else as it stands."""
    if item in model.items or model.names is None or not isinstance(item, str):
        return item
    try:
        return model.catalogue.find(item)
    except UnknownId:
        return item


def as_mapping(history: Any) -> Any:
    """A pandas Series of counts by item as a mapping; any other history as it is."""
    is_series = getattr(history, "ndim", 2) == 1 and hasattr(history, "to_dict")
    return history.to_dict() if is_series else history


def is_one(ids: object) -> bool:
    """Whether this is a single id, and not a list of them."""
    return isinstance(ids, str | int | np.integer)


def one_or_several(ids: Any, name: str) -> list[Any]:
    """The ids as a list."""
    if is_one(ids):
        return [ids.item() if isinstance(ids, np.generic) else ids]
    if isinstance(ids, bytes | Mapping) or not isinstance(ids, Iterable) or hasattr(ids, "columns"):
        raise TypeError(f"{name} must be an id (integer or string) or a list of ids, found {ids!r}")
    return [one.item() if isinstance(one, np.generic) else one for one in ids]


def _fresh(model: FittedModel, history: Any, wanted: list[Any] | None) -> Counts:
    """The counts of a history; a mapping is the history of one user."""
    if isinstance(history, Mapping):
        if wanted is not None and len(wanted) != 1:
            raise ValueError(
                f"a mapping is the history of one user, but {len(wanted):,} ask; "
                "give a table of users, items and counts"
            )
        return _of_one_user(model, history, 0 if wanted is None else wanted[0])
    words = history if isinstance(history, list) else [history]
    if words and all(isinstance(one, str | bytes) for one in words):
        raise TypeError(
            f"history must be a mapping of items to counts, a Counts, a table or a matrix, found {history!r}"
        )
    return counts_of(model, history)


def _of_one_user(model: FittedModel, history: Mapping[Any, Any], user: Id) -> Counts:
    """The counts of one user, given by item."""
    if not history:
        nothing = sparse.csr_array((1, len(model.items)), dtype=np.int64)
        return Counts.from_matrix(nothing, [user], model.items, allow_empty=True)
    items = [id_of(model, one) for one in history]
    try:
        counts = Counts.from_matrix([list(history.values())], [user], items, allow_empty=True)
    except (TypeError, ValueError) as error:
        raise _fault_of(history) or error from None
    return aligned(model, counts, axis=1)


def _fault_of(history: Mapping[Any, Any]) -> InvalidCounts | None:
    """The error that names the first item of a history whose count is none."""
    for item, count in history.items():
        try:
            count_matrix([[count]], allow_empty=True)
        except (TypeError, ValueError):
            return InvalidCounts(
                f"history: the count of item {item!r} is {count!r}; counts are whole numbers from 0 to 2^31-1"
            )
    return None


def _histories(
    model: FittedModel, rows: Positions, fresh: Counts | None = None, in_fresh: Positions | None = None
) -> sparse.csr_array | None:
    """What each user has: from the history where it has the user, else from the training counts."""
    given = np.zeros(len(rows), dtype=bool) if in_fresh is None else in_fresh >= 0
    known = rows >= 0
    if known.any() and model.history is None:
        return None
    if known.all() and model.history is not None:
        return rows_of(model.history, rows)
    if fresh is not None and in_fresh is not None and given.all():
        return rows_of(fresh.matrix, in_fresh)
    stacked, place = [sparse.csr_array((1, len(model.items)), dtype=np.int64)], np.zeros(len(rows), dtype=np.int64)
    for here, matrix, source in (
        (given, None if fresh is None else fresh.matrix, in_fresh),
        (known, model.history, rows),
    ):
        if here.any() and matrix is not None and source is not None:
            place[here] = sum(part.shape[0] for part in stacked) + np.arange(int(here.sum()))
            stacked.append(matrix[source[here]])
    return sparse.csr_array(sparse.vstack(stacked, format="csr")[place])


def rows_of(matrix: sparse.csr_array, rows: Positions) -> sparse.csr_array:
    """Equivalent to matrix[rows]. A single row is not copied."""
    if len(rows) != 1:
        return matrix[rows]
    begin, end = matrix.indptr[rows[0] : rows[0] + 2].tolist()
    part = (matrix.data[begin:end], matrix.indices[begin:end], np.array([0, end - begin], matrix.indptr.dtype))
    return sparse.csr_array(part, shape=(1, matrix.shape[1]))
