"""Cumulants from unnormalised terms equal numpy's."""

import math

import numpy as np
import pytest
from scipy import special
from tests.kernels.compiled import compiled

from dcpf.kernels import sums
from dcpf.kernels.sums import NEGLIGIBLE

cumulants_of_terms = compiled(sums.cumulants_of_terms)

TERMS = np.array([-50.0, -3.0, 0.5, 2.0, 1.0, -40.0])
N = np.arange(6.0)
M = np.array([0.3, 0.1, 0.7, 2.0, -1.0, 5.0])


@pytest.mark.parametrize("shift", [0.0, -800.0, 800.0])
def test_cumulants_are_numpys(shift):
    w = np.exp(TERMS) / np.exp(TERMS).sum()
    mean, m_mean = w @ N, w @ M
    wanted = [special.logsumexp(TERMS) + shift, mean, *(w @ (N - mean) ** k for k in (2, 3))]
    wanted += [m_mean, *(w @ ((M - m_mean) * (N - mean) ** k) for k in (1, 2, 3))]
    assert cumulants_of_terms(TERMS + shift, N, M, np.empty(6)) == pytest.approx(wanted, rel=1e-13)


def test_a_negligible_term_adds_nothing_to_a_float():
    assert 1.0 + math.exp(-NEGLIGIBLE) == 1.0
