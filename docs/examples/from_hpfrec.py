"""What users of hpfrec, LensKit and Spark do, with dcpf: tables go in and come out."""

import polars as pl

import dcpf

table = pl.read_csv("plays.csv").to_pandas()  # a pandas table of user, item and count
model = dcpf.DCPF(n_components=30, random_state=123).fit(table)

model.recommend("Rosa Marshpocket", n=10)  # one user
model.recommend(["Rosa Marshpocket", "Nora Fernwhistle"], n=10).to_frame()  # some
model.recommend(n=10).to_frame()  # everybody
model.recommend("Rosa Marshpocket", allow=["Emerald Breeze", "Paper Veranda"], exclude_seen=False)

print(model.predict_pairs("Rosa Marshpocket", "Emerald Breeze").counts)  # an expected count
model.predict_pairs(["Rosa Marshpocket", "Nora Fernwhistle"], ["Emerald Breeze", "Paper Veranda"]).to_frame()

fresh = table[table["user"] == "Nora Fernwhistle"].assign(user="zoe")
model.transform(fresh)  # E[w] of users that the fit has not seen
model.partial_fit_users(fresh)  # or add them to the model

print(model.user_factors.shape, model.item_factors.shape)
