"""Counts drawn from the model, at a cost of the non-zeros only. May import elements and counts."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dcpf.elements import Element, ShiftedNegativeBinomial

Floats = NDArray[np.float64]

SESSION = ShiftedNegativeBinomial(p=0.8, a=0.3)
"""The true element of simulated listening: 2.2 plays per session on average, usually one, sometimes ten."""


def draw_counts(
    W: ArrayLike, H: ArrayLike, element: Element, rng: np.random.Generator
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Draw (counts, sessions), both users x items: n ~ Poisson(W H^T), and y the sum of n draws of the element.

    Equivalent to n = rng.poisson(W @ H.T), y = element.sample(n, rng), at a cost of the number of sessions instead
    of users x items. Both matrices store the same entries, those with a session.
    """
    users, items = _factors("W", W), _factors("H", H)
    if users.shape[1] != items.shape[1]:
        raise ValueError(f"W and H must have as many columns, found {users.shape[1]} and {items.shape[1]}")
    # Component k has Poisson((sum_u w_uk) (sum_i h_ik)) sessions, each with a user ~ w_uk and an item ~ h_ik.
    expected = users.sum(axis=0) * items.sum(axis=0)
    rows, columns = [], []
    for w, h, size in zip(users.T, items.T, rng.poisson(expected), strict=True):
        if size > 0:
            rows.append(rng.choice(len(w), size=size, p=w / w.sum()))
            columns.append(rng.choice(len(h), size=size, p=h / h.sum()))
    row, column = (np.concatenate(where or [np.empty(0, dtype=np.int64)]) for where in (rows, columns))
    return _compound(row, column, (len(users), len(items)), element, rng)


def draw_excited(
    x: sparse.csr_array, strength: sparse.csr_array, element: Element, rng: np.random.Generator
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Draw (counts, sessions) from excitation: n ~ Poisson(x S), with the users' histories x and the strengths S."""
    ends = np.concatenate([[0.0], np.cumsum(strength.data, dtype=np.float64)])
    low, high = ends[strength.indptr[:-1]], ends[strength.indptr[1:]]
    sizes = rng.poisson(x.data * (high - low)[x.indices])
    users, sources = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr)).repeat(sizes), x.indices.repeat(sizes)
    drawn = rng.uniform(low[sources], high[sources])
    entries = np.searchsorted(ends, drawn, side="right") - 1
    first, last = strength.indptr[sources], strength.indptr[sources + 1] - 1
    entries = np.clip(entries, first, last)  # rounding may lead to a neighbouring row
    return _compound(users, strength.indices[entries], (x.shape[0], strength.shape[1]), element, rng)


def _compound(
    rows: NDArray[np.integer],
    columns: NDArray[np.integer],
    shape: tuple[int, int],
    element: Element,
    rng: np.random.Generator,
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """(counts, sessions) for sessions in these cells."""
    ones = np.ones(len(rows), dtype=np.int64)
    sessions = sparse.coo_array((ones, (rows, columns)), shape=shape).tocsr()
    counts = sessions.copy()
    counts.data = element.sample(sessions.data, rng)
    return counts, sessions


@dataclass(frozen=True, slots=True)
class Listening:
    """Simulated listening and its true parameters, users x songs."""

    counts: sparse.csr_array  # plays: all that a recommender sees
    sessions: sparse.csr_array  # the sessions of these plays
    W: Floats  # expected sessions of each user in each genre
    H: Floats  # distribution of each genre over the songs; columns sum to 1
    element: Element  # distribution of the plays in one session
    genres: tuple[str, ...]
    songs: tuple[str, ...]
    users: tuple[str, ...]

    @property
    def tastes(self) -> Floats:
        """Users x genres: the share of each genre in a user's expected sessions."""
        return np.asarray(self.W / self.W.sum(axis=1, keepdims=True))

    @property
    def genre_of_songs(self) -> list[str]:
        """The main genre of each song."""
        return [self.genres[k] for k in self.H.argmax(axis=1)]


def listening_data(
    rng: np.random.Generator,
    *,
    n_users: int = 1_500,
    n_songs: int = 800,
    element: Element = SESSION,
    sessions_per_user: float | None = None,
) -> Listening:
    """Simulate listeners and songs of a handful of genres, the components of the model.

    A song belongs mostly to one genre, and some songs are far more popular than others. A listener has one to three
    favourite genres and hears a little of everything; some listen far more than others. By default a listener's
    expected sessions grow as the square root of the number of songs: 51 for 800 songs.
    """
    for name, value, least in (("n_users", n_users, 1), ("n_songs", n_songs, len(_NOUNS))):
        if value < least:
            raise ValueError(f"{name} must be at least {least}, found {value}")
    if sessions_per_user is None:
        sessions_per_user = 1.8 * math.sqrt(n_songs)
    genre, H = _songs(n_songs, rng)
    W = _listeners(n_users, sessions_per_user, rng)
    counts, sessions = draw_counts(W, H, element, rng)
    genres = tuple(_NOUNS)
    return Listening(counts, sessions, W, H, element, genres, _song_names(genre, rng), _user_names(n_users, rng))


def _factors(name: str, array: ArrayLike) -> Floats:
    factors = np.asarray(array, dtype=np.float64)
    if factors.ndim != 2:
        raise ValueError(f"{name} must be a matrix with a column per component, found shape {factors.shape}")
    if not (np.isfinite(factors).all() and (factors >= 0.0).all()):
        raise ValueError(f"{name} must be finite and not negative, found {factors.min()} to {factors.max()}")
    return factors


def _songs(n_songs: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], Floats]:
    """The main genre of each song, and H. Every genre has a song."""
    K = len(_NOUNS)
    genre = rng.permutation(np.concatenate([np.arange(K), rng.integers(K, size=n_songs - K)]))
    second = (genre + rng.integers(1, K, size=n_songs)) % K
    share = rng.beta(8.0, 1.2, size=n_songs)
    popularity = rng.lognormal(sigma=1.1, size=n_songs)
    H = np.zeros((n_songs, K))
    H[np.arange(n_songs), genre] = popularity * share
    H[np.arange(n_songs), second] = popularity * (1.0 - share)
    return genre, H / H.sum(axis=0)


