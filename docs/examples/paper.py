"""The paper's models on one split: what each has learned, how it ranks, and how it predicts counts."""

import dcpf
from dcpf import DCPF

train, test = dcpf.read_counts("plays.csv").split(test_fraction=0.2, seed=0)

for element in ("logarithmic", "zero-truncated-poisson", "geometric", "shifted-nb", "raw", "binary"):
    model = DCPF.paper(n_components=10, element=element, random_state=0).fit(train)
    found = dcpf.evaluate(model, test, k=100)
    ndcg = " ".join(f"{found.mean('ndcg', s):.3f}" for s in (0, 1, 2, 5))
    nats = dcpf.log_likelihood(model, test).counts_per_entry
    print(f"{element:24} {ndcg}  {nats:7.2f}  {model.element_.parameters}")
