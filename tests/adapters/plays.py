"""Simulated plays as a table that other frameworks take."""

import numpy as np
import pandas as pd

from dcpf.simulation import listening_data


def some_plays(users: int = 150, songs: int = 120, seed: int = 0) -> pd.DataFrame:
    """A row for each user and item with its count, and a time in no order."""
    truth = listening_data(np.random.default_rng(seed), n_users=users, n_songs=songs)
    plays = truth.counts.tocoo()
    _, song = np.unique(plays.col, return_inverse=True)  # some may have no listener
    hours = np.random.default_rng(seed).permutation(len(plays.data))
    return pd.DataFrame(
        {
            "user_id": 1_000 + plays.row,
            "item_id": 50 + 3 * song,
            "count": plays.data,
            "timestamp": pd.Timestamp("2020-01-01") + pd.to_timedelta(hours, unit="h"),
        }
    )
