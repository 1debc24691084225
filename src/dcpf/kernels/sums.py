"""Cumulants of a distribution on the integers from the logarithms of its unnormalised terms."""

import math

import numpy as np
from numpy.typing import NDArray

from dcpf.kernels.elementary import fast_exp
from dcpf.kernels.jit import kernel, summing_kernel

Floats = NDArray[np.float64]

NEGLIGIBLE = 42.0  # a term smaller than the largest by this exponent adds nothing to a float64


@kernel
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


@summing_kernel
def mean_of(weights: Floats, x: Floats, total: float) -> float:
    """Equivalent to (weights @ x) / total."""
    s = 0.0
    for i in range(len(x)):
        s += weights[i] * x[i]
    return s / total


@summing_kernel
def central_moments(weights: Floats, n: Floats, mean: float, total: float) -> tuple[float, float]:
    """The second and third central moment of n."""
    m2, m3 = 0.0, 0.0
    for i in range(len(n)):
        d = n[i] - mean
        m2 += weights[i] * d * d
        m3 += weights[i] * d * d * d
    return m2 / total, m3 / total


@summing_kernel
def joint_moments(
    weights: Floats, n: Floats, mean: float, m: Floats, m_mean: float, total: float
) -> tuple[float, float, float]:
    """The central moments (m, n), (m, n, n) and (m, n, n, n)."""
    c1, c2, c3 = 0.0, 0.0, 0.0
    for i in range(len(n)):
        d = n[i] - mean
        e = weights[i] * (m[i] - m_mean) * d
        c1 += e
        c2 += e * d
        c3 += e * d * d
    return c1 / total, c2 / total, c3 / total
