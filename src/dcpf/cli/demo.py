"""dcpf demo: simulate listeners, learn from their plays alone, and compare with the truth."""

import math
import time
from typing import TYPE_CHECKING, Annotated

import typer

from dcpf.cli.options import Threads, check_least
from dcpf.cli.output import console, print_heading, table
from dcpf.text import plural

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console
    from scipy.sparse import csr_array

    from dcpf.elements import Element
    from dcpf.model import DCPF
    from dcpf.simulation import Listening

_SHOWN = 10  # recommendations
_PLAYED = 6  # songs of the listener's history
_JUDGED = 4_000_000  # listeners x songs that are ranked for the average
_WIDTH = 80
_WHAT = (
    "dcpf learns from counts: who played what, and how often. This demo simulates listeners, so you can compare what "
    "dcpf learns with the truth.\n"
)
_NEXT = """Next, with a file of your own (user, item, count: CSV, Parquet and others):

    dcpf fit plays.csv -o plays.safetensors
    dcpf recommend plays.safetensors --user alice

or from Python:

    import dcpf
    model = dcpf.DCPF(n_components=50).fit(dcpf.read_counts("plays.csv"))
    model.recommend("alice").to_frame()
"""
_RAW = "To compare with Poisson factorization of the raw counts: dcpf demo --element raw"


def demo(
    users: Annotated[int, typer.Option(help="Number of listeners to simulate, at least 20.")] = 1_500,
    songs: Annotated[int, typer.Option(help="Number of songs to simulate, at least 50.")] = 800,
    components: Annotated[int, typer.Option(help="Number of components to learn. The truth has 8 genres.")] = 12,
    element: Annotated[
        str,
        typer.Option(
            help="Distribution of the plays in a session that the fit assumes: shifted-nb (as simulated), "
            "logarithmic, geometric, zero-truncated-poisson, raw or binary."
        ),
    ] = "shifted-nb",
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same demo.")] = 0,
    threads: Threads = None,
) -> None:
    """Fit simulated listeners and compare with the truth. Needs no data."""
    check_least(
        users=(users, 20), songs=(songs, 50), components=(components, 1), seed=(seed, 0), threads=(threads, 1)
    )
    from dcpf import elements

    law = elements.get(element)
    screen = console(width=_WIDTH)
    screen.print(_WHAT)

    import numpy as np

    from dcpf import DCPF
    from dcpf.simulation import listening_data

    truth = listening_data(np.random.default_rng(seed), n_users=users, n_songs=songs)
    _show_simulated(screen, truth)
    model = _fit(screen, truth, DCPF(components, law, n_neighbors=0, n_jobs=threads, random_state=seed, verbose=True))
    listener, judged = _listeners(truth)
    inferred = model.sessions(truth.counts)
    _show_element(screen, truth, model.element_, inferred)
    _show_history(screen, truth, inferred, listener)
    _show_recommendations(screen, truth, model, listener)
    _show_quality(screen, truth, model, listener, judged)
    screen.print(_NEXT)
    if type(law) is type(truth.element):
        screen.print(_RAW)


def _show_simulated(screen: "Console", truth: "Listening") -> None:
    (users, songs), plays, sessions = truth.counts.shape, truth.counts.sum(), truth.sessions.sum()
    screen.print(
        f"Simulated: {users:,} listeners and {songs:,} songs of {len(truth.genres)} genres, {plays:,} plays in "
        f"{sessions:,} sessions. The fit sees only {truth.counts.nnz:,} counts of plays, not the genres, tastes and "
        "sessions behind them.\n"
    )


def _fit(screen: "Console", truth: "Listening", model: "DCPF") -> "DCPF":
    began = time.perf_counter()
    model.fit(truth.counts)
    screen.print(
        f"Learned {plural(model.n_components, 'component')} in {plural(model.n_iter_, 'iteration')} "
        f"and {time.perf_counter() - began:.1f} seconds.\n"
    )
    return model


