"""Item-based nearest neighbours: recommend the items most similar to those that a user has."""

import numpy as np
from scipy import sparse

from dcpf.baselines.base import Baseline, Floats, Rows, Weighting, best, check_number, weighted
from dcpf.model.checks import check_whole

_PAIRS = 2**22  # pairs of items compared at once


class ItemKNN(Baseline):
    """Rank items by their similarity to the items that the user has.

    The similarity of two items with columns x_i and x_j is the cosine with shrinkage,
    `x_i . x_j / (|x_i| |x_j| + shrinkage)`. Item j keeps its n_neighbors most similar items i. Its score for user u
    is the sum of x_ui s_ij over these.

    Parameters
    ----------
    n_neighbors : int
        Similar items to keep for each item.
    shrinkage : float
        Shrinks the similarities of items with few users towards 0.
    weighting : "binary", "log", "raw" or callable
        Entries of X for a count y: 1, log(1 + y) or y; or a function that makes X of counts.
    """

    def __init__(self, n_neighbors: int = 100, shrinkage: float = 10.0, weighting: Weighting = "binary") -> None:
        self.n_neighbors = n_neighbors
        self.shrinkage = shrinkage
        self.weighting = weighting

    similarity_: sparse.csr_array  # s_ij in row i, for each neighbour i of item j

    def _learn(self, counts: sparse.csr_array) -> None:
        check_whole(n_neighbors=self.n_neighbors)
        check_number(shrinkage=self.shrinkage)
        X = weighted(counts, self.weighting)
        self.similarity_ = _neighbours(X, self.n_neighbors, float(self.shrinkage))

    def _scores(self, counts: sparse.csr_array, rows: Rows) -> Floats:
        scores: Floats = (weighted(counts, self.weighting) @ self.similarity_).toarray()
        return scores


def _neighbours(X: sparse.csr_array, n: int, shrinkage: float) -> sparse.csr_array:
    """The n largest cosines in each column, without the diagonal, computed for a few columns at a time."""
    items = int(X.shape[1])
    transposed, by_item = X.T.tocsr(), X.tocsc()
    norms = np.sqrt(np.asarray(by_item.power(2).sum(axis=0)))
    neighbours, values, sizes = [], [], []
    width = max(1, _PAIRS // items)
    for start in range(0, items, width):
        products = (transposed @ by_item[:, start : start + width]).tocsc()  # which sorts each column, too
        for j in range(products.shape[1]):
            entries = slice(products.indptr[j], products.indptr[j + 1])
            others = products.indices[entries]
            cosines = products.data[entries] / (norms[others] * norms[start + j] + shrinkage)
            cosines[others == start + j] = 0.0
            chosen = best(cosines, n)
            chosen = chosen[cosines[chosen] > 0.0]
            neighbours.append(others[chosen])
            values.append(cosines[chosen])
            sizes.append(len(chosen))
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    columns = sparse.csc_array((np.concatenate(values), np.concatenate(neighbours), indptr), shape=(items, items))
    return columns.tocsr()
