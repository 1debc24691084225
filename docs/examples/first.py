"""From a file to recommendations, and how good they are."""

import dcpf

counts = dcpf.read_counts("plays.csv")
model = dcpf.DCPF(n_components=20, random_state=0).fit(counts)

items, scores = model.recommend("Rosa Marshpocket", n=5)
print(model.recommend("Rosa Marshpocket", n=5).to_frame())
print(model.explain("Rosa Marshpocket", items[0]).to_frame().head(4))

train, test = counts.split(test_fraction=0.2, seed=0)
print(dcpf.evaluate(dcpf.DCPF(n_components=20, random_state=0).fit(train), test, k=20))
