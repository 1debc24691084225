"""Sources are the items that go with an item more often than by chance: held to a dense table of pairs."""

import numpy as np
import pytest
from scipy import sparse

from dcpf.kernels import cooccurrence
from dcpf.kernels.cooccurrence import choose_sources


def weights_of(dense):
    popular = (dense > 0).sum(axis=0) + 5.0
    return popular**-0.7, popular**-0.5


def chosen(dense, most, start=0, stop=None):
    by_user, by_item = sparse.csr_array(dense), sparse.csc_array(dense)
    items = dense.shape[1]
    out = (np.full((items, most), -7, np.int32), np.full((items, most), np.nan, np.float32))
    users_of = (by_item.indptr.astype(np.int64), by_item.indices.astype(np.int32), by_item.data.astype(np.float32))
    items_of = (by_user.indptr.astype(np.int64), by_user.indices.astype(np.int32))
    choose_sources(start, items if stop is None else stop, users_of, items_of, weights_of(dense), out)
    return out


def affinities(dense):
    """With the counts themselves as x; sources by rows."""
    has, x = (dense > 0).astype(np.float64), dense.astype(np.float64)
    excess = has.T @ x - np.outer(has.sum(axis=0), x.sum(axis=0)) / len(has)
    found = np.maximum(excess, 0.0) * np.outer(*weights_of(dense))
    np.fill_diagonal(found, 0.0)
    return found


@pytest.mark.parametrize("most", [1, 3, 11, 40])
def test_the_sources_are_those_of_largest_affinity(most):
    rng = np.random.default_rng(most)
    dense = rng.poisson(rng.gamma(0.5, 0.6, (60, 12)))
    dense[:, 5] = 0  # an item that nobody has
    sources, affinity = chosen(dense, most)
    expected = affinities(dense)
    for i in range(12):
        kept = sources[i] < 12
        assert (np.diff(sources[i][kept]) > 0).all()
        assert (sources[i][~kept] == 12).all()
        assert (affinity[i][~kept] == 0.0).all()
        np.testing.assert_allclose(affinity[i][kept], expected[sources[i][kept], i], rtol=1e-6)
        best = np.sort(expected[:, i])[::-1][:most]
        np.testing.assert_allclose(np.sort(affinity[i][kept])[::-1], best[best > 0.0], rtol=1e-6)


def test_equal_affinities_are_taken_by_number():
    dense = np.array([[1, 1, 1, 1, 1], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]])
    sources, _ = chosen(dense, 2)
    np.testing.assert_array_equal(sources, [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]])


@pytest.mark.parametrize("users", [50, 30_000, 100_000])
@pytest.mark.parametrize("few", [True, False])
def test_what_only_rounding_leaves_is_no_affinity(users, few):
    """All have everything: whatever x is, nothing goes together more than by chance."""
    has = sparse.csr_array(np.ones((users, 6)))
    rng = np.random.default_rng(1)
    x = np.log(2.0) / np.sqrt(1 + rng.binomial(5, 0.5, 6 * users)) if few else rng.gamma(2.0, 1.0, 6 * users)
    indptr = np.arange(0, 6 * users + 1, users, dtype=np.int64)
    by_item = (indptr, np.tile(np.arange(users, dtype=np.int32), 6), x.astype(np.float32))
    out = (np.empty((6, 3), np.int32), np.empty((6, 3), np.float32))
    choose_sources(0, 6, by_item, (has.indptr, has.indices), (np.ones(6), np.ones(6)), out)
    assert (out[0] == 6).all()
    assert (out[1] == 0.0).all()


def test_an_item_depends_on_no_other_that_is_chosen_for():
    dense = np.random.default_rng(3).poisson(0.7, (40, 9))
    whole, part = chosen(dense, 4), chosen(dense, 4, 3, 5)
    for all_items, some in zip(whole, part, strict=True):
        np.testing.assert_array_equal(all_items[3:5], some[3:5])


def test_a_user_with_very_many_items_stands_for_others():
    """Half of the users of an item who have that many are looked at, and count twice: for all sources alike."""
    items = cooccurrence.MOST + 1000
    rng = np.random.default_rng(0)
    dense = np.zeros((40, items), dtype=np.int64)
    dense[:20] = 1
    dense[20:, :30] = rng.poisson(1.0, (20, 30))
    sources, affinity = chosen(dense, 50, 0, 400)
    expected = affinities(dense[:, :400])
    assert (np.diff(sources[:400], axis=1) >= 0).all()
    of_most = affinity[40:400]
    np.testing.assert_allclose(of_most[of_most > 0], (20 - 20 * 20 / 40) / 25**1.2, rtol=1e-6)
    assert expected[50, 60] == pytest.approx((20 - 10) / 25**1.2)


def test_where_all_have_very_many_items_nothing_goes_together():
    sources, affinity = chosen(np.ones((20, cooccurrence.MOST + 100), dtype=np.int64), 5, 0, 300)
    assert (sources[:300] == cooccurrence.MOST + 100).all()
    assert (affinity[:300] == 0.0).all()
