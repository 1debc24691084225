"""Data that come batch by batch of users: learn from each, and keep what was learned from the others."""

import numpy as np

import dcpf

counts = dcpf.read_counts("plays.csv")
users = counts.shape[0]

model = dcpf.DCPF(n_components=12, random_state=0)
for part in np.array_split(np.random.default_rng(0).permutation(users), 20):
    model.partial_fit(counts.select(users=part), total_users=users)
model.refit_parts()  # batches update the factors; excitation is learned once, from all counts

print(model.recommend("Rosa Marshpocket", n=5).to_frame())
