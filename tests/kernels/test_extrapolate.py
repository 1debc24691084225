import numpy as np
import pytest

from dcpf.kernels.extrapolate import extrapolate, extrapolate_single
from dcpf.kernels.threads import Threads


@pytest.mark.parametrize(("kernel", "dtype"), [(extrapolate_single, np.float32), (extrapolate, np.float64)])
def test_it_is_the_power_in_its_docstring(kernel, dtype):
    rng = np.random.default_rng(0)
    new, old = rng.gamma(0.3, 10.0, 1001).astype(dtype) + 1e-3, rng.gamma(0.3, 10.0, 1001).astype(dtype) + 1e-3
    out = np.empty_like(new)
    with Threads(2) as threads:
        threads.run(kernel, 1001, new, old, out, 0.9, 1e-2)
    expected = new.astype(np.float64) * (new.astype(np.float64) / old) ** 0.9
    assert (expected < 1e-2).any()
    np.testing.assert_allclose(out, np.maximum(expected, 1e-2), rtol=16 * np.finfo(dtype).eps)
