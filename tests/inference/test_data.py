"""The stored counts in two orders."""

import numpy as np
import pytest
from scipy import sparse

import dcpf
from dcpf.inference import data

COUNTS = sparse.csr_array(np.random.default_rng(0).poisson(0.7, (12, 9)))


def test_indices_of_64_bits_give_the_same_fit(monkeypatch: pytest.MonkeyPatch) -> None:  # row 21
    def fitted() -> dcpf.DCPF:
        return dcpf.DCPF(2, max_iter=3, tol=0.0, random_state=0).fit(COUNTS)

    short = fitted()
    monkeypatch.setattr(data, "_LARGEST_32_BITS", 10)
    assert data.Data.from_matrix(COUNTS).by_user.place.dtype == np.int64
    np.testing.assert_array_equal(fitted().user_factors, short.user_factors)


def test_places_lead_from_the_order_by_users_to_the_order_by_items() -> None:
    made = data.Data.from_matrix(COUNTS)
    by_item = np.empty(COUNTS.nnz, dtype=np.int64)
    by_item[made.by_user.place] = made.counts[made.by_user.codes]
    np.testing.assert_array_equal(by_item, sparse.csc_array(COUNTS).data)