def _listeners(n_users: int, sessions_per_user: float, rng: np.random.Generator) -> Floats:
    """W: one to three favourites for 95% of the sessions, all genres for the rest; activity is log-normal."""
    K = len(_NOUNS)
    order = rng.random((n_users, K)).argsort(axis=1)
    favourite = order < rng.integers(1, 4, size=n_users)[:, None]
    liking = np.where(favourite, rng.gamma(3.0, size=(n_users, K)), 0.0)
    tastes = 0.95 * liking / liking.sum(axis=1, keepdims=True) + 0.05 / K
    activity = rng.lognormal(mean=-0.5 * 0.8**2, sigma=0.8, size=n_users)  # 1 on average
    return np.asarray(sessions_per_user * activity[:, None] * tastes)


def _song_names(genre: NDArray[np.int64], rng: np.random.Generator) -> tuple[str, ...]:
    names = np.empty(len(genre), dtype=object)
    for k, nouns in enumerate(_NOUNS.values()):
        here = np.flatnonzero(genre == k)
        names[here] = _combine(
            [f"{adjective} {noun}" for adjective in _ADJECTIVES.split() for noun in nouns.split()], len(here), rng
        )
    return tuple(names)


def _user_names(n: int, rng: np.random.Generator) -> tuple[str, ...]:
    surnames = [f"{first}{second}" for first in _SURNAME_STARTS.split() for second in _SURNAME_ENDS.split()]
    return tuple(_combine([f"{name} {surname}" for name in _FIRST_NAMES.split() for surname in surnames], n, rng))


def _combine(names: list[str], n: int, rng: np.random.Generator) -> list[str]:
    """n different names: these in random order, then "... 2", "... 3" if they are too few."""
    order = rng.permutation(len(names))
    rounds = (divmod(j, len(names)) for j in range(n))
    return [names[order[at]] + (f" {again + 1}" if again else "") for again, at in rounds]


# All made up. No noun is in two genres, so no song name is.
_NOUNS = {
    "jazz": "Stairwell Trumpet Nightcap Streetlamp Ballroom Hi-Hat Fedora Taxicab Matinee Doorman",
    "techno": "Circuit Strobe Voltage Turbine Warehouse Conveyor Monorail Pylon Relay Capacitor",
    "folk": "Orchard Fiddle Ferryman Hayloft Millstone Hedgerow Shepherd Kettle Footpath Sparrow",
    "metal": "Anvil Catacomb Furnace Gauntlet Leviathan Gravestone Sledge Obelisk Warhorse Thunderhead",
    "ambient": "Tundra Horizon Glacier Vapour Estuary Nebula Snowfield Lagoon Drizzle Stillness",
    "soul": "Heartbeat Promise Kitchen Sunday Embrace Armchair Honey Letter Telephone Teardrop",
    "reggae": "Hammock Mango Sunrise Veranda Coconut Bicycle Jetty Breeze Harbour Parrot",
    "tango": "Bandoneon Rose Staircase Stiletto Corridor Farewell Chandelier Mirror Balcony Courtyard",
}
_ADJECTIVES = (
    "Amber Borrowed Brass Crooked Distant Drowsy Emerald Faded Foolish Forgotten Gilded Hollow Humming Idle "
    "Invisible Ivory Late Lopsided Marble Midnight Muddy Narrow Paper Patient Quiet Restless Rusty Sleepless "
    "Stubborn Tangled Thirteenth Uncertain Wandering Whispering"
)
_FIRST_NAMES = (
    "Adela Bram Cosima Dario Edda Fabian Greta Hugo Ines Jonas Kaja Leon Mira Nils Odile Pavel Quirin Rosa Selma "
    "Tomas Ulla Viktor Wanda Xenia Yara Zeno Alba Boris Clea Dunja Emil Frida Goran Hedda Ivo Juna Kilian Livia "
    "Marlo Nora"
)
_SURNAME_STARTS = "Copper Fern Marsh Moon Oak Salt Stone Wind"
_SURNAME_ENDS = "button feather kettle lantern pocket whistle"
