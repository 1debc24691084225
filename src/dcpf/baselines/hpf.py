"""Hierarchical Poisson factorization as the package hpfrec does it."""

from typing import Any

import numpy as np
from scipy import sparse

from dcpf.baselines.base import Floats
from dcpf.baselines.factors import Factors, imported
from dcpf.baselines.weighting import check_number
from dcpf.model.fitted import check_whole

_WAY_OUT = "pip install hpfrec, which needs a C compiler"


class HPF(Factors):
    """Hierarchical Poisson factorization of Gopalan, Hofman and Blei (2015) on raw counts, by the package hpfrec.

    Parameters
    ----------
    factors : int
        How many factors.
    shape_prior : float
        Shape of the gamma priors of the factors (hpfrec's a and c); less than 1 makes factors sparse.
    max_iter : int
        How many iterations; all of them are done.
    random_state : int
        The seed of the random start, at least 0. hpfrec is given one more: for it, 0 is no seed.
    """

    def __init__(
        self, factors: int = 50, shape_prior: float = 0.3, max_iter: int = 100, random_state: int = 0
    ) -> None:
        self.factors = factors
        self.shape_prior = shape_prior
        self.max_iter = max_iter
        self.random_state = random_state

    model_: Any  # hpfrec's

    def _learn(self, counts: sparse.csr_array) -> None:
        check_whole(factors=self.factors, max_iter=self.max_iter)
        check_number(shape_prior=self.shape_prior, above=0.0)
        seed = self._seed()
        model = imported("hpfrec", _WAY_OUT).HPF(
            k=int(self.factors),
            a=float(self.shape_prior),
            c=float(self.shape_prior),
            maxiter=int(self.max_iter),
            stop_crit="maxiter",
            check_every=None,
            random_seed=seed,
            reindex=False,
            keep_data=False,
            verbose=False,
        )
        model.fit(counts.tocoo())
        if not (np.isfinite(model.Theta).all() and np.isfinite(model.Beta).all()):
            raise ValueError(
                f"hpfrec ended with factors that are not numbers; try another random_state than {self.random_state}"
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
