"""Cumulants of a distribution on the integers from the logarithms of its unnormalised terms."""

import math

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.compile import step
from dcpf.kernels.special import fast_exp

Floats = NDArray[np.float64]

NEGLIGIBLE = 42.0  # a term smaller than the largest by this exponent adds nothing to a float64


@step
def cumulants_of_terms(
    terms: Floats, n: Floats, m: Floats, weights: Floats
) -> tuple[float, float, float, float, float, float, float, float]:
    """(log of the sum of exp(terms); mean, variance and third central moment of n; mean of m; its joint moments).

    The joint moments are the central moments (m, n), (m, n, n) and (m, n, n, n). `weights` is scratch.
    """
    peak = terms[0]
    for i in range(1, len(terms)):
        peak = max(peak, terms[i])
    for i in range(len(terms)):
        weights[i] = fast_exp(terms[i] - peak)
    total, mean, m_mean = 0.0, 0.0, 0.0
    for i in range(len(terms)):
        total += weights[i]
        mean += weights[i] * n[i]
        m_mean += weights[i] * m[i]
    mean, m_mean = mean / total, m_mean / total
    second, third, c1, c2, c3 = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(terms)):
        d = n[i] - mean
        w, e = weights[i] * d * d, weights[i] * (m[i] - m_mean) * d
        second += w
        third += w * d
        c1 += e
        c2 += e * d
        c3 += e * d * d
    log_total = peak + math.log(total)
    return log_total, mean, second / total, third / total, m_mean, c1 / total, c2 / total, c3 / total
