"""The whole model in numpy: a fit as in the paper, and the rates and lists that follow with excitation.

The element is the logarithmic one, P(x) = p^x / (x L) with L = -log(1 - p), whose sums over n have closed forms.
Gamma distributions have a shape and a rate. Y is a dense matrix of counts, users x items.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, gammaln

Array = np.ndarray


class Gamma(NamedTuple):
    """Independent gamma distributions: q(W) or q(H), a row for each user or item and a column for each component."""

    shape: Array
    rate: Array

    @property
    def mean(self) -> Array:
        """E[w]."""
        return self.shape / self.rate

    @property
    def geometric_mean(self) -> Array:
        """exp(E[log w])."""
        return np.exp(digamma(self.shape)) / self.rate


class Sessions(NamedTuple):
    """q(N, C), the sessions behind the counts: the local step."""

    mean: Array  # E[n_ui], 0 where y_ui = 0
    rate: Array  # Lam_ui
    log_evidence: float  # sum of y theta + log Z_y(r) over all counts

    @classmethod
    def behind(cls, Y: Array, p: float, eW: Array, eH: Array) -> "Sessions":
        """q(n) is proportional to r^n h(y, n) / n!, with r = Lam exp(-c) and c = log L."""
        Lam = eW @ eH.T
        r = Lam / -np.log1p(-p)
        log_Z = gammaln(Y + r) - gammaln(r) - gammaln(Y + 1)  # 0 where y = 0
        return cls(r * (digamma(Y + r) - digamma(r)), Lam, float(Y.sum() * np.log(p) + log_Z.sum()))


def fit(Y: Array, W: Array, H: Array, p: float = 0.5, alpha: float = 0.3, iterations: int = 10):
    """q(W), q(H), p and the bound after each iteration, from a start (E[W], E[H])."""
    K, bounds = W.shape[1], []
    eW, eH = W, H  # at the start E[w] stands for exp(E[log w]) too
    n = Sessions.behind(Y, p, eW, eH)
    for _ in range(iterations):
        # 1. activity bW, popularity bH, and the element
        bW = K * alpha / W.sum(axis=1, keepdims=True)
        bH = K * alpha / H.sum(axis=1, keepdims=True)
        p = element_with_mean(Y.sum() / n.mean.sum())
        # 2. and 3. q(W) and q(H), both from the last local step; only E[w] of the new q(W) enters q(H)
        q_W = Gamma(alpha + eW * (n.mean / n.rate @ eH), bW + H.sum(axis=0))
        q_H = Gamma(alpha + eH * ((n.mean / n.rate).T @ eW), bH + q_W.mean.sum(axis=0))
        # 4. q(N, C): last, since the bound holds at its optimum only
        W, H, eW, eH = q_W.mean, q_H.mean, q_W.geometric_mean, q_H.geometric_mean
        n = Sessions.behind(Y, p, eW, eH)
        # 5. the bound
        expected = W.sum(axis=0) @ H.sum(axis=0)
        bounds.append(n.log_evidence - expected - divergence(q_W, alpha, bW) - divergence(q_H, alpha, bH))
    return q_W, q_H, p, bounds


def element_with_mean(mean: float) -> float:
    """The p with E[x] = p / ((1 - p) L) = sum y / sum E[n]."""
    return brentq(lambda p: p / ((1 - p) * -np.log1p(-p)) - mean, 1e-12, 1 - 1e-12, xtol=1e-15)


def divergence(q: Gamma, a: float, b: Array) -> float:
    """KL(q(W) || Gamma(a, b)), which is -E[log p(W)] - H[q(W)]."""
    terms = (q.shape - a) * digamma(q.shape) - gammaln(q.shape) + gammaln(a)
    return float((terms + a * np.log(q.rate / b) + (b - q.rate) * q.mean).sum())


def rates(Y: Array, W: Array, H: Array, S: Array, scale: float, share: float = 0.15) -> Array:
    """The expected sessions of each user with each item.

    Factors keep a share of what they expect, and excitation adds x_uj s_ji for each item j that the user has.
    """
    items = np.maximum((Y > 0).sum(axis=1, keepdims=True), 1)
    X = np.log1p(Y) / (scale * np.sqrt(items))
    return share * W @ H.T + X @ S


def recommend(Y: Array, rates: Array, n: int) -> list[Array]:
    """The n items with the highest rates for each user, without those that the user has."""
    order = np.argsort(np.where(Y > 0, -1.0, rates), axis=1)[:, ::-1]
    return [row[Y[u, row] == 0][:n] for u, row in enumerate(order)]
