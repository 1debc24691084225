"""exp, log and functions related to the gamma function, written so that loops over them vectorise."""

import math

import numpy as np

from dcpf.kernels.compile import step

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # the leading bits of log 2: a multiple of it by a small integer is exact
_LN2_LOW = 1.90821492927058770002e-10
_ROUNDER = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the nearest integer in the low bits
_HALF_LOG_2PI = 0.9189385332046727


@step
def fast_exp(x: float) -> float:
    """Equivalent to math.exp(x) to 2 ulp for -708 <= x <= 709; smaller x count as -708."""
    x = max(x, -708.0)
    shifted = x * _LOG2_E + _ROUNDER
    k = shifted - _ROUNDER
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    s = 1.0 / 479001600.0
    s = s * r + 1.0 / 39916800.0
    s = s * r + 1.0 / 3628800.0
    s = s * r + 1.0 / 362880.0
    s = s * r + 1.0 / 40320.0
    s = s * r + 1.0 / 5040.0
    s = s * r + 1.0 / 720.0
    s = s * r + 1.0 / 120.0
    s = s * r + 1.0 / 24.0
    s = s * r + 1.0 / 6.0
    s = s * r + 0.5
    s = s * r + 1.0
    s = s * r + 1.0
    return s * np.int64((np.float64(shifted).view(np.int64) << 52) + 0x3FF0000000000000).view(np.float64)


@step
def fast_log(x: float) -> float:
    """Equivalent to math.log(x) to 2 ulp for normal positive x."""
    bits = np.float64(x).view(np.int64)
    # The exponent is taken so that the mantissa lies in [sqrt(1/2), sqrt(2)), and becomes a float64 by way of the
    # low bits of 2**52, since there is no vector instruction for that.
    biased = (bits - 0x3FE6A09E667F3BCD + 0x3FF0000000000000) & 0x7FF0000000000000
    m = np.int64(bits - biased + 0x3FF0000000000000).view(np.float64)
    exponent = np.int64((biased >> 52) | 0x4330000000000000).view(np.float64) - 4503599627371519.0  # 2**52 + 1023
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    r = 1.0 / 21.0
    r = r * z + 1.0 / 19.0
    r = r * z + 1.0 / 17.0
    r = r * z + 1.0 / 15.0
    r = r * z + 1.0 / 13.0
    r = r * z + 1.0 / 11.0
    r = r * z + 1.0 / 9.0
    r = r * z + 1.0 / 7.0
    r = r * z + 1.0 / 5.0
    r = r * z + 1.0 / 3.0
    return exponent * _LN2_HIGH + (f - (0.5 * f * f - s * (0.5 * f * f + 2.0 * z * r)) + exponent * _LN2_LOW)


# In float32 a vector holds twice as many numbers, and shorter series suffice. A float64 constant would turn all of it
# into float64.
_LOG2_E_SINGLE = np.float32(1.442695)
_LN2_HIGH_SINGLE, _LN2_LOW_SINGLE = np.float32(0.693359375), np.float32(-2.12194440e-4)
_ROUNDER_SINGLE = np.float32(12582912.0)  # 1.5 * 2**23
_LOWEST_SINGLE = np.float32(-87.0)
_EXPONENT_SINGLE = np.float32(8388735.0)  # 2**23 + 127
_HALF, _ONE, _TWO = np.float32(0.5), np.float32(1.0), np.float32(2.0)
_SIXTH, _24TH, _120TH, _720TH, _5040TH = (np.float32(1.0 / n) for n in (6, 24, 120, 720, 5040))
_THIRD, _FIFTH, _SEVENTH, _NINTH = (np.float32(1.0 / n) for n in (3, 5, 7, 9))


@step
def fast_exp_single(x: np.float32) -> np.float32:
    """Equivalent to np.exp(x) to 2 ulp of a float32 for -87 <= x <= 88; smaller x count as -87."""
    x = max(x, _LOWEST_SINGLE)
    shifted = x * _LOG2_E_SINGLE + _ROUNDER_SINGLE
    k = shifted - _ROUNDER_SINGLE
    r = (x - k * _LN2_HIGH_SINGLE) - k * _LN2_LOW_SINGLE
    s = _5040TH
    s = s * r + _720TH
    s = s * r + _120TH
    s = s * r + _24TH
    s = s * r + _SIXTH
    s = s * r + _HALF
    s = s * r + _ONE
    s = s * r + _ONE
    return s * np.int32((np.float32(shifted).view(np.int32) << 23) + 0x3F800000).view(np.float32)


