"""Values and rates at pairs, against dense matrices."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dcpf.kernels.lookup import stored_values


@settings(deadline=None)  # the first call compiles
@given(st.integers(0, 2**32 - 1))
def test_stored_values_are_those_of_the_dense_matrix(seed):
    rng = np.random.default_rng(seed)
    dense = rng.poisson(0.6, size=(5, 9))
    matrix = sparse.csr_array(dense)
    lists = [rng.permutation(9)[: rng.integers(10)] for _ in range(5)]
    indptr = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
    columns = np.concatenate(lists).astype(np.int64)
    out = np.full((5, 9), 77)
    stored_values(0, 5, (matrix.indptr, matrix.indices, matrix.data), (indptr, columns), out)
    for row, listed in enumerate(lists):
        assert out[row, : len(listed)].tolist() == dense[row, listed].tolist()
        assert (out[row, len(listed) :] == -1).all()


def test_a_place_that_is_no_column_has_no_value():
    matrix = sparse.csr_array(np.array([[5, 0, 7]]))
    out = np.full((1, 2), 77)
    lists = (np.array([0, 2]), np.array([-1, 2]))
    stored_values(0, 1, (matrix.indptr, matrix.indices, matrix.data), lists, out)
    assert out.tolist() == [[-1, 7]]
