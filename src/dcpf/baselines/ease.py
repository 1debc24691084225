"""EASE: an item-to-item linear model in closed form (Steck, Embarrassingly Shallow Autoencoders, 2019)."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lapack

from dcpf.baselines.base import Baseline, Floats, Rows, Weighting, check_number, weighted

_BLOCK = 256  # columns at a time


class TooManyItems(ValueError):  # noqa: N818 - the name says it
    """There are too many items for a method that needs memory for each pair of them."""


def memory_needed(items: int) -> int:
    """Bytes for a fit of EASE with this many items: the inverse in float64 and the weights in float32."""
    return (8 + 4) * items**2


class Ease(Baseline):
    """EASE: the B with B_jj = 0 for which X B is closest to X, with a penalty on the squares of B.

    B = I - P diag(1 / P_jj), where P = (X'X + regularization I)^-1. The score of item j is x . B_j.

    Parameters
    ----------
    regularization : float
        The penalty. With binary weighting it is on the scale of the number of users of an item.
    weighting : "binary", "log", "raw" or callable
        Entries of X for a count y: 1, log(1 + y) or y; or a function that makes X of counts.

    The inverse is computed in float64, since X'X of large raw counts is too ill-conditioned for float32. B is kept in
    float32.
    """

    MOST_ITEMS: ClassVar[int] = 20_000

    def __init__(self, regularization: float = 500.0, weighting: Weighting = "binary") -> None:
        self.regularization = regularization
        self.weighting = weighting

    weights_: NDArray[np.float32]  # B

    def _learn(self, counts: sparse.csr_array) -> None:
        check_number(regularization=self.regularization, above=0.0)
        items = int(counts.shape[1])
        X = weighted(counts, self.weighting)
        if items > self.MOST_ITEMS:
            raise TooManyItems(
                f"EASE needs a matrix of all pairs of items: {items:,} items would take "
                f"{memory_needed(items) / 2**30:,.1f} GiB, and the limit is {self.MOST_ITEMS:,} items "
                f"({memory_needed(self.MOST_ITEMS) / 2**30:,.1f} GiB); drop rare items "
                "(counts.filter(min_per_item=...)), use ItemKNN, or raise Ease.MOST_ITEMS"
            )
        self.weights_ = _weights(_inverse(_gram(X), float(self.regularization)))

    def _scores(self, counts: sparse.csr_array, rows: Rows) -> Floats:
        scores: Floats = weighted(counts, self.weighting, np.float32) @ self.weights_
        return scores


def _gram(X: sparse.csr_array) -> NDArray[np.float64]:
    """X'X as a dense matrix in Fortran order, computed block by block."""
    items = int(X.shape[1])
    transposed, by_item = X.T.tocsr(), X.tocsc()
    gram = np.empty((items, items), order="F")
    for start in range(0, items, _BLOCK):
        gram[:, start : start + _BLOCK] = (transposed @ by_item[:, start : start + _BLOCK]).toarray()
    return gram


def _inverse(gram: NDArray[np.float64], regularization: float) -> NDArray[np.float64]:
    """The lower triangle of (gram + regularization I)^-1, computed in place."""
    lapack_: Any = lapack  # which has no types
    gram[np.diag_indices_from(gram)] += regularization
    factor, failed = lapack_.dpotrf(gram, lower=1, clean=0, overwrite_a=1)
    if not failed:
        inverse, failed = lapack_.dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        raise ValueError(
            f"X'X + {regularization:g} I cannot be inverted in float64: the counts are too large; raise "
            "regularization, or use weighting='log' or 'binary'"
        )
    return np.asarray(inverse)


def _weights(P: NDArray[np.float64]) -> NDArray[np.float32]:
    """B = I - P diag(1 / P_jj) in float32, from the lower triangle of P."""
    items, scale = len(P), -1.0 / np.diag(P)
    B = np.empty((items, items), dtype=np.float32)
    for start in range(0, items, _BLOCK):
        stop = min(start + _BLOCK, items)
        square = np.tril(P[start:stop, start:stop])
        B[start:stop, start:stop] = (square + np.tril(square, -1).T) * scale[start:stop]
        B[stop:, start:stop] = P[stop:, start:stop] * scale[start:stop]
        B[start:stop, stop:] = P[stop:, start:stop].T * scale[stop:]
    np.fill_diagonal(B, 0.0)
    return B