@step
def fast_log_single(x: np.float32) -> np.float32:
    """Equivalent to np.log(x) to 2 ulp of a float32 for normal positive x."""
    bits = np.float32(x).view(np.int32)
    biased = (bits - 0x3F3504F3 + 0x3F800000) & 0x7F800000
    f = np.int32(bits - biased + 0x3F800000).view(np.float32) - _ONE
    exponent = np.int32((biased >> 23) | 0x4B000000).view(np.float32) - _EXPONENT_SINGLE
    s = f / (_TWO + f)
    z = s * s
    r = _NINTH
    r = r * z + _SEVENTH
    r = r * z + _FIFTH
    r = r * z + _THIRD
    half = _HALF * f * f
    return exponent * _LN2_HIGH_SINGLE + (f - (half - s * (half + _TWO * z * r)) + exponent * _LN2_LOW_SINGLE)


@step
def digamma_and_log_gamma_tails(inverse: float) -> tuple[float, float]:
    """The asymptotic series without their leading terms, for z = 1 / inverse >= 8.

    (Psi(z) - log z, log Gamma(z) - (z - 1/2) log z + z - log(2 pi) / 2)
    """
    w = inverse * inverse
    d = 691.0 / 32760.0 - w / 12.0
    d = 1.0 / 132.0 - w * d
    d = 1.0 / 240.0 - w * d
    d = 1.0 / 252.0 - w * d
    d = 1.0 / 120.0 - w * d
    d = 1.0 / 12.0 - w * d
    g = 691.0 / 360360.0 - w / 156.0
    g = 1.0 / 1188.0 - w * g
    g = 1.0 / 1680.0 - w * g
    g = 1.0 / 1260.0 - w * g
    g = 1.0 / 360.0 - w * g
    g = 1.0 / 12.0 - w * g
    return -0.5 * inverse - w * d, g * inverse


@step
def log_gamma_and_digamma(x: float) -> tuple[float, float]:
    """(log Gamma(x), Psi(x)) for x > 0, with one logarithm for both; NaN for any other x."""
    if not x > 0.0:  # without this, a negative x would loop for long
        return math.nan, math.nan
    product = 1.0
    slope = 0.0
    while x < 8.0:
        slope += 1.0 / x
        product *= x
        x += 1.0
    logarithm = math.log(x)
    digamma_tail, log_gamma_tail = digamma_and_log_gamma_tails(1.0 / x)
    log_gamma = (x - 0.5) * logarithm - x + _HALF_LOG_2PI + log_gamma_tail
    if product != 1.0:
        log_gamma -= math.log(product)
    return log_gamma, logarithm + digamma_tail - slope


@step
def log_rising(x: float, m: float) -> float:
    """log(Gamma(x + m) / Gamma(x)) for x > 0 and x + m > 0, without the cancellation of two large log-gammas.

    Equivalent to gammaln(x + m) - gammaln(x) in exact arithmetic.
    """
    shift = 0.0
    while x < 8.0 or x + m < 8.0:  # a few steps for small x, none where cancellation threatens
        shift -= math.log((x + m) / x)
        x += 1.0
    z = x + m
    tails = digamma_and_log_gamma_tails(1.0 / z)[1] - digamma_and_log_gamma_tails(1.0 / x)[1]
    return shift + (x - 0.5) * math.log1p(m / x) + m * (math.log(z) - 1.0) + tails


@step
def trigamma(x: float) -> float:
    """Psi'(x) for x > 0."""
    total = 0.0
    while x < 8.0:
        total += 1.0 / (x * x)
        x += 1.0
    inverse = 1.0 / x
    w = inverse * inverse
    s = 5.0 / 66.0 - w * 691.0 / 2730.0
    s = 1.0 / 30.0 - w * s
    s = 1.0 / 42.0 - w * s
    s = 1.0 / 30.0 - w * s
    s = 1.0 / 6.0 - w * s
    return total + inverse + 0.5 * w + w * inverse * s
