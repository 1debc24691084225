"""Simulated listeners, so that there is a file to begin with: plays.csv."""

import numpy as np

from dcpf import Counts
from dcpf.simulation import listening_data

truth = listening_data(np.random.default_rng(0), n_users=400, n_songs=250)
counts = Counts.from_matrix(truth.counts, truth.users, truth.songs)
counts.to_frame().write_csv("plays.csv")
print(counts)
