"""Users who come, change and go between two fits. The items stay as they are."""

import polars as pl

import dcpf

model = dcpf.load("plays.safetensors")

songs = ["Emerald Breeze", "Paper Veranda", "Sleepless Fiddle"]
fresh = pl.DataFrame({"user": ["anna", "anna", "bert"], "item": songs, "count": [9, 1, 2]})
model = model.partial_fit_users(fresh)  # the whole history of each of them, new or known
assert "anna" in model.users

model = model.forget_users(["bert"])  # the id, the counts and the factors
assert "bert" not in model.users

model.save("plays.safetensors")
