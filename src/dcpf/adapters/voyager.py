"""The items of a model in an approximate index, by the package voyager: for more items than can be looked through."""

import os
from typing import Any, Self

import numpy as np
import voyager
from numpy.typing import NDArray
from scipy import sparse

from dcpf.kernels.threads import Threads
from dcpf.model import DCPF
from dcpf.model.asking import is_one
from dcpf.model.fitted import check_whole
from dcpf.ranking.lists import Recommendations
from dcpf.ranking.top import Ranked, best_of

_SEED = 1
_COMPARED = 100  # vectors by which an index is known to be of this model


class ItemIndex:
    """An index of `model.item_factors`, in which those with the largest products with a user's factors are near.

    `recommend` takes candidates from the index, and ranks these by their exact scores. What the index misses is not
    in the list: `recall` tells how much that is. It is an index of factors. Of a model with n_neighbors=0 they are
    the whole score. Of others they are the smaller part of it, and the index does not know what an item that the user
    has brings along: many more candidates are needed for the same recall.

    Exact lists are fast up to about a million items. An index is for more, or for a service in another language that
    reads the file of `save`: item j in it is row j of `model.item_factors`.

    Parameters
    ----------
    model : DCPF
        A fitted model.
    connections : int
        How many others an item is linked to. More of them take memory, and find more.
    effort : int
        How many items are looked at to link one.
    """

    def __init__(self, model: DCPF, *, connections: int = 16, effort: int = 200) -> None:
        check_whole(connections=connections, effort=effort)
        factors = _single(model.item_factors)
        self.model = model
        self.index = voyager.Index(
            voyager.Space.InnerProduct,
            num_dimensions=factors.shape[1],
            M=connections,
            ef_construction=effort,
            random_seed=_SEED,
            max_elements=len(factors),
        )
        # Without ids, threads number the vectors in the order in which they come by: now and then two change places
        self.index.add_items(factors, ids=np.arange(len(factors)), num_threads=model.n_jobs or -1)

    def recommend(
        self,
        users: Any = None,
        n: int = 10,
        *,
        candidates: int | None = None,
        history: Any = None,
        exclude_seen: bool = True,
    ) -> Recommendations:
        """The best of some candidates for each user, by their exact scores.

        Parameters
        ----------
        users, n, history, exclude_seen
            As for `DCPF.recommend`.
        candidates : int or None
            How many are taken from the index, beside those that the user has; None is 2 n.
        """
        check_whole(n=n)
        wanted = 2 * n if candidates is None else candidates
        check_whole(candidates=wanted, least=n)
        model = self.model
        asked = model._asked(users, history)
        seen = model._seen(asked)
        pairs = self._candidates(asked.mean, wanted, seen if exclude_seen else None)
        with Threads(model.n_jobs) as threads:
            scores = model._rates(asked.mean, pairs, seen, threads)
        lists = [
            (pairs.indices[start:stop].astype(np.int64), scores[start:stop])
            for start, stop in zip(pairs.indptr[:-1], pairs.indptr[1:], strict=True)
        ]
        return Recommendations(asked.ids, model._catalogue, best_of(lists, n), is_one(users), model.element_)

    def _candidates(
        self, W: NDArray[np.floating], wanted: int, left_out: sparse.csr_array | None
    ) -> sparse.csr_array:
        """Ones at so many items near each user, and at no item that is left out."""
        most = 0 if left_out is None else int(np.diff(left_out.indptr).max(initial=0))
        items = len(self.index)
        near = min(wanted + most, items)
        found, _ = self.index.query(_single(W), near, query_ef=max(near, 2 * wanted))
        rows, places = np.repeat(np.arange(len(W)), near), found.astype(np.int32).ravel()
        shape = (len(W), items)
        pairs = sparse.csr_array((np.ones(len(rows), dtype=np.int8), (rows, places)), shape=shape)
        if left_out is not None:
            pairs = pairs - pairs.multiply(left_out > 0)
            pairs.eliminate_zeros()
        return sparse.csr_array(pairs).sorted_indices()

    def recall(self, n: int = 100, *, candidates: int | None = None, users: Any = None) -> float:
        """The part of the exact lists of n that `recommend` finds, by all users or by these."""
        exact, found = self.model.recommend(users, n), self.recommend(users, n, candidates=candidates)
        return _shared(exact.ranked, found.ranked) / max(len(exact.ranked.columns), 1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file. The ids of the items, and all else, are in that of the model."""
        self.index.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: DCPF) -> Self:
        """Read an index, and refuse one that is not of this model."""
        read = cls.__new__(cls)
        read.model, read.index = model, voyager.Index.load(os.fspath(path))
        factors = _single(model.item_factors)
        rows = np.linspace(0, len(factors) - 1, min(_COMPARED, len(factors))).astype(np.int64)
        fits = (len(read.index), read.index.num_dimensions) == factors.shape
        if not fits or not np.array_equal(read.index.get_vectors(rows), factors[rows]):
            raise ValueError(f"{os.fspath(path)} is the index of another model; make it anew with ItemIndex(model)")
        return read


def _single(factors: NDArray[np.floating]) -> NDArray[np.float32]:
    return np.ascontiguousarray(factors, dtype=np.float32)


def _shared(first: Ranked, second: Ranked) -> int:
    """How many places two sets of lists have in common."""
    codes = [np.repeat(np.arange(len(r.indptr) - 1), np.diff(r.indptr)) * 2**32 + r.columns for r in (first, second)]
    return len(np.intersect1d(codes[0], codes[1], assume_unique=True))
