"""Peers that give factors of users and items, from packages that need not be there."""

import importlib
from typing import Any

import numpy as np
from scipy import sparse

from dcpf.baselines.base import Baseline, Floats, Rows


class Factors(Baseline):
    """A method whose scores are W H', with a row of W for each user and of H for each item."""

    user_factors_: Floats
    item_factors_: Floats

    def _scores(self, counts: sparse.csr_array, rows: Rows) -> Floats:
        W, new = self.user_factors_[rows], rows < 0
        if new.any():
            W[new] = self._new_factors(counts[new])
        scores: Floats = W @ self.item_factors_.T
        return scores

    def _new_factors(self, counts: sparse.csr_array) -> Floats:
        """Factors of users by fresh counts, for a method that folds in."""
        raise NotImplementedError


def imported(module: str, way_out: str) -> Any:
    """A module of an optional package; the error says the way out if it is not there."""
    package = module.partition(".")[0]
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:  # it is there, but lacks something itself
            raise
        raise ImportError(f"the package {package} is not installed: {way_out}", name=package) from error
    return importlib.import_module(module)


def for_implicit(weights: sparse.csr_array) -> sparse.csr_matrix:
    """The same as implicit takes it: a matrix, not an array, in float32 and with indices of 32 bits."""
    if weights.nnz >= 2**31:
        raise ValueError(f"implicit takes at most 2^31-1 entries, found {weights.nnz:,}; fit a part of them")
    parts = (weights.data.astype(np.float32), weights.indices.astype(np.int32), weights.indptr.astype(np.int32))
    return sparse.csr_matrix(parts, shape=weights.shape)
