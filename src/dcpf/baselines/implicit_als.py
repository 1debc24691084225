"""Alternating least squares as the package implicit does it."""

from typing import Any

import numpy as np
from scipy import sparse

from dcpf.baselines.base import Floats
from dcpf.baselines.factors import Factors, for_implicit, imported
from dcpf.baselines.weighting import Weighting, check_number, weighted
from dcpf.kernels.threads import one_blas_thread
from dcpf.model.fitted import check_whole


class ImplicitALS(Factors):
    """Weighted matrix factorization of Hu, Koren and Volinsky (2008), by the package implicit.

    Parameters
    ----------
    factors : int
        How many factors.
    regularization : float
        The penalty on the squares of the factors.
    alpha : float
        The weight of a pair that was seen is alpha times what X has; all others have weight 1.
    iterations : int
        Of all users, then all items.
    weighting : "binary", "log", "raw" or callable
        What X has in place of a count y: 1, log(1 + y), or y; or a function that makes X of the counts of some
        users.
    random_state : int
        The seed of the random start.
    """

    def __init__(
        self,
        factors: int = 100,
        regularization: float = 0.01,
        alpha: float = 1.0,
        iterations: int = 15,
        weighting: Weighting = "binary",
        random_state: int = 0,
    ) -> None:
        self.factors = factors
        self.regularization = regularization
        self.alpha = alpha
        self.iterations = iterations
        self.weighting = weighting
        self.random_state = random_state

    model_: Any  # implicit's

    def _learn(self, counts: sparse.csr_array) -> None:
        check_whole(factors=self.factors, iterations=self.iterations)
        check_number(regularization=self.regularization)
        check_number(alpha=self.alpha, above=0.0)
        X = for_implicit(weighted(counts, self.weighting))
        als = imported("implicit.cpu.als", "pip install 'dcpf[baselines]'")
        with one_blas_thread():  # which implicit asks for: its own threads call BLAS
            model = als.AlternatingLeastSquares(
                factors=self.factors,
                regularization=self.regularization,
                alpha=self.alpha,
                iterations=self.iterations,
                random_state=self.random_state,
            )
            model.fit(X, show_progress=False)
            assert model.YtY is not None  # computed once, before threads ask for it
        model.num_threads = 1  # from now on the threads are ours
        self.model_ = model
        self.user_factors_, self.item_factors_ = model.user_factors, model.item_factors

    def _new_factors(self, counts: sparse.csr_array) -> Floats:
        X = for_implicit(weighted(counts, self.weighting))
        factors: Floats = self.model_.recalculate_user(np.arange(X.shape[0]), X)
        return factors
