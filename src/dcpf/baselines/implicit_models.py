"""Matrix factorizations of the package implicit: alternating least squares, Bayesian personalized ranking."""

import importlib
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from dcpf.baselines.base import Baseline, Floats, Rows, Weighting, check_number, weighted
from dcpf.kernels.threads import one_blas_thread
from dcpf.model.checks import check_whole

_INSTALL = "pip install 'dcpf[baselines]'"


class FactorBaseline(Baseline):
    """A method whose scores are W H', with a row of W for each user and a row of H for each item."""

    user_factors_: Floats
    item_factors_: Floats

    def _scores(self, counts: sparse.csr_array, rows: Rows) -> Floats:
        W, new = self.user_factors_[rows], rows < 0
        if new.any():
            W[new] = self._new_factors(counts[new])
        scores: Floats = W @ self.item_factors_.T
        return scores

    def _new_factors(self, counts: sparse.csr_array) -> Floats:
        """Factors of users with new counts, for a method that folds in."""
        raise NotImplementedError


class ImplicitALS(FactorBaseline):
    """Weighted matrix factorization of Hu, Koren and Volinsky (2008), from the package implicit.

    Parameters
    ----------
    factors : int
        Number of factors.
    regularization : float
        Penalty on the squared factors.
    alpha : float
        Confidence of a seen pair, per unit of X; unseen pairs have confidence 1.
    iterations : int
        Rounds over all users and all items.
    weighting : "binary", "log", "raw" or callable
        Entries of X for a count y: 1, log(1 + y) or y; or a function that makes X of counts.
    random_state : int
        Seed of the random start.
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

    model_: Any  # implicit's own

    def _learn(self, counts: sparse.csr_array) -> None:
        check_whole(factors=self.factors, iterations=self.iterations)
        check_number(regularization=self.regularization)
        check_number(alpha=self.alpha, above=0.0)
        X = for_implicit(weighted(counts, self.weighting))
        als = optional_module("implicit.cpu.als", _INSTALL)
        parameters = {name: value for name, value in self.get_params().items() if name != "weighting"}
        with one_blas_thread():  # as implicit asks: its own threads call BLAS
            model = als.AlternatingLeastSquares(**parameters)
            model.fit(X, show_progress=False)
            assert model.YtY is not None  # computed now, before several threads need it
        model.num_threads = 1  # recommend() has threads of its own
        self.model_ = model
        self.user_factors_, self.item_factors_ = model.user_factors, model.item_factors

    def _new_factors(self, counts: sparse.csr_array) -> Floats:
        X = for_implicit(weighted(counts, self.weighting))
        factors: Floats = self.model_.recalculate_user(np.arange(X.shape[0]), X)
        return factors


class ImplicitBPR(FactorBaseline):
    """Bayesian personalized ranking of Rendle et al. (2009), from the package implicit.

    Counts are used as 0 or 1. It runs in one thread, since implicit's result is not reproducible in several.

    Parameters
    ----------
    factors : int
        Number of factors.
    learning_rate : float
        Step size.
    regularization : float
        Penalty on the squared factors.
    iterations : int
        Rounds; each draws as many pairs as there are entries.
    random_state : int
        Seed of the random start and of the draws.
    """

    folds_in: ClassVar[bool] = False

    def __init__(
        self,
        factors: int = 100,
        learning_rate: float = 0.01,
        regularization: float = 0.01,
        iterations: int = 100,
        random_state: int = 0,
    ) -> None:
        self.factors = factors
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.iterations = iterations
        self.random_state = random_state

    def _learn(self, counts: sparse.csr_array) -> None:
        check_whole(factors=self.factors, iterations=self.iterations)
        check_number(learning_rate=self.learning_rate, above=0.0)
        check_number(regularization=self.regularization)
        bpr = optional_module("implicit.cpu.bpr", _INSTALL)
        model = bpr.BayesianPersonalizedRanking(**self.get_params(), num_threads=1)
        model.fit(for_implicit(weighted(counts, "binary")), show_progress=False)
        self.user_factors_, self.item_factors_ = model.user_factors, model.item_factors


def optional_module(module: str, way_out: str) -> Any:
    """A module of an optional package; if the package is missing, the error says how to install it."""
    package = module.partition(".")[0]
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:  # it is installed, but something it needs is not
            raise
        raise ImportError(f"the package {package} is not installed: {way_out}", name=package) from error
    return importlib.import_module(module)


def for_implicit(weights: sparse.csr_array) -> sparse.csr_matrix:
    """The same as implicit needs it: a matrix, not an array, of float32 with 32-bit indices."""
    if weights.nnz >= 2**31:
        raise ValueError(f"implicit takes at most 2^31-1 entries, found {weights.nnz:,}; fit a part of them")
    parts = (weights.data.astype(np.float32), weights.indices.astype(np.int32), weights.indptr.astype(np.int32))
    return sparse.csr_matrix(parts, shape=weights.shape)
