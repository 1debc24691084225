"""Two models on the same held-out counts, user by user, and a method of others beside them."""

import dcpf
from dcpf import DCPF
from dcpf.baselines import Ease

train, test = dcpf.read_counts("plays.csv").split(test_fraction=0.2, seed=0)

ours = dcpf.evaluate(DCPF(n_components=20, random_state=0).fit(train), test, k=20)
factors = dcpf.evaluate(DCPF(n_components=20, n_neighbors=0, random_state=0).fit(train), test, k=20)
theirs = dcpf.evaluate(Ease(regularization=200.0).fit(train), test, k=20)

print(ours.compare(factors))  # first minus second, with a 95% interval
print(ours.compare(theirs))
