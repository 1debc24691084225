"""Bayesian personalized ranking as the package implicit does it."""

from typing import ClassVar

from scipy import sparse

from dcpf.baselines.factors import Factors, for_implicit, imported
from dcpf.baselines.weighting import check_number, weighted
from dcpf.model.fitted import check_whole


class ImplicitBPR(Factors):
    """Factors by which a user's items outrank others, of Rendle et al. (2009), by the package implicit.

    How often a user has an item does not count. It runs in one thread: with more of them, implicit's result is
    another one each time.

    Parameters
    ----------
    factors : int
        How many factors.
    learning_rate : float
        The size of a step.
    regularization : float
        The penalty on the squares of the factors.
    iterations : int
        In each, as many pairs are drawn as there are entries.
    random_state : int
        The seed of the random start and of the draws.
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
        X = for_implicit(weighted(counts, "binary"))
        model = imported("implicit.cpu.bpr", "pip install 'dcpf[baselines]'").BayesianPersonalizedRanking(
            factors=self.factors,
            learning_rate=self.learning_rate,
            regularization=self.regularization,
            iterations=self.iterations,
            num_threads=1,
            random_state=self.random_state,
        )
        model.fit(X, show_progress=False)
        self.user_factors_, self.item_factors_ = model.user_factors, model.item_factors