def _listeners(truth: "Listening") -> tuple[int, "NDArray[np.int64]"]:
    """The listener to show, and those to average over: all with enough left to recommend, or the first of them.

    Shown is the one at three quarters of the way from those with the fewest songs to those with the most.
    """
    import numpy as np

    n_played = np.diff(truth.counts.indptr)
    able = np.flatnonzero((n_played > 0) & (n_played <= truth.counts.shape[1] - _SHOWN))
    if len(able) == 0:
        raise ValueError("every listener knows every song: simulate more songs with --songs")
    by_history = able[np.argsort(n_played[able], kind="stable")]
    return int(by_history[3 * len(able) // 4]), able[: max(100, _JUDGED // truth.counts.shape[1])]


def _show_element(screen: "Console", truth: "Listening", learned: "Element", inferred: "csr_array") -> None:
    true = truth.element
    same = type(learned) is type(true)
    made = table("", "simulated", "learned")
    for name, value in true.parameters.items():
        made.add_row(f"{name} ({true.name})", _number(value), _number(learned.parameters[name]) if same else "-")
    for name, value in {} if same else learned.parameters.items():
        made.add_row(f"{name} ({learned.name})", "-", _number(value))
    made.add_row("mean plays in a session, E[x]", _number(true.mean), _number(learned.mean))
    made.add_row("mean sessions behind a count", _number(truth.sessions.data.mean()), _number(inferred.data.mean()))
    print_heading(screen, "1. What is a count worth?")
    screen.print(
        "Forty plays of a song may be one afternoon on repeat. The model explains a count by one or more sessions, "
        "and learns the distribution of the plays in a session from the counts."
    )
    screen.print(made)
    if not same:
        screen.print(
            f"The fit assumed another element ({learned.name}) than the simulation ({true.name}): you can compare "
            "their means, but not their parameters.\n"
        )


def _show_history(screen: "Console", truth: "Listening", inferred: "csr_array", listener: int) -> None:
    import numpy as np

    likes = truth.tastes[listener]
    liked = ", ".join(f"{truth.genres[k]} {likes[k]:.0%}" for k in np.argsort(-likes) if likes[k] > 0.02)
    row = slice(*truth.counts.indptr[listener : listener + 2])
    played, plays, sessions = (x[row] for x in (truth.counts.indices, truth.counts.data, truth.sessions.data))
    genres = truth.genre_of_songs
    made = table("played most", "genre", "plays", "sessions\n(truth)", "sessions\n(model)", texts=2)
    for j in np.argsort(-plays, kind="stable")[:_PLAYED]:
        song = played[j]
        made.add_row(truth.songs[song], genres[song], f"{plays[j]}", f"{sessions[j]}", f"{inferred.data[row][j]:.1f}")
    print_heading(screen, f"2. One listener: {truth.users[listener]}")
    screen.print(
        f"Simulated to like {liked} (and a little of everything), with {len(plays)} songs played. The table compares "
        "the simulated sessions with those that the model infers from the plays."
    )
    screen.print(made)


def _show_recommendations(screen: "Console", truth: "Listening", model: "DCPF", listener: int) -> None:
    import numpy as np

    expected, true = _expected_sessions(truth, model, np.array([listener]))
    true_rank = np.argsort(np.argsort(-true[0])) + 1
    genres = truth.genre_of_songs
    made = table("", "not yet played", "genre", "sessions\n(model)", "sessions\n(truth)", "rank\n(truth)", texts=3)
    for rank, song in enumerate(np.argsort(-expected[0])[:_SHOWN], start=1):
        numbers = (f"{expected[0, song]:.2f}", f"{true[0, song]:.2f}", f"{true_rank[song]}")
        made.add_row(f"{rank:2}", truth.songs[song], genres[song], *numbers)
    print_heading(screen, f"3. Recommended to {truth.users[listener]}")
    screen.print(
        "Ranked by the sessions that the model expects over a period as long as the data. The last columns show the "
        f"true expected sessions, and the true rank among the {np.isfinite(true).sum()} songs not yet played."
    )
    screen.print(made)


def _show_quality(
    screen: "Console", truth: "Listening", model: "DCPF", listener: int, judged: "NDArray[np.int64]"
) -> None:
    import numpy as np

    popularity = np.bincount(truth.counts.indices, minlength=truth.counts.shape[1])
    expected, true = _expected_sessions(truth, model, np.append(judged, listener))
    popular = np.where(np.isfinite(true), popularity, -np.inf)
    first_name = truth.users[listener].split()[0]
    made = table("", f"{first_name}\ntop 10", f"{first_name}\ntop 50", "mean\ntop 10", "mean\ntop 50")
    for name, scores in (("dcpf", expected), ("most popular songs", popular)):
        in_10, in_50 = (_found(scores, true, best) for best in (10, 50))
        means = f"{in_10[:-1].mean():.1f}", f"{in_50[:-1].mean():.1f}"
        made.add_row(name, f"{in_10[-1]}", f"{in_50[-1]}", *means)
    print_heading(screen, "4. How good is that?")
    screen.print(
        f"How many of the {_SHOWN} recommended songs are in the true top 10 and top 50 of the songs not yet played: "
        f"for {first_name}, and on average over {len(judged):,} listeners."
    )
    screen.print(made)
    screen.print(
        "These data were drawn from the kind of model that is fitted; real data never are. To judge dcpf on your "
        "data, hold out a part of them: dcpf evaluate.\n"
    )


def _expected_sessions(
    truth: "Listening", model: "DCPF", listeners: "NDArray[np.int64]"
) -> tuple["NDArray[np.floating]", "NDArray[np.floating]"]:
    """Expected sessions as learned and as simulated, -inf for songs that were played already."""
    import numpy as np

    played = truth.counts[listeners].toarray() > 0
    learned = model.user_factors[listeners] @ model.item_factors.T
    return np.where(played, -np.inf, learned), np.where(played, -np.inf, truth.W[listeners] @ truth.H.T)


def _found(scores: "NDArray[np.floating]", true: "NDArray[np.floating]", best: int) -> "NDArray[np.int64]":
    """Row by row, how many of the songs with the highest scores are among the truly `best`."""
    import numpy as np

    shown = np.argsort(-scores, axis=1, kind="stable")[:, :_SHOWN]
    least = np.sort(true, axis=1)[:, -best]
    return np.asarray((np.take_along_axis(true, shown, axis=1) >= least[:, None]).sum(axis=1))


def _number(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "-"
