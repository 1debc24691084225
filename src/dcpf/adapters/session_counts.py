"""Counts as expected sessions, for whatever method comes next."""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from dcpf.elements import Element
from dcpf.model import DCPF
from dcpf.model.transformer import CountTransformer


class SessionCounts(OneToOneFeatureMixin, CountTransformer):
    """Turn raw counts into the expected sessions behind them: a number between 1 and the count.

    A model of factors alone (`DCPF` with n_neighbors=0) learns from the counts what a repeat is worth. The zeros stay
    zeros, so the matrix keeps its pattern, and any method that takes weights can take these in the place of counts,
    of their logarithms, or of ones.

    Parameters
    ----------
    n_components : int
        K of the model.
    element : str or Element
        The law of a session, as for `DCPF`. "raw" would leave the counts as they are, and "binary" make them ones.
    max_iter : int
        At most so many iterations.
    n_jobs : int or None
        Threads; None is all cores.
    random_state : int, Generator, RandomState or None
        For the random start.

    Attributes
    ----------
    model_ : DCPF
        The fitted model; `model_.element_` is the law of a session.
    n_iter_ : int
        How many iterations were made.
    """

    def __init__(
        self,
        n_components: int = 50,
        element: str | Element = "shifted-nb",
        *,
        max_iter: int = 500,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.element = element
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn from counts: a users x items matrix, a `Counts`, or a table of triplets."""
        self.model_ = DCPF(**self.get_params(deep=False), n_neighbors=0).fit(X)
        self.n_features_in_, self.n_iter_ = self.model_.n_features_in_, self.model_.n_iter_
        return self

    def transform(self, X: Any) -> sparse.csr_array:
        """E[n] at each count of whatever users, who may be new; items are those of the fit.

        Each row is folded in by itself, so that users of the fit and others are treated alike.
        """
        check_is_fitted(self)
        counts = self.model_._new_users(X).matrix
        expected = self.model_._sessions(counts, self.model_._fold_in(counts)).astype(np.float64, copy=False)
        return sparse.csr_array((expected, counts.indices, counts.indptr), shape=counts.shape, copy=True)
