"""Drawn matrices follow the model, and simulated listening is what it says it is."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from dcpf import DCPF, elements
from dcpf.elements import Element, Geometric
from dcpf.simulation import SESSION, Listening, draw_counts, listening_data

PROPER = [element for element in map(elements.get, elements.names()) if element.limit is None]
Floats = NDArray[np.float64]


def some_factors(users: int = 30, items: int = 20, components: int = 3) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(7)
    return rng.gamma(0.5, size=(users, components)), rng.gamma(0.5, size=(items, components))


@pytest.fixture(scope="module")
def listening() -> Listening:
    return listening_data(np.random.default_rng(0))


@pytest.mark.parametrize("element", PROPER, ids=lambda element: element.name)
def test_total_plays_are_expected_sessions_times_expected_plays_of_a_session(element: Element) -> None:
    W, H = some_factors()
    rng = np.random.default_rng(1)
    totals = [draw_counts(W, H, element, rng)[0].sum() for _ in range(300)]
    sessions = (W @ H.T).sum()
    # Variance of a compound Poisson sum: rate E[x^2].
    standard_error = np.sqrt(sessions * (element.variance + element.mean**2) / 300)
    assert abs(np.mean(totals) - sessions * element.mean) < 4.0 * standard_error


@pytest.mark.parametrize("element", PROPER, ids=lambda element: element.name)
def test_every_count_has_at_least_one_session_and_at_most_as_many_as_plays(element: Element) -> None:
    counts, sessions = draw_counts(*some_factors(), element, np.random.default_rng(2))
    assert counts.nnz > 100
    assert (sessions.data >= 1).all()
    assert (sessions.data <= counts.data).all()


def test_counts_and_sessions_store_the_same_entries_in_canonical_form() -> None:
    counts, sessions = draw_counts(*some_factors(), SESSION, np.random.default_rng(3))
    np.testing.assert_array_equal(counts.indices, sessions.indices)
    np.testing.assert_array_equal(counts.indptr, sessions.indptr)
    assert counts.shape == sessions.shape == (30, 20)
    assert counts.dtype == sessions.dtype == np.int64
    assert counts.has_canonical_format
    assert not np.shares_memory(counts.indices, sessions.indices)


def test_sessions_of_each_cell_are_independent_poisson_with_rate_w_h() -> None:
    W = np.array([[1.0, 0.0], [0.3, 2.0]])
    H = np.array([[0.5, 0.0], [0.2, 1.0], [0.0, 0.4]])
    rates = (W @ H.T).ravel()  # one of them is 0
    rng, n = np.random.default_rng(4), 4_000
    draws = np.array([draw_counts(W, H, Geometric(0.5), rng)[1].toarray().ravel() for _ in range(n)])
    assert (np.abs(draws.mean(axis=0) - rates) <= 4.5 * np.sqrt(rates / n)).all()
    assert (np.abs(draws.var(axis=0) - rates) <= 4.5 * np.sqrt((rates + 2.0 * rates**2) / n)).all()
    for a, b in itertools.combinations(range(len(rates)), 2):
        covariance = np.mean((draws[:, a] - rates[a]) * (draws[:, b] - rates[b]))
        assert abs(covariance) <= 4.5 * np.sqrt(rates[a] * rates[b] / n)


def test_the_same_seed_draws_the_same_and_another_seed_another_matrix() -> None:
    W, H = some_factors()
    first, again, other = (draw_counts(W, H, SESSION, np.random.default_rng(seed))[0].toarray() for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_factors_of_zeros_draw_an_empty_matrix() -> None:
    counts, sessions = draw_counts(np.zeros((3, 2)), np.ones((4, 2)), SESSION, np.random.default_rng(0))
    assert counts.shape == sessions.shape == (3, 4)
    assert counts.nnz == sessions.nnz == 0


def test_factors_of_a_fitted_model_can_be_drawn_from() -> None:
    counts, _ = draw_counts(*some_factors(), SESSION, np.random.default_rng(8))
    model = DCPF(2, max_iter=5, tol=0, random_state=0).fit(counts)
    drawn, _ = draw_counts(model.user_factors, model.item_factors, model.element_, np.random.default_rng(9))
    assert drawn.shape == counts.shape


@pytest.mark.parametrize(
    ("W", "H", "message"),
    [
        ([[1.0]], [[1.0, 2.0]], "as many columns, found 1 and 2"),
        ([1.0, 2.0], [[1.0]], r"W must be a matrix with a column per component, found shape \(2,\)"),
        ([[1.0]], [[-0.5]], "H must be finite and not negative, found -0.5"),
        ([[np.nan]], [[1.0]], "W must be finite"),
    ],
)
def test_factors_that_are_no_rates_are_refused_by_name(W: object, H: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw_counts(W, H, SESSION, np.random.default_rng(0))  # type: ignore[arg-type]


def test_listening_has_the_size_it_promises(listening: Listening) -> None:
    assert listening.counts.shape == (1_500, 800) == (len(listening.users), len(listening.songs))
    assert listening.W.shape == (1_500, len(listening.genres))
    assert listening.H.shape == (800, len(listening.genres))
    assert 40_000 < listening.counts.nnz < 60_000


def test_every_name_is_given_once(listening: Listening) -> None:
    many = listening_data(np.random.default_rng(0), n_users=4_000, n_songs=6_000, sessions_per_user=1.0)
    for names in (listening.users, listening.songs, many.users, many.songs):
        assert len(set(names)) == len(names)


def test_w_is_expected_sessions_by_genre_because_the_songs_of_a_genre_share_one_session(listening: Listening) -> None:
    np.testing.assert_allclose(listening.H.sum(axis=0), 1.0)
    expected = listening.W.sum()
    assert abs(listening.sessions.sum() - expected) < 5.0 * np.sqrt(expected)


def test_a_song_belongs_mostly_to_one_genre(listening: Listening) -> None:
    shares = listening.H.max(axis=1) / listening.H.sum(axis=1)
    assert np.median(shares) > 0.85
    assert set(listening.genre_of_songs) == set(listening.genres)


def test_a_listener_has_one_to_three_favourite_genres(listening: Listening) -> None:
    np.testing.assert_allclose(listening.tastes.sum(axis=1), 1.0)
    background = 0.05 / len(listening.genres)
    favourites = (listening.tastes > background * (1.0 + 1e-6)).sum(axis=1)
    assert set(favourites) == {1, 2, 3}


def test_a_tenth_of_the_songs_and_of_the_listeners_make_a_quarter_of_the_sessions(listening: Listening) -> None:
    for axis in (0, 1):
        sessions = np.sort(listening.sessions.sum(axis=axis))[::-1]
        assert sessions[: len(sessions) // 10].sum() > sessions.sum() / 4


def test_listening_is_reproducible_by_its_seed() -> None:
    first, again = (listening_data(np.random.default_rng(3), n_users=40, n_songs=60) for _ in range(2))
    np.testing.assert_array_equal(first.counts.toarray(), again.counts.toarray())
    assert (first.songs, first.users) == (again.songs, again.users)


@pytest.mark.parametrize(("size", "message"), [({"n_users": 0}, "n_users must be at least 1"), ({"n_songs": 7}, "8")])
def test_listening_of_nobody_or_nothing_is_refused(size: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        listening_data(np.random.default_rng(0), **size)  # type: ignore[arg-type]


def test_a_fit_finds_the_element_that_was_simulated(listening: Listening) -> None:
    learned = DCPF(12, random_state=0).fit(listening.counts).element_
    assert learned.parameters == pytest.approx(SESSION.parameters, rel=0.05)
    assert learned.mean == pytest.approx(SESSION.mean, rel=0.03)
