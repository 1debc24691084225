"""Hierarchical Poisson factorization from the package hpfrec."""

from typing import Any

import numpy as np
from scipy import sparse

from dcpf.baselines.base import Floats, check_number
from dcpf.baselines.implicit_models import FactorBaseline, optional_module
from dcpf.model.checks import check_whole


class HPF(FactorBaseline):
    """Hierarchical Poisson factorization of raw counts (Gopalan, Hofman and Blei 2015), from the package hpfrec.

    Parameters
    ----------
    factors : int
        Number of factors.
    shape_prior : float
        Shape of the gamma priors (hpfrec's a and c); below 1 makes factors sparse.
    max_iter : int
        Iterations; all are done.
    random_state : int
        Seed of the random start, from 0. hpfrec gets one more, as it takes 0 for no seed.
    """

    def __init__(
        self, factors: int = 50, shape_prior: float = 0.3, max_iter: int = 100, random_state: int = 0
    ) -> None:
        self.factors = factors
        self.shape_prior = shape_prior
        self.max_iter = max_iter
        self.random_state = random_state

    model_: Any  # hpfrec's own

    def _learn(self, counts: sparse.csr_array) -> None:
        check_whole(factors=self.factors, max_iter=self.max_iter)
        check_number(shape_prior=self.shape_prior, above=0.0)
        seed, shape = self._seed(), float(self.shape_prior)
        hpfrec = optional_module("hpfrec", "pip install hpfrec, which needs a C compiler")
        model = hpfrec.HPF(
            k=int(self.factors), a=shape, c=shape, maxiter=int(self.max_iter), stop_crit="maxiter", check_every=None,
            random_seed=seed, reindex=False, keep_data=False, verbose=False,
        )  # fmt: skip
        model.fit(counts.tocoo())
        if not (np.isfinite(model.Theta).all() and np.isfinite(model.Beta).all()):
            raise ValueError(
                f"hpfrec returned factors that are not finite; try another random_state than {self.random_state}"
            )
        self.model_ = model
        self.user_factors_, self.item_factors_ = model.Theta, model.Beta

    def _seed(self) -> int:
        if not isinstance(self.random_state, int | np.integer) or not 0 <= self.random_state < 2**31 - 1:
            raise ValueError(f"random_state must be a whole number from 0 to 2^31-2, found {self.random_state!r}")
        return int(self.random_state) + 1

    def _new_factors(self, counts: sparse.csr_array) -> Floats:
        W = np.zeros((counts.shape[0], self.factors), dtype=self.user_factors_.dtype)
        for row in np.flatnonzero(np.diff(counts.indptr)):
            entries = slice(counts.indptr[row], counts.indptr[row + 1])
            pairs = np.column_stack([counts.indices[entries], counts.data[entries]])
            W[row] = self.model_.predict_factors(pairs, maxiter=self.max_iter, random_seed=self._seed())
        return W
