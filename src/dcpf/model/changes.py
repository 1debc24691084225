"""New data without a whole fit: users and items that come, change or are forgotten, and batches of users."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcpf.counts import Counts, Id, Ids, Strings, count_matrix
from dcpf.elements import Element
from dcpf.inference.settings import FitSettings
from dcpf.kernels.threads import Threads
from dcpf.model.checks import has_ids
from dcpf.model.fitted import Facts, FittedModel, describe_data
from dcpf.model.users import aligned, counts_of
from dcpf.parts import NewRows, Part
from dcpf.parts.factors import Factors, merged

Positions = NDArray[np.int64]
Names = tuple[Strings | None, Positions]

_PASSES_OF_A_FIT = 20.0  # a fitted model has settled: new users move it as late batches do


def partial_fit_users(model: FittedModel, X: Any, users: Iterable[Id] | None, n_jobs: int | None) -> FittedModel:
    """See `FittedModel.partial_fit_users`."""
    counts = _rows_with_ids(model, X, users)
    ids, old, new = model.users.union(counts.users)
    with Threads(n_jobs) as threads:
        joining = NewRows(counts.matrix, new, old, len(ids), model.element, threads)
        parts = tuple(part.with_users(joining) for part in model.parts)
    history = model.history
    if history is not None:
        history = replace_rows(history, old, counts.matrix, new, len(ids))
    return replace(model, users=ids, parts=parts, history=history)


def partial_fit_items(model: FittedModel, X: Any, items: Iterable[Id] | None, n_jobs: int | None) -> FittedModel:
    """See `FittedModel.partial_fit_items`."""
    counts = _columns_with_ids(model, X, items)
    by_item = sparse.csr_array(counts.matrix.T)
    ids, old, new = model.items.union(counts.items)
    with Threads(n_jobs) as threads:
        joining = NewRows(by_item, new, old, len(ids), model.element, threads)
        parts = tuple(part.with_items(joining) for part in model.parts)
    history, names = model.history, model.names
    if history is not None:
        history = sparse.csr_array(replace_rows(sparse.csr_array(history.T), old, by_item, new, len(ids)).T)
    if names is not None or counts.names is not None:
        names = merge_names((names, old), (counts.names, new), len(ids))
    return replace(model, items=ids, names=names, parts=parts, history=history)


def forget_users(model: FittedModel, users: Iterable[Id]) -> FittedModel:
    """See `FittedModel.forget_users`."""
    gone = model.users.positions(users, "user")
    stay = np.setdiff1d(np.arange(len(model.users)), gone)
    if not len(stay):
        raise ValueError("these are all users of the model: nothing would be left of it")
    history = None if model.history is None else sparse.csr_array(model.history[stay])
    parts = tuple(part.take_users(stay) for part in model.parts)
    return replace(model, users=model.users.take(stay), parts=parts, history=history)


def learn_batch(
    model: FittedModel | None,
    X: Any,
    users: Iterable[Id] | None,
    total_users: int | None,
    settings: FitSettings,
    begin: "Start",
    n_jobs: int | None,
) -> FittedModel:
    """See `DCPF.partial_fit`: a step of stochastic VBEM from `model`, or from nothing."""
    from dcpf.inference import stochastic
    from dcpf.inference.data import Data, Rows

    counts = _with_users(model, Counts.of(X) if model is None or has_ids(X) else counts_of(model, X), X, users)
    joined = _Joined.of(counts) if model is None else _joined(model, counts)
    factors: Factors | None = None if model is None else model.part("factors")
    with Threads(n_jobs) as threads:
        if model is None or factors is None:
            stream = stochastic.begin(begin.element, begin.item_means(joined.batch))
        else:
            stream = _stream(model, factors, joined, settings, begin.rng, threads)
        data, rows = Data.from_matrix(joined.batch), Rows.from_matrix(joined.batch)
        entries = round(joined.whole.nnz * max(1.0, (total_users or 0) / len(joined.whole.users)))
        stream, W = stochastic.step(stream, data, rows, entries, settings, threads)
    if not np.isfinite(stream.bound):
        raise FloatingPointError(f"the bound is {stream.bound}; the model is as it was. Try dtype='float64'")
    if factors is not None:
        W = merged(factors.W, joined.old_users, W, joined.new_users, len(joined.whole.users))
    matrix, size = joined.whole.matrix, len(joined.whole.items)
    rates = (
        float(W.row_rate[np.diff(matrix.indptr) > 0].mean()),
        float(stream.H.row_rate[np.unique(matrix.indices)].mean()),
    )
    learned = Factors(W, stream.H, settings.shape_prior, rates, settings.learn_rates, (stream.totals, stream.passes))
    parts: tuple[Part, ...] = (learned,)
    weights: tuple[float, ...] = (1.0,)
    bounds = np.append([] if model is None else model.facts.bounds, stream.bound)
    if model is not None:  # other parts stay as they were learned
        weights, nothing = model.weights, sparse.csr_array((0, len(joined.whole.users)), dtype=np.int64)
        none = np.empty(0, dtype=np.int64)
        with Threads(1) as threads:
            new_items = NewRows(nothing, none, joined.old_items, size, stream.element, threads)
            places, old_places = joined.new_users, joined.old_users
            new_users = NewRows(joined.batch, places, old_places, matrix.shape[0], stream.element, threads)
            parts = tuple(
                learned if part is factors else part.with_items(new_items).with_users(new_users)
                for part in model.parts
            )
    facts = Facts(describe_data(matrix), begin.parameters, bounds)
    whole = joined.whole
    return FittedModel(stream.element, parts, weights, whole.users, whole.items, whole.names, matrix, facts)


@dataclass(frozen=True)
class Start:
    """Where the first batch begins."""

    element: Element
    n_components: int
    dtype: np.dtype[np.floating]
    rng: np.random.Generator
    parameters: dict[str, Any]

    def item_means(self, batch: sparse.csr_array) -> NDArray[np.floating]:
        """A random E[H]."""
        items = int(batch.shape[1])
        level = np.sqrt(batch.nnz / (batch.shape[0] * items * self.n_components))
        return np.asarray(level * self.rng.exponential(size=(items, self.n_components)), dtype=self.dtype)


def _stream(
    model: FittedModel, factors: Factors, joined: "_Joined", settings: FitSettings, rng: Any, threads: Threads
) -> Any:
    """What the model has learned so far, with room for new items."""
    from dcpf.inference.blocks import LocalBlocks
    from dcpf.inference.data import Data
    from dcpf.inference.gammas import GammaPosterior
    from dcpf.inference.stochastic import Stream
    from dcpf.inference.updates import update_factors

    H, items = factors.H, len(joined.whole.items)
    if factors.seen is not None:
        totals, passes = factors.seen
    else:  # one sweep tells what the element was learned from
        moments = update_factors(H, factors.shape_prior[1], threads)
        blocks = LocalBlocks(Data.from_matrix(counts_to_learn_from(model)), settings, threads)
        totals, passes = blocks.visit(factors.W, moments, model.element)[1].totals, _PASSES_OF_A_FIT
    stream = Stream(model.element, H, totals, passes, -np.inf)
    if items == len(H):
        return stream
    # A new item has what an item has on average, a little different in each component
    shape = (H.shape.mean(axis=0) * rng.exponential(size=(items, H.shape.shape[1]))).astype(H.shape.dtype)
    row_rate = np.full(items, factors.typical_rates[1])
    shape = np.maximum(shape, shape.dtype.type(factors.shape_prior[1]))
    shape[joined.old_items], row_rate[joined.old_items] = H.shape, H.row_rate
    return replace(stream, H=GammaPosterior(shape, row_rate, H.column_rate))


def counts_to_learn_from(model: FittedModel) -> sparse.csr_array:
    """The training counts, which must have been kept."""
    if model.history is None:
        raise ValueError("the model was saved without its training counts, and cannot learn more: fit it again")
    return model.history


@dataclass(frozen=True)
class _Joined:
    """A batch and all counts with it, and where the rows and columns of both stand among these."""

    whole: Counts
    batch: sparse.csr_array  # with the columns of all
    old_users: Positions
    new_users: Positions
    old_items: Positions

    @classmethod
    def of(cls, counts: Counts) -> Self:
        """The first batch is all there is."""
        nobody = np.empty(0, dtype=np.int64)
        return cls(counts, counts.matrix, nobody, np.arange(counts.shape[0]), nobody)


def _joined(model: FittedModel, counts: Counts) -> _Joined:
    """The counts of the model and these together, users and items by id."""
    items, old_items, new_items = model.items.union(counts.items)
    users, old_users, new_users = model.users.union(counts.users)
    batch = _columns_at(counts.matrix, new_items, len(items))
    before = _columns_at(counts_to_learn_from(model), old_items, len(items))
    matrix, names = replace_rows(before, old_users, batch, new_users, len(users)), None
    if counts.names is not None or model.names is not None:
        names = merge_names((model.names, old_items), (counts.names, new_items), len(items))
    return _Joined(Counts(matrix, users, items, names), batch, old_users, new_users, old_items)


def _with_users(model: FittedModel | None, counts: Counts, X: Any, users: Iterable[Id] | None) -> Counts:
    """The counts with the ids of their users."""
    if has_ids(X):
        _no_further_ids(users, "users")
        return counts
    if users is None:
        known = Ids.numbered(0) if model is None else model.users
        if known.are_strings:
            raise ValueError("X is a matrix and the users of the model have names: pass users=, the id of each row")
        first = int(np.max(np.asarray(known.values))) + 1 if len(known) else 0
        users = np.arange(first, first + counts.shape[0])
    return Counts.from_matrix(counts.matrix, users, counts.items)


def _rows_with_ids(model: FittedModel, X: Any, users: Iterable[Id] | None) -> Counts:
    """Counts of the users to learn, with the columns of the model."""
    if has_ids(X):
        _no_further_ids(users, "users")
        return counts_of(model, X)
    matrix = counts_of(model, X).matrix
    return Counts.from_matrix(matrix, _needed(users, "users", "row"), model.items, allow_empty=True)


def _columns_with_ids(model: FittedModel, X: Any, items: Iterable[Id] | None) -> Counts:
    """Counts of the items to learn, with the rows of the model."""
    if has_ids(X):
        _no_further_ids(items, "items")
        return aligned(model, Counts.of(X, allow_empty=True), axis=0)
    matrix = count_matrix(X, allow_empty=True)
    if matrix.shape[0] != len(model.users):
        raise ValueError(
            f"X has {matrix.shape[0]:,} rows, but the model has {len(model.users):,} users: give a row for each, or "
            "a table with ids"
        )
    return Counts.from_matrix(matrix, model.users, _needed(items, "items", "column"), allow_empty=True)


def _no_further_ids(ids: object, name: str) -> None:
    if ids is not None:
        raise ValueError(f"X brings its own ids, so {name} must be left out")


def _needed(ids: Iterable[Id] | None, name: str, what: str) -> Iterable[Id]:
    if ids is None:
        raise ValueError(f"X is a matrix: pass {name}=, the id of each {what}, to say whose counts these are")
    return ids


def replace_rows(
    old: sparse.csr_array, old_rows: Positions, new: sparse.csr_array, new_rows: Positions, rows: int
) -> sparse.csr_array:
    """Counts of both at their rows; where both have one, the new row replaces the old one."""
    source = np.full(rows, -1, dtype=np.int64)
    source[old_rows] = np.arange(old.shape[0])
    source[new_rows] = old.shape[0] + np.arange(new.shape[0])
    return sparse.csr_array(sparse.vstack([old, new], format="csr")[source])


def merge_names(old: Names, new: Names, rows: int) -> Strings:
    """Names of both at their rows; where both have one, the new name is taken."""
    both = [""] * rows
    for names, places in (old, new):
        for place, name in zip(places.tolist(), names or (), strict=names is not None):
            both[place] = name or both[place]
    return Strings.of(both)


def _columns_at(matrix: sparse.csr_array, places: Positions, columns: int) -> sparse.csr_array:
    """The same rows with columns at other places, ascending in each row as they were."""
    wide = sparse.csr_array((matrix.data, places[matrix.indices], matrix.indptr), shape=(matrix.shape[0], columns))
    wide.sort_indices()
    return wide
