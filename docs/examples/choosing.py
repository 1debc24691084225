"""Which element suits these counts? Held-out counts say."""

import dcpf
from dcpf import DCPF
from dcpf.elements import Logarithmic

train, test = dcpf.read_counts("plays.csv").split(test_fraction=0.2, seed=0)

for element in ("shifted-nb", "logarithmic", "geometric", "zero-truncated-poisson", "raw", "binary"):
    model = DCPF(n_components=10, element=element, random_state=0).fit(train)
    ndcg = dcpf.evaluate(model, test, k=20)
    nats = dcpf.log_likelihood(model, test)
    print(f"{element:24} {ndcg.mean('ndcg', 0):.3f} {ndcg.mean('ndcg', 5):.3f} {nats.counts_per_entry:8.3f}")

# p is learned for the likelihood of counts. For the ranking another may be better: hold it fixed and try.
for p in (0.3, 0.6, 0.9):
    fixed = DCPF(n_components=10, element=Logarithmic(p=p), learn_element=False, random_state=0).fit(train)
    print(f"p = {p}: {dcpf.evaluate(fixed, test, k=20).mean('ndcg', 5):.3f}")
