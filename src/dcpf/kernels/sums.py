"""Cumulants of a distribution on the integers from the logarithms of its unnormalised terms."""

import math

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.elementary import fast_exp
from dcpf.kernels.jit import step, summing_step

Floats = NDArray[np.float64]

NEGLIGIBLE = 42.0  # a term smaller than the largest by this exponent adds nothing to a float64


@step
def weights_of_terms(terms: Floats, weights: Floats) -> tuple[float, float]:
    """Weights = exp(terms - peak), not normalised; returns (peak, log of their sum)."""
    peak = terms[0]
    for s in range(1, len(terms)):
        peak = max(peak, terms[s])
    for s in range(len(terms)):
        weights[s] = fast_exp(terms[s] - peak)
    total = 0.0
    for s in range(len(terms)):
        total += weights[s]
    return peak, math.log(total)


@summing_step
def moments(weights: Floats, n: Floats, total: float) -> tuple[float, float, float]:
    """The mean of n, and its second and third central moment, with weights that sum to `total`."""
    mean, m2, m3 = 0.0, 0.0, 0.0
    for i in range(len(n)):
        mean += weights[i] * n[i]
    mean /= total
    for i in range(len(n)):
        d = n[i] - mean
        m2 += weights[i] * d * d
        m3 += weights[i] * d * d * d
    return mean, m2 / total, m3 / total


@summing_step
def joint_moments(
    weights: Floats, n: Floats, mean: float, m: Floats, total: float
) -> tuple[float, float, float, float]:
    """The mean of m, and the central moments (m, n), (m, n, n) and (m, n, n, n), where n has this mean."""
    m_mean, c1, c2, c3 = 0.0, 0.0, 0.0, 0.0
    for i in range(len(n)):
        m_mean += weights[i] * m[i]
    m_mean /= total
    for i in range(len(n)):
        d = n[i] - mean
        e = weights[i] * (m[i] - m_mean) * d
        c1 += e
        c2 += e * d
        c3 += e * d * d
    return m_mean, c1 / total, c2 / total, c3 / total
